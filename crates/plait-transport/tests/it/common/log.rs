//! A log of a connection's events, in order.

use plait_sched::{PathId, PathState, Time};
use plait_transport::{Observer, SendReason, Sent};

/// All reports to an observer.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) sent: Vec<(Time, Sent)>,
    pub(crate) arrived: Vec<(Time, PathId, u64)>,
    pub(crate) delivered: Vec<(Time, u64)>,
    pub(crate) delivered_bytes: u64,
    pub(crate) duplicates: Vec<(Time, u64)>,
    pub(crate) refused: Vec<(Time, u64)>,
    pub(crate) states: Vec<(Time, PathId, PathState)>,
    /// Largest contents of the receive buffer, in counted bytes.
    pub(crate) most_buffered: u64,
}

impl Log {
    /// Returns the time and the path of each transmission of `segment`.
    pub(crate) fn sent_times(&self, segment: u64) -> Vec<(Time, u8)> {
        self.of(segment).map(|(time, sent)| (*time, sent.path.0)).collect()
    }

    /// Returns the segments retransmitted after a loss, in order.
    pub(crate) fn retransmitted(&self) -> Vec<u64> {
        let again = |(_, sent): &&(Time, Sent)| sent.reason == SendReason::Retransmission;
        self.sent.iter().filter(again).map(|(_, sent)| sent.segment).collect()
    }

    /// Returns the number of data packets that left on `path` at or after `from`.
    pub(crate) fn sent_on(&self, path: u8, from: Time) -> usize {
        self.sent.iter().filter(|(time, sent)| *time >= from && sent.path.0 == path).count()
    }

    fn of(&self, segment: u64) -> impl Iterator<Item = &(Time, Sent)> {
        self.sent.iter().filter(move |(_, sent)| sent.segment == segment)
    }
}

impl Observer for Log {
    fn sent(&mut self, now: Time, sent: &Sent) {
        self.sent.push((now, *sent));
    }

    fn path_state(&mut self, now: Time, path: PathId, state: PathState) {
        self.states.push((now, path, state));
    }

    fn arrived(&mut self, now: Time, path: PathId, segment: u64, _bytes: u32) {
        self.arrived.push((now, path, segment));
    }

    fn duplicate(&mut self, now: Time, _path: PathId, segment: u64) {
        self.duplicates.push((now, segment));
    }

    fn delivered(&mut self, now: Time, segment: u64, bytes: u32) {
        assert_eq!(segment, self.delivered.len() as u64, "delivered in order, once");
        self.delivered.push((now, segment));
        self.delivered_bytes += u64::from(bytes);
    }

    fn refused(&mut self, now: Time, _path: PathId, segment: u64) {
        self.refused.push((now, segment));
    }
}
