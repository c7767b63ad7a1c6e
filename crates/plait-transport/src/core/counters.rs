//! Events of a connection and of its paths, for metrics.

/// Amounts of data at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Retransmissions of segments that were declared lost.
    pub retransmissions: u64,
    /// Copies sent because the scheduler asked.
    pub reinjections: u64,
    /// Of the retransmissions, probes of an unacknowledged tail (RFC 8985 §7).
    pub tail_probes: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Of these, spurious ones: data arrived that had not been retransmitted (F-RTO, RFC 5682).
    pub spurious_timeouts: u64,
    /// Reports of duplicate segments, which may be retransmissions (D-SACK, RFC 2883).
    pub duplicate_reports: u64,
    /// Acknowledgements of data sent once that arrived after data sent later.
    pub reorderings: u64,
    /// Window reductions that were undone because they turned out to be unnecessary.
    pub undone_reductions: u64,
    /// Decisions other than waiting.
    pub decisions: u64,
    /// Segments that arrived again although they had arrived, as the peer reported.
    pub spurious_retransmissions: u64,
    /// Answers to wait.
    pub waits: u64,
}

impl core::ops::AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        self.retransmissions += other.retransmissions;
        self.reinjections += other.reinjections;
        self.tail_probes += other.tail_probes;
        self.timeouts += other.timeouts;
        self.spurious_timeouts += other.spurious_timeouts;
        self.duplicate_reports += other.duplicate_reports;
        self.reorderings += other.reorderings;
        self.undone_reductions += other.undone_reductions;
        self.decisions += other.decisions;
        self.spurious_retransmissions += other.spurious_retransmissions;
        self.waits += other.waits;
    }
}
