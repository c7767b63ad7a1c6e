//! The reason why a decision chose a path or did not.

use plait_sched::{Connection, Decision, Path, PathId, PathState};

/// The verdict on one path in one decision. If several reasons apply, the first in this order
/// counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The decision names the path.
    Chosen,
    /// The path is down, and it never had a round-trip sample.
    NotEstablished,
    /// The path was given up after too many timeouts.
    Failed,
    /// The path had a timeout and is being probed.
    PotentiallyFailed,
    /// The path is a backup, and an active path is usable.
    Backup,
    /// The data queue is empty, for every path.
    NothingToSend,
    /// For a copy: the path already carries the segment.
    CarriesSegment,
    /// The path recovers from a loss.
    Recovery,
    /// The scheduler's own limit of segments in flight, below the congestion window, is reached.
    Limit,
    /// The congestion window is full, with queued segments included.
    CongestionWindow,
    /// The receiver's window is full.
    ReceiverWindow,
    /// The path could have sent the segment, but the scheduler chose another one, or to wait.
    PassedOver,
    /// The path could have sent a segment, but the decision assigns none.
    Open,
}

/// The kinds of [`Verdict`], as in the Linux kernel's schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VerdictKind {
    /// The decision names the path.
    Chosen,
    /// The path is unavailable until its state changes.
    DefinitelyUnavailable,
    /// The path is unavailable until an acknowledgement, data or a decision arrives.
    TemporarilyUnavailable,
    /// The path would have sent a segment at once.
    Available,
}

impl VerdictKind {
    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::DefinitelyUnavailable => "definitely-unavailable",
            Self::TemporarilyUnavailable => "temporarily-unavailable",
            Self::Available => "available",
        }
    }
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 13] = [
        Self::Chosen,
        Self::NotEstablished,
        Self::Failed,
        Self::PotentiallyFailed,
        Self::Backup,
        Self::NothingToSend,
        Self::CarriesSegment,
        Self::Recovery,
        Self::Limit,
        Self::CongestionWindow,
        Self::ReceiverWindow,
        Self::PassedOver,
        Self::Open,
    ];

    /// The name in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::NotEstablished => "not-established",
            Self::Failed => "failed",
            Self::PotentiallyFailed => "potentially-failed",
            Self::Backup => "backup",
            Self::NothingToSend => "nothing-to-send",
            Self::CarriesSegment => "carries-segment",
            Self::Recovery => "recovery",
            Self::CongestionWindow => "congestion-window",
            Self::Limit => "limit",
            Self::ReceiverWindow => "receiver-window",
            Self::PassedOver => "passed-over",
            Self::Open => "open",
        }
    }

    /// The kind of verdict: whether the path could have been used.
    pub const fn kind(self) -> VerdictKind {
        match self {
            Self::Chosen => VerdictKind::Chosen,
            Self::NotEstablished | Self::Failed | Self::PotentiallyFailed | Self::Backup => {
                VerdictKind::DefinitelyUnavailable
            }
            Self::NothingToSend
            | Self::CarriesSegment
            | Self::Recovery
            | Self::CongestionWindow
            | Self::Limit
            | Self::ReceiverWindow => VerdictKind::TemporarilyUnavailable,
            Self::PassedOver | Self::Open => VerdictKind::Available,
        }
    }

    /// One sentence for users.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Chosen => "The decision names this path.",
            Self::NotEstablished => "The path is down and no round trip was ever measured on it.",
            Self::Failed => "The path was given up after too many timeouts in a row.",
            Self::PotentiallyFailed => "The path had a timeout and is being probed.",
            Self::Backup => "The path is a backup and an active one is usable.",
            Self::NothingToSend => "The data queue is empty.",
            Self::CarriesSegment => "The path carries the segment already: a copy would be of no use.",
            Self::Recovery => "The path recovers from a loss and takes no new data.",
            Self::CongestionWindow => "The path's segments in flight and queued fill its congestion window.",
            Self::Limit => "The path's segments in flight and queued reach the limit that the scheduler set.",
            Self::ReceiverWindow => "The receiver's window admits no further segment on any path.",
            Self::PassedOver => {
                "The path could have sent the segment at once; the scheduler chose another one, or to wait."
            }
            Self::Open => "The path could have sent a segment at once; the decision assigns none.",
        }
    }
}

