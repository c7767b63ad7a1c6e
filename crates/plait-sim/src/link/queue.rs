//! The queue in front of a wire: drop-tail, limited in packets, bytes or time.

use plait_sched::{Duration, Time};
use plait_transport::ring::Ring;

/// When an arriving packet is dropped. The packet in transmission counts until its last bit has left; a packet that
/// arrives at that very moment finds its place free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Never.
    Infinite,
    /// If that many packets are there already. As in ns-2's `DropTail`, a limit of L means at most L packets in the
    /// system: L − 1 waiting and 1 in transmission.
    Packets(u64),
    /// If its bytes and those of the packets already there, the one in transmission included, exceed the limit.
    Bytes(u64),
    /// If its transmission would begin later than this after its arrival.
    Wait(Duration),
}

impl QueueLimit {
    #[inline]
    pub(super) fn admits(self, backlog: &Backlog, bytes: u32, wait: Duration) -> bool {
        match self {
            Self::Infinite => true,
            Self::Packets(limit) => backlog.departures.len() < limit,
            Self::Bytes(limit) => backlog.bytes + u64::from(bytes) <= limit,
            Self::Wait(longest) => wait <= longest,
        }
    }
}

/// The packets whose last bit has not left yet, the one in transmission first.
#[derive(Clone, Debug)]
pub(super) struct Backlog {
    departures: Ring<(Time, u32)>,
    bytes: u64,
}

impl Backlog {
    pub(super) fn new() -> Self {
        Self { departures: Ring::default(), bytes: 0 }
    }

    /// Forgets what has left by `now`.
    #[inline]
    pub(super) fn advance(&mut self, now: Time) {
        while let Some(&(departure, bytes)) = self.departures.front()
            && departure <= now
        {
            self.bytes -= u64::from(bytes);
            let _ = self.departures.pass();
        }
    }

    #[inline]
    pub(super) fn push(&mut self, departure: Time, bytes: u32) {
        self.departures.push((departure, bytes));
        self.bytes += u64::from(bytes);
    }

    pub(super) fn waiting_packets(&self) -> u64 {
        self.departures.len().saturating_sub(1)
    }

    pub(super) fn waiting_bytes(&self) -> u64 {
        self.bytes - self.departures.front().map_or(0, |&(_, bytes)| u64::from(bytes))
    }
}
