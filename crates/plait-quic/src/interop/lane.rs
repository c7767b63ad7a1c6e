//! A path from one local address: noq's path, once there is one, and the time to open it again.

use super::gate::{News, Opening, Shared};
use noq_proto::PathId;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Bytes of a packet beside payload: a short header with a connection ID of 8 bytes and a number of
/// 2, a STREAM frame with an offset of 4 bytes, the tag.
pub const OVERHEAD: u64 = 1 + 8 + 2 + 1 + 1 + 4 + 2 + 16;

/// Time after which a path that could not be opened, or was given up, is tried again.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// Interval of packets on unused paths. These packets keep paths open, and reveal dead ones.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Time after which a path is tried again for which the peer has not given connection IDs yet.
pub(super) const SOON: Duration = Duration::from_millis(20);

/// Trouble of all further paths if the peer supports only one.
pub(super) const NO_MULTIPATH: &str = "the peer has no multipath";

/// Probe timeout of a path without samples.
const UNKNOWN: Duration = Duration::from_millis(300);

/// Shortest silence after which a path that owes an acknowledgement is given up.
const LEAST_SILENCE: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
    /// noq's path, and its controller.
    pub(super) open: Option<(PathId, Shared)>,
    /// True if the path was validated, and carries data.
    pub(super) works: bool,
    pub(super) retry_at: Option<Instant>,
    /// Latest time at which a packet leaves on the path, even against the scheduler's preference.
    pub(super) due: Option<Instant>,
    /// Former path of noq's, which is given up as soon as another one is open.
    pub(super) left: Option<PathId>,
    /// Whether the peer was told that the path is a backup, and whether the peer wants that.
    pub(super) stands_by: bool,
    pub(super) set_back: bool,
    pub(super) trouble: Option<String>,
    pub(super) opened: u32,
    /// Estimated payload bytes sent.
    pub(super) sent: u64,
    pub(super) srtt: Option<Duration>,
}

impl Lane {
    pub(super) fn new(local: IpAddr, remote: SocketAddr) -> Self {
        Self {
            local,
            remote,
            open: None,
            works: false,
            retry_at: None,
            due: None,
            left: None,
            stands_by: false,
            set_back: false,
            trouble: None,
            opened: 0,
            sent: 0,
            srtt: None,
        }
    }

    pub(super) fn id(&self) -> Option<PathId> {
        self.open.as_ref().map(|(id, _)| *id)
    }

    pub(super) fn gate(&self) -> Option<&Shared> {
        self.open.as_ref().map(|(_, gate)| gate)
    }

    pub(super) fn set(&self, opening: Opening) {
        if let Some(gate) = self.gate() {
            gate.lock().opening = opening;
        }
    }

    /// Returns the packet events since the last look.
    pub(super) fn news(&mut self, now: Instant) -> News {
        let Some(gate) = self.gate() else { return News::default() };
        let news = std::mem::take(&mut gate.lock().news);
        if news.sent > 0 && self.works {
            self.due = Some(now + KEEP_ALIVE);
        }
        self.sent += payload(news.sent, news.sent_bytes);
        news
    }

    /// Closes noq's path.
    pub(super) fn close(&mut self, retry_at: Instant, trouble: String) {
        self.open = None;
        (self.works, self.stands_by, self.set_back) = (false, false, false);
        self.retry_at = Some(retry_at);
        self.trouble = Some(trouble);
    }

    /// Time since which an acknowledgement is owed, and the time that one takes.
    fn owed(&self) -> Option<(Instant, Duration)> {
        let gate = self.gate().filter(|_| self.works)?.lock();
        Some((gate.waiting_since?, gate.probe_timeout().unwrap_or(UNKNOWN)))
    }

    /// Time at which the path becomes doubtful: while another path works, the scheduler then sees
    /// it as potentially failed.
    pub(super) fn doubtful_at(&self) -> Option<Instant> {
        self.owed().map(|(since, timeout)| since + timeout)
    }

    /// Time at which the path is given up.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.owed().map(|(since, timeout)| since + (2 * timeout).max(LEAST_SILENCE))
    }
}

/// Estimated payload bytes of packets.
pub(super) fn payload(packets: u32, bytes: u64) -> u64 {
    bytes.saturating_sub(u64::from(packets) * OVERHEAD)
}
