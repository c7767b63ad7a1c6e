//! The common interface of all protocols' ends: writing data and observing its progress.

use super::stream::Stream;
use super::{Core, Counters, PathSender, SegmentState, WriteOptions};
use crate::observer::Observer;
use plait_sched::{PathId, Scheduler, Time};

/// Totals of a path since its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathTotals {
    /// Data packets that left.
    pub sent: u64,
    /// Data packets that were lost. Packets that were declared lost and arrived late do not count,
    /// as far as that is known.
    pub lost: u64,
    /// Bytes that were acknowledged, as congestion windows count them.
    pub acknowledged: u64,
}

impl<S: Scheduler, R> Core<S, R> {
    /// See [`crate::endpoint::Endpoint::totals`].
    pub(crate) fn totals(&self, path: PathId) -> PathTotals {
        self.paths.get(path.index()).map(PathSender::totals).unwrap_or_default()
    }

    /// See [`crate::endpoint::Endpoint::set_terms`].
    pub(crate) fn set_terms(
        &mut self,
        now: Time,
        path: PathId,
        (backup, cost): (bool, u32),
        observer: &mut impl Observer,
    ) {
        let index = path.index();
        let Some(facts) = self.facts.get_mut(index) else { return };
        facts.cost = cost;
        let is_usable = facts.is_usable();
        self.paths[index].backup = backup;
        if is_usable {
            self.set_state(now, index, self.paths[index].working_state(), observer);
        }
        self.note_opportunity();
    }

    /// See [`crate::endpoint::Endpoint::write_message`].
    pub(crate) fn write(&mut self, bytes: u64, options: &WriteOptions) -> Option<u64> {
        self.note_limited_write();
        let number = self.stream.write(bytes, options);
        if number.is_some() {
            self.begin_write();
        }
        self.note_opportunity();
        number
    }

    /// The stream that this end sends.
    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }

    /// From now on there is always more to send.
    pub(crate) fn write_endlessly(&mut self) {
        self.note_limited_write();
        self.stream.write_endlessly();
        self.begin_write();
        self.note_opportunity();
    }

    /// Opens or closes the connection for the application: before it is open, `connect` has not
    /// returned and nothing is written.
    pub(crate) fn set_open(&mut self, open: bool) {
        self.buffer.set_open(open);
        if open {
            self.write_on();
        }
    }

    /// Notes before a write whether the application limits the flight.
    fn note_limited_write(&mut self) {
        if self.paces && self.stream.uncut() <= 1 && !self.stream.holds_full(1) {
            self.paths.iter_mut().for_each(PathSender::note_limited_write);
        }
    }

    fn begin_write(&mut self) {
        self.wrote |= self.buffer.begin(self.stream.end(), self.stream.frontier_offset());
        self.limit_segments();
    }

    /// True if the application has written anything.
    #[inline]
    pub(crate) fn has_written(&self) -> bool {
        self.stream.end() > 0
    }

    /// True if the application has written nothing, and nothing else happens on sending. Pacing
    /// looks at windows, and a scheduler that copies segments is asked even without data.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        !self.has_written() && !self.paces && !self.needs.reinject
    }

    /// The application writes no more.
    pub(crate) fn finish(&mut self) {
        self.stream.finish();
        self.note_opportunity();
    }

    /// True once everything written is cumulatively acknowledged at the level of the stream.
    pub(crate) fn is_drained(&self) -> bool {
        self.stream.is_drained()
    }

    /// True if a segment was assigned to a path and is not known to have arrived.
    pub(crate) fn is_outstanding(&self, segment: u64) -> bool {
        self.stream.get(segment).is_some_and(|entry| entry.state() != SegmentState::Acknowledged)
    }

    /// Segments that a path took and its own window holds back.
    pub(crate) fn held_back(&self, path: PathId) -> usize {
        self.paths.get(path.index()).map_or(0, |path| path.committed.len())
    }

    /// Returns the counters of the connection and all its paths.
    pub(crate) fn counters(&self) -> Counters {
        let mut all = self.counters;
        self.paths.iter().for_each(|path| all += path.counters);
        all
    }

    /// Number of accesses to the core's records.
    pub(crate) fn looks(&self) -> u64 {
        self.stream.looks() + self.paths.iter().map(|path| path.flight.looks()).sum::<u64>()
    }

    /// A path's congestion window and slow-start threshold in bytes, as the protocol counts them.
    pub(crate) fn congestion_window(&self, path: PathId) -> (u64, u64) {
        self.paths[path.index()].congestion_window()
    }

    /// Access to the scheduler's state.
    pub(crate) fn scheduler(&self) -> &S {
        &self.scheduler
    }
}
