//! The log of decisions, with the reason why each path was chosen or not.

use super::frames::{DecisionFrame, DecisionPaths};
use super::verdict::verdict;
use plait_sched::{Connection, Decision, Path, PathState, Time};

/// The log of all decisions from `from` on. Of earlier decisions only the last one is kept: it is
/// enough for a view of one moment of a long run.
#[derive(Clone, Debug)]
pub struct DecisionLog {
    from: Time,
    /// The last decision before `from`, with its view of the connection and its reason; its paths
    /// are in `paths_before`.
    before: Option<(Time, Decision, Connection, String)>,
    paths_before: Vec<Path>,
    /// The scheduler's reason for the decision that is added next.
    reason: String,
    decisions: DecisionFrame,
    paths: DecisionPaths,
}

impl DecisionLog {
    /// Creates an empty log that begins at `from`.
    pub fn new(from: Time) -> Self {
        Self {
            from,
            before: None,
            paths_before: Vec::new(),
            reason: String::new(),
            decisions: DecisionFrame::default(),
            paths: DecisionPaths::default(),
        }
    }

    /// An empty text for the scheduler's reason for the next decision.
    pub(super) fn reason(&mut self) -> &mut String {
        self.reason.clear();
        &mut self.reason
    }

    /// Adds a decision and the facts on which it was based.
    pub fn push(&mut self, now: Time, decision: &Decision, connection: &Connection, paths: &[Path]) {
        if now < self.from {
            self.before = Some((now, *decision, connection.clone(), self.reason.clone()));
            self.paths_before.clear();
            self.paths_before.extend_from_slice(paths);
            return;
        }
        self.record_before();
        let reason = std::mem::take(&mut self.reason);
        self.record(now, decision, connection, paths, reason);
    }

    /// Returns the tables.
    pub fn finish(mut self) -> (DecisionFrame, DecisionPaths) {
        self.record_before();
        (self.decisions, self.paths)
    }

    fn record_before(&mut self) {
        if let Some((now, decision, connection, reason)) = self.before.take() {
            let paths = std::mem::take(&mut self.paths_before);
            self.record(now, &decision, &connection, &paths, reason);
        }
    }

    fn record(
        &mut self,
        now: Time,
        decision: &Decision,
        connection: &Connection,
        paths: &[Path],
        reason: String,
    ) {
        let row = self.decisions.len();
        self.decisions.push(now, decision, connection, reason);
        let any_active = paths.iter().any(|path| path.state == PathState::Active);
        for path in paths {
            self.paths.push(row, path, verdict(decision, connection, path, any_active));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DecisionLog;
    use crate::recorder::frames::{DecisionFrame, DecisionPaths, NEVER};
    use crate::recorder::verdict::Verdict;
    use plait_sched::{Connection, Decision, Duration, Outstanding, Path, PathId, PathSet, Time};

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    /// One assignment per path, then a decision to wait, one millisecond apart.
    fn log(from: Time) -> (DecisionFrame, DecisionPaths) {
        let mut log = DecisionLog::new(from);
        let mut paths = [Path::new(PathId(0), 1452), Path::new(PathId(1), 1452)];
        paths[0].srtt = Duration::from_millis(20);
        paths[0].forward_delay = Some(-3);
        let mut connection =
            Connection { unassigned: 2, next_segment: 8, window_left: 9, ..Connection::default() };
        log.push(at(1), &Decision::Assign { path: PathId(0), segments: 1 }, &connection, &paths);
        paths[0].in_flight = 1;
        connection.unassigned = 1;
        connection.next_segment = 9;
        connection.oldest_unacked = Some(Outstanding::new(8, PathId(0), PathSet::EMPTY));
        log.push(at(2), &Decision::Assign { path: PathId(1), segments: 1 }, &connection, &paths);
        paths[1].in_flight = 1;
        log.push(at(3), &Decision::Wait { until: Some(at(7)) }, &connection, &paths);
        log.finish()
    }

    #[test]
    fn every_decision_has_a_row_and_one_for_each_path() {
        let (decisions, paths) = log(Time::ZERO);
        assert_eq!(decisions.time, [1_000_000, 2_000_000, 3_000_000]);
        assert_eq!(decisions.decision, [0, 0, 3]);
        assert_eq!(decisions.segment, [Some(8), Some(9), None]);
        assert_eq!(decisions.wait_until, [None, None, Some(7_000_000)]);
        assert_eq!(decisions.oldest_unacked, [None, Some(8), Some(8)]);
        assert_eq!(decisions.oldest_unacked_path, [None, Some(0), Some(0)]);
        assert_eq!(paths.decision, [0, 0, 1, 1, 2, 2]);
        assert_eq!(paths.path, [0, 1, 0, 1, 0, 1]);
        let full = Verdict::CongestionWindow;
        assert_eq!(
            paths.verdict,
            [Verdict::Chosen, Verdict::PassedOver, full, Verdict::Chosen, full, full],
            "the facts are those before the decision"
        );
        assert_eq!(paths.srtt[..2], [20_000_000, NEVER]);
        assert_eq!(paths.forward_delay[..2], [Some(-3), None]);
        assert_eq!(paths.cwnd_left, [1, 1, 0, 1, 0, 0]);
    }

    #[test]
    fn before_the_first_moment_only_the_last_decision_is_kept() {
        let (all, _) = log(Time::ZERO);
        for (from, first) in [(at(2), 0), (at(3), 1), (at(4), 2), (at(100), 2)] {
            let (decisions, paths) = log(from);
            assert_eq!(decisions.time, all.time[first..], "{from:?}");
            assert_eq!(decisions.segment, all.segment[first..]);
            assert_eq!(paths.decision.len(), 2 * decisions.len());
            assert_eq!(paths.decision[..2], [0, 0], "rows count from what was kept");
        }
    }
}
