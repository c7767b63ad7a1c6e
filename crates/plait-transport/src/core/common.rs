//! What every protocol's sender offers in the same way: writing, and looking at the core.

/// The methods, inside the `impl` of a sender that has a `core`.
macro_rules! common_to_senders {
    () => {
        /// Appends `bytes` to the stream. They are segmented on their own: no segment spans two writes.
        pub fn write(&mut self, bytes: u64) {
            self.core.stream.write(bytes);
            self.core.note_opportunity();
        }

        /// From now on there is always more to send.
        pub fn write_endlessly(&mut self) {
            self.core.stream.write_endlessly();
            self.core.note_opportunity();
        }

        /// The application writes no more.
        pub fn finish(&mut self) {
            self.core.stream.finish();
            self.core.note_opportunity();
        }

        /// True once everything written is cumulatively acknowledged at the level of the stream.
        pub fn is_drained(&self) -> bool {
            self.core.stream.is_drained()
        }

        /// Where a segment begins in the stream, in bytes; `None` if it is not there yet or cumulatively acknowledged.
        pub fn offset(&self, segment: u64) -> Option<u64> {
            self.core.stream.get(segment).map(|entry| entry.offset)
        }

        /// Segments that a path took and its own window holds back: they stay with it, also while it is down, and count as sent.
        pub fn held_back(&self, path: plait_sched::PathId) -> usize {
            self.core.paths.get(path.index()).map_or(0, |path| path.committed.len())
        }

        /// What happened so far.
        pub fn counters(&self) -> crate::core::Counters {
            self.core.counters
        }

        /// How often entries of its books were looked at. It is counted in builds with debug assertions only, and there for
        /// tests of what packets and acknowledgements cost.
        pub fn looks(&self) -> u64 {
            let paths = self.core.paths.iter().map(|path| path.flight.looks()).sum::<u64>();
            self.core.stream.looks() + paths + self.sets_looks()
        }

        /// Segments that arrived again although they had arrived, as the receiver reported.
        pub fn spurious_retransmissions(&self) -> u64 {
            self.spurious_retransmissions
        }

        /// The facts of the paths, as the scheduler would see them now.
        pub fn paths(&self) -> Vec<plait_sched::Path> {
            self.core.fresh_facts()
        }

        /// The facts of the connection, as the scheduler sees them.
        pub fn connection(&self) -> plait_sched::Connection {
            self.core.connection_facts()
        }

        /// A path's congestion window and slow-start threshold in bytes, as the protocol counts them.
        pub fn window(&self, path: plait_sched::PathId) -> (u64, u64) {
            let sender = &self.core.paths[path.index()];
            let control = &sender.control;
            (sender.reduced_window.unwrap_or(control.window()), control.slow_start_threshold())
        }

        /// The scheduler, for looking at its state.
        pub fn scheduler(&self) -> &S {
            &self.core.scheduler
        }
    };
}

pub(crate) use common_to_senders;
