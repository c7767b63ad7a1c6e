//! Each rule about a single decision detects a scheduler that breaks it.

use super::{assert_breaks, decent};
use plait_sched::conformance::Rule;
use plait_sched::{Capabilities, Connection, Decision, Path, PathId, Time, usable};

#[test]
fn a_path_that_does_not_exist_is_caught() {
    assert_breaks(Rule::KnownPath, Capabilities::NONE, || {
        |_, _: &Connection, paths: &[Path]| Decision::Assign { path: PathId(paths.len() as u8), segments: 1 }
    });
}

#[test]
fn a_failed_path_is_caught() {
    assert_breaks(Rule::UsablePath, Capabilities { reinject: false, ..Capabilities::ALL }, || {
        |_, _: &Connection, _: &[Path]| Decision::Assign { path: PathId(0), segments: 1 }
    });
}

#[test]
fn a_backup_path_beside_an_active_one_is_caught() {
    assert_breaks(Rule::UsablePath, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match paths.iter().find(|path| path.is_open()) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn an_assignment_of_nothing_is_caught() {
    assert_breaks(Rule::SomeSegments, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match decent(connection, paths) {
            Decision::Assign { path, .. } => Decision::Assign { path, segments: 0 },
            other => other,
        }
    });
}

#[test]
fn more_than_there_is_is_caught() {
    assert_breaks(Rule::EnoughData, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match decent(connection, paths) {
            Decision::Assign { path, .. } => {
                Decision::Assign { path, segments: connection.unassigned as u32 + 1 }
            }
            other => other,
        }
    });
}

#[test]
fn more_than_the_congestion_window_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| !path.in_recovery) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn more_than_the_receivers_window_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| {
            let open = usable(paths).find(|path| path.is_open());
            open.map_or(Decision::WAIT, |path| {
                let segments = path.room().min(connection.unassigned as u32);
                Decision::Assign { path: path.id, segments }
            })
        }
    });
}

#[test]
fn a_path_in_recovery_is_caught() {
    assert_breaks(Rule::WithinWindow, Capabilities::NONE, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| path.room() > 0) {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    });
}

#[test]
fn an_undeclared_recall_is_caught() {
    assert_breaks(Rule::Declared, Capabilities { recall: false, ..Capabilities::ALL }, || {
        |_, _: &Connection, paths: &[Path]| match (usable(paths).next(), paths.iter().find(|p| p.queued > 0))
        {
            (_, Some(path)) => Decision::Recall { path: path.id },
            (Some(path), None) => Decision::Assign { path: path.id, segments: 1 },
            (None, None) => Decision::WAIT,
        }
    });
}

/// Limits the first path once, then assigns to it.
fn limiting(in_flight: u32) -> impl FnMut(Time, &Connection, &[Path]) -> Decision {
    move |_, connection, paths| match usable(paths).find(|path| path.is_open()) {
        _ if paths[0].limit != in_flight => Decision::Limit { path: PathId(0), in_flight },
        Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
        _ => Decision::WAIT,
    }
}

#[test]
fn an_undeclared_limit_is_caught() {
    assert_breaks(Rule::Declared, Capabilities { limit: false, ..Capabilities::ALL }, || limiting(1));
}

#[test]
fn a_limit_of_nothing_is_caught() {
    assert_breaks(Rule::OpenLimit, Capabilities::ALL, || limiting(0));
}

#[test]
fn an_undeclared_reinjection_is_caught() {
    assert_breaks(Rule::Declared, Capabilities::NONE, || reinjecting);
}

#[test]
fn a_copy_on_the_path_that_carries_the_segment_is_caught() {
    assert_breaks(Rule::UsefulCopy, Capabilities::ALL, || reinjecting);
}

#[test]
fn a_copy_of_what_was_never_sent_is_caught() {
    assert_breaks(Rule::UsefulCopy, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match usable(paths).find(|path| path.is_open()) {
            Some(path) => Decision::Reinject { path: path.id, segment: connection.next_segment + 5 },
            None => Decision::WAIT,
        }
    });
}

#[test]
fn an_undeclared_penalty_is_caught() {
    assert_breaks(Rule::Declared, Capabilities::NONE, || {
        |_, _: &Connection, _: &[Path]| Decision::Penalize { path: PathId(0) }
    });
}

fn reinjecting(_: Time, connection: &Connection, paths: &[Path]) -> Decision {
    match (connection.oldest_unacked, usable(paths).find(|path| path.is_open())) {
        (Some(oldest), Some(path)) => Decision::Reinject { path: path.id, segment: oldest.segment },
        _ => decent(connection, paths),
    }
}

#[test]
fn the_recall_of_an_empty_queue_is_caught() {
    assert_breaks(Rule::FullQueue, Capabilities::ALL, || {
        |_, _: &Connection, _: &[Path]| Decision::Recall { path: PathId(0) }
    });
}

#[test]
fn assigning_and_recalling_for_ever_is_caught() {
    assert_breaks(Rule::Ends, Capabilities::ALL, || {
        |_, connection: &Connection, paths: &[Path]| match paths.iter().find(|path| path.queued > 0) {
            Some(path) => Decision::Recall { path: path.id },
            // Some segments are left, so that it is asked again.
            None => usable(paths).next().map_or(Decision::WAIT, |path| {
                let segments = (connection.unassigned as u32 / 2).max(1);
                Decision::Assign { path: path.id, segments }
            }),
        }
    });
}