/// Computes the verdict on `path`. `any_active`: whether the connection has an active path.
pub fn verdict(decision: &Decision, connection: &Connection, path: &Path, any_active: bool) -> Verdict {
    if named(decision) == Some(path.id) {
        return Verdict::Chosen;
    }
    match path.state {
        PathState::Failed if !path.has_rtt() => return Verdict::NotEstablished,
        PathState::Failed => return Verdict::Failed,
        PathState::PotentiallyFailed => return Verdict::PotentiallyFailed,
        PathState::Backup if any_active => return Verdict::Backup,
        PathState::Backup | PathState::Active => {}
    }
    // A copy is not new data: it needs neither the data queue nor room at the receiver, and the
    // limit does not apply to it.
    let copied = if let Decision::Reinject { segment, .. } = *decision { Some(segment) } else { None };
    let oldest = connection.oldest_unacked.filter(|oldest| Some(oldest.segment) == copied);
    if oldest.is_some_and(|oldest| oldest.carried.contains(path.id)) {
        return Verdict::CarriesSegment;
    }
    if copied.is_none() && connection.unassigned == 0 {
        return Verdict::NothingToSend;
    }
    if path.in_recovery {
        return Verdict::Recovery;
    }
    // The tighter one of window and limit holds the path back.
    let held = path.in_flight.saturating_add(path.lost).saturating_add(path.queued);
    if copied.is_none() && path.limit < path.cwnd && held >= path.limit {
        return Verdict::Limit;
    }
    if path.room() == 0 {
        return Verdict::CongestionWindow;
    }
    if copied.is_none() && connection.window_left == 0 {
        return Verdict::ReceiverWindow;
    }
    match decision {
        Decision::Assign { .. } | Decision::Reinject { .. } | Decision::Wait { .. } => Verdict::PassedOver,
        Decision::Recall { .. } | Decision::Limit { .. } | Decision::Penalize { .. } | Decision::Defer => {
            Verdict::Open
        }
    }
}

