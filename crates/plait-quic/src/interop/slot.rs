//! A path from one local address: noq's path, once there is one, and the time to open it again.

use super::controller::{PacketCounts, SharedController, WindowMode};
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
pub(super) const NO_MULTIPATH: &str = "the other end has no multipath";

/// Probe timeout of a path without samples.
const UNKNOWN: Duration = Duration::from_millis(300);

/// Shortest silence after which a path that owes an acknowledgement is given up.
const MIN_SILENCE: Duration = Duration::from_millis(150);

#[derive(Debug)]
pub(super) struct PathSlot {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
    /// noq's path, and its controller.
    pub(super) open: Option<(PathId, SharedController)>,
    /// True if the path was validated, and carries data.
    pub(super) works: bool,
    pub(super) retry_at: Option<Instant>,
    /// Latest time at which a packet leaves on the path, even against the scheduler's preference.
    pub(super) keep_alive_at: Option<Instant>,
    /// Former path of noq's, which is given up as soon as another one is open.
    pub(super) former: Option<PathId>,
    /// Whether the peer was told that the path is a backup, and whether the peer wants that.
    pub(super) reported_backup: bool,
    pub(super) peer_backup: bool,
    pub(super) trouble: Option<String>,
    pub(super) opened: u32,
    /// Estimated payload bytes sent.
    pub(super) sent: u64,
    pub(super) srtt: Option<Duration>,
}

impl PathSlot {
    pub(super) fn new(local: IpAddr, remote: SocketAddr) -> Self {
        Self {
            local,
            remote,
            open: None,
            works: false,
            retry_at: None,
            keep_alive_at: None,
            former: None,
            reported_backup: false,
            peer_backup: false,
            trouble: None,
            opened: 0,
            sent: 0,
            srtt: None,
        }
    }

    pub(super) fn id(&self) -> Option<PathId> {
        self.open.as_ref().map(|(id, _)| *id)
    }

    pub(super) fn controller(&self) -> Option<&SharedController> {
        self.open.as_ref().map(|(_, controller)| controller)
    }

    pub(super) fn set_window_mode(&self, window_mode: WindowMode) {
        if let Some(controller) = self.controller() {
            controller.lock().window_mode = window_mode;
        }
    }

    /// Returns the packet events since the last look.
    pub(super) fn counts(&mut self, now: Instant) -> PacketCounts {
        let Some(controller) = self.controller() else { return PacketCounts::default() };
        let counts = std::mem::take(&mut controller.lock().counts);
        if counts.sent > 0 && self.works {
            self.keep_alive_at = Some(now + KEEP_ALIVE);
        }
        self.sent += payload(counts.sent, counts.sent_bytes);
        counts
    }

    /// Closes noq's path.
    pub(super) fn close(&mut self, retry_at: Instant, trouble: String) {
        self.open = None;
        (self.works, self.reported_backup, self.peer_backup) = (false, false, false);
        self.retry_at = Some(retry_at);
        self.trouble = Some(trouble);
    }

    /// Time since which an acknowledgement is owed, and the time that one takes.
    fn awaited_ack(&self) -> Option<(Instant, Duration)> {
        let controller = self.controller().filter(|_| self.works)?.lock();
        Some((controller.waiting_since?, controller.probe_timeout().unwrap_or(UNKNOWN)))
    }

    /// Time at which the path becomes doubtful: while another path works, the scheduler then sees
    /// it as potentially failed.
    pub(super) fn doubtful_at(&self) -> Option<Instant> {
        self.awaited_ack().map(|(since, timeout)| since + timeout)
    }

    /// Time at which the path is given up.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.awaited_ack().map(|(since, timeout)| since + (2 * timeout).max(MIN_SILENCE))
    }
}

/// Estimated payload bytes of packets.
pub(super) fn payload(packets: u32, bytes: u64) -> u64 {
    bytes.saturating_sub(u64::from(packets) * OVERHEAD)
}
