//! A path from one local address: noq's path, once there is one, and when it is opened again.

use super::gate::{News, Opening, Shared};
use noq_proto::PathId;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// What a packet has beside payload: a short header with a connection ID of 8 bytes and a number of 2, a STREAM frame with an offset of 4 bytes, the tag.
pub const OVERHEAD: u64 = 1 + 8 + 2 + 1 + 1 + 4 + 2 + 16;

/// A path that could not be opened, or was given up, is tried again after so long.
pub(super) const RETRY: Duration = Duration::from_secs(1);

/// Paths on which nothing is sent are kept open, and found out to be dead, by a packet now and then.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The peer has not given the connection IDs for another path yet: it is asked again after so long.
pub(super) const SOON: Duration = Duration::from_millis(20);

/// Why there is one path only.
pub(super) const NO_MULTIPATH: &str = "the peer has no multipath";

/// What a path is taken to need for a round trip while nothing is known of it.
const UNKNOWN: Duration = Duration::from_millis(300);

/// A path that owes an acknowledgement is not given up before that.
const LEAST_SILENCE: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(super) struct Lane {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
    /// noq's path, and its gate.
    pub(super) open: Option<(PathId, Shared)>,
    /// It was validated, and carries data.
    pub(super) works: bool,
    pub(super) retry_at: Option<Instant>,
    /// When a packet leaves on it at the latest, whatever the scheduler prefers.
    pub(super) due: Option<Instant>,
    /// noq's path that is to be given up as soon as another one is open.
    pub(super) left: Option<PathId>,
    /// The peer was told that it stands by, and it wants it to.
    pub(super) stands_by: bool,
    pub(super) set_back: bool,
    pub(super) trouble: Option<String>,
    pub(super) opened: u32,
    /// Payload that left, as it is reckoned.
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

    /// What happened to its packets since the last look.
    pub(super) fn news(&mut self, now: Instant) -> News {
        let Some(gate) = self.gate() else { return News::default() };
        let news = std::mem::take(&mut gate.lock().news);
        if news.sent > 0 && self.works {
            self.due = Some(now + KEEP_ALIVE);
        }
        self.sent += payload(news.sent, news.sent_bytes);
        news
    }

    /// There is no such path any more.
    pub(super) fn close(&mut self, retry_at: Instant, trouble: String) {
        self.open = None;
        (self.works, self.stands_by, self.set_back) = (false, false, false);
        self.retry_at = Some(retry_at);
        self.trouble = Some(trouble);
    }

    /// Since when an acknowledgement is owed, and how long one takes.
    fn owed(&self) -> Option<(Instant, Duration)> {
        let gate = self.gate().filter(|_| self.works)?.lock();
        Some((gate.waiting_since?, gate.probe_timeout().unwrap_or(UNKNOWN)))
    }

    /// When it is set aside, while another one works: then its scheduler takes it for failed.
    pub(super) fn doubtful_at(&self) -> Option<Instant> {
        self.owed().map(|(since, timeout)| since + timeout)
    }

    /// When it is given up.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.owed().map(|(since, timeout)| since + (2 * timeout).max(LEAST_SILENCE))
    }
}

/// Payload of packets, as it is reckoned.
pub(super) fn payload(packets: u32, bytes: u64) -> u64 {
    bytes.saturating_sub(u64::from(packets) * OVERHEAD)
}