/// The path that a decision names.
fn named(decision: &Decision) -> Option<PathId> {
    match *decision {
        Decision::Assign { path, .. }
        | Decision::Reinject { path, .. }
        | Decision::Recall { path }
        | Decision::Limit { path, .. }
        | Decision::Penalize { path } => Some(path),
        Decision::Defer | Decision::Wait { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, VerdictKind, verdict};
    use plait_sched::{Connection, Decision, Duration, Outstanding, Path, PathId, PathSet, PathState};

    const OTHER: PathId = PathId(1);
    const ASSIGN_OTHER: Decision = Decision::Assign { path: OTHER, segments: 1 };

    /// Path 0, which could send three segments at once.
    fn path() -> Path {
        let mut path = Path::new(PathId(0), 1452);
        path.srtt = Duration::from_millis(20);
        path.cwnd = 10;
        path.in_flight = 5;
        path.queued = 2;
        path
    }

    /// A connection with data to send, room at the receiver, and segment 7 on path 1.
    fn connection() -> Connection {
        let mut carried = PathSet::EMPTY;
        carried.insert(OTHER);
        Connection {
            unassigned: 100,
            next_segment: 20,
            window_left: 50,
            oldest_unacked: Some(Outstanding::new(7, OTHER, carried)),
            ..Connection::default()
        }
    }

    /// The verdict on [`path`] after `change`, if the other path was chosen.
    fn after(change: impl FnOnce(&mut Path, &mut Connection)) -> Verdict {
        let (mut path, mut connection) = (path(), connection());
        change(&mut path, &mut connection);
        verdict(&ASSIGN_OTHER, &connection, &path, true)
    }

    #[test]
    fn the_path_that_a_decision_names_is_chosen_whatever_its_state() {
        let mut full = path();
        full.cwnd = 0;
        full.state = PathState::Backup;
        for decision in [
            Decision::Assign { path: full.id, segments: 3 },
            Decision::Reinject { path: full.id, segment: 7 },
            Decision::Recall { path: full.id },
            Decision::Limit { path: full.id, in_flight: 4 },
            Decision::Penalize { path: full.id },
        ] {
            assert_eq!(verdict(&decision, &connection(), &full, true), Verdict::Chosen, "{decision:?}");
        }
    }

    #[test]
    fn an_open_path_is_judged_by_what_was_decided_instead() {
        let on_the_other = [
            (ASSIGN_OTHER, Verdict::PassedOver),
            (Decision::Reinject { path: OTHER, segment: 7 }, Verdict::PassedOver),
            (Decision::WAIT, Verdict::PassedOver),
            (Decision::Recall { path: OTHER }, Verdict::Open),
            (Decision::Limit { path: OTHER, in_flight: 4 }, Verdict::Open),
            (Decision::Penalize { path: OTHER }, Verdict::Open),
        ];
        for (decision, expected) in on_the_other {
            assert_eq!(verdict(&decision, &connection(), &path(), true), expected, "{decision:?}");
        }
    }

    #[test]
    fn a_state_makes_a_path_definitely_unavailable() {
        assert_eq!(after(|path, _| path.state = PathState::Failed), Verdict::Failed);
        assert_eq!(after(|path, _| path.state = PathState::PotentiallyFailed), Verdict::PotentiallyFailed);
        assert_eq!(after(|path, _| path.state = PathState::Backup), Verdict::Backup);
        let unmeasured = after(|path, _| {
            path.state = PathState::Failed;
            path.srtt = Duration::ZERO;
        });
        assert_eq!(unmeasured, Verdict::NotEstablished);
        // Windows do not matter for a failed path.
        let full = after(|path, connection| {
            path.state = PathState::Failed;
            path.cwnd = 0;
            connection.unassigned = 0;
        });
        assert_eq!(full, Verdict::Failed);
    }

    #[test]
    fn a_backup_is_available_while_no_path_is_active() {
        let mut backup = path();
        backup.state = PathState::Backup;
        assert_eq!(verdict(&ASSIGN_OTHER, &connection(), &backup, false), Verdict::PassedOver);
        backup.in_flight = 10;
        assert_eq!(verdict(&ASSIGN_OTHER, &connection(), &backup, false), Verdict::CongestionWindow);
    }

    #[test]
    fn windows_make_a_path_temporarily_unavailable() {
        assert_eq!(after(|path, _| path.in_recovery = true), Verdict::Recovery);
        assert_eq!(after(|path, _| path.in_flight = 10), Verdict::CongestionWindow);
        assert_eq!(after(|path, _| path.queued = 5), Verdict::CongestionWindow, "what waits counts");
        assert_eq!(after(|path, _| path.queued = 4), Verdict::PassedOver);
        assert_eq!(after(|path, _| path.limit = 7), Verdict::Limit);
        assert_eq!(after(|path, _| path.limit = 8), Verdict::PassedOver);
        let window_is_tighter = after(|path, _| {
            path.cwnd = 7;
            path.limit = 7;
        });
        assert_eq!(window_is_tighter, Verdict::CongestionWindow);
        assert_eq!(after(|_, connection| connection.window_left = 0), Verdict::ReceiverWindow);
        assert_eq!(after(|_, connection| connection.unassigned = 0), Verdict::NothingToSend);
    }

    #[test]
    fn of_several_reasons_the_first_counts() {
        let mut reasons: Vec<fn(&mut Path, &mut Connection)> = vec![
            |_, connection| connection.unassigned = 0,
            |path, _| path.in_recovery = true,
            |path, _| path.limit = 6,
            |path, _| path.cwnd = 7,
            |_, connection| connection.window_left = 0,
        ];
        let expected = [
            Verdict::NothingToSend,
            Verdict::Recovery,
            Verdict::Limit,
            Verdict::CongestionWindow,
            Verdict::ReceiverWindow,
        ];
        for first in expected {
            let found = after(|path, connection| {
                for reason in &reasons {
                    reason(path, connection);
                }
            });
            assert_eq!(found, first);
            reasons.remove(0);
        }
    }

    #[test]
    fn a_copy_needs_no_new_data_and_no_room_at_the_receiver() {
        let copy = Decision::Reinject { path: PathId(2), segment: 7 };
        let mut connection = connection();
        connection.unassigned = 0;
        connection.window_left = 0;
        let mut limited = path();
        limited.limit = 1;
        assert_eq!(verdict(&copy, &connection, &limited, true), Verdict::PassedOver);
        limited.cwnd = 7;
        assert_eq!(verdict(&copy, &connection, &limited, true), Verdict::CongestionWindow);
        let mut carrier = path();
        carrier.id = OTHER;
        assert_eq!(verdict(&copy, &connection, &carrier, true), Verdict::CarriesSegment);
        let of_another = Decision::Reinject { path: PathId(2), segment: 8 };
        assert_eq!(verdict(&of_another, &connection, &carrier, true), Verdict::PassedOver);
    }

    #[test]
    fn names_are_kebab_case_and_differ() {
        for (index, one) in Verdict::ALL.iter().enumerate() {
            assert!(one.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
            assert!(one.meaning().ends_with('.'));
            assert!(Verdict::ALL[..index].iter().all(|other| other.name() != one.name()));
        }
        let definite: Vec<_> =
            Verdict::ALL.iter().filter(|one| one.kind() == VerdictKind::DefinitelyUnavailable).collect();
        assert_eq!(definite.len(), 4);
    }
}
