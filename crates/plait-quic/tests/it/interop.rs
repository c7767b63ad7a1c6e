//! Mode interop with an independent peer, in virtual time.

use crate::network::links::{FAST, Path, SLOW, some_moment};
use crate::peer::{Case, run};
use noq_proto::{PathId, PathStatus};
use plait_quic::{Identity, Terms, interop};
use plait_sched::{Builtin, SCHEDULERS, Scheduler, Value};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

#[test]
fn every_scheduler_that_can_decide_carries_every_byte() {
    let schedulers = interop::schedulers();
    assert!(schedulers.len() >= 9, "{schedulers:?}");
    for scheduler in schedulers {
        let run = run(&Case { scheduler, ..Case::default() });
        assert!(run.received == run.sent, "{scheduler}: {} bytes arrived", run.received.len());
        // At 30 Mbit/s, 2 MB take 0.53 s; the windows must open first.
        assert!(run.duration < Duration::from_secs(3), "{scheduler}: {:?}", run.duration);
    }
}

#[test]
fn what_cannot_be_expressed_is_refused_by_name() {
    let offered = interop::schedulers();
    let mut refused = 0;
    for name in SCHEDULERS.iter().map(|info| info.name).filter(|name| !offered.contains(name)) {
        let scheduler = Builtin::new(name, &[]).expect("it is built in");
        let missing = scheduler.needs().missing_from(interop::OFFERED).expect("that is why");
        let error = interop::check(&scheduler).expect_err("it needs more").to_string();
        assert!(error.contains(&format!("\"{missing}\"")) && error.contains("lowest-rtt"), "{name}: {error}");
        refused += 1;
    }
    assert!(refused >= 8, "{refused}");
    for option in ["lowest-rtt+rp", "lowest-rtt+bm"] {
        assert!(interop::check(&Builtin::new(option, &[]).expect("it is one")).is_err(), "{option}");
    }
    let identity = Identity::generate().expect("a key");
    let now = some_moment();
    let made =
        |case: Case<'_>| crate::peer::connection(now, &identity, &case).err().map(|error| error.to_string());
    assert!(
        made(Case { scheduler: "redundant", ..Case::default() }).expect("refused").contains("\"reinject\"")
    );
    let terms = [Terms { budget: Some(1), ..Terms::default() }];
    assert!(made(Case { terms: &terms, ..Case::default() }).expect("refused").contains("budget"));
    assert_eq!(made(Case::default()), None);
}

/// Round-robin changes the path after a window of data, or after a given number of packets.
#[test]
fn round_robin_takes_turns() {
    let order = |parameters: &[(&str, Value<'_>)]| {
        let case = Case {
            scheduler: "round-robin",
            parameters,
            paths: &[FAST, FAST],
            bytes: 21_000,
            ..Case::default()
        };
        let run = run(&case);
        assert!(run.received == run.sent && run.order.len() >= 16, "{:?}", run.order);
        run.order
    };
    let changes = |order: &[usize]| order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let whole = order(&[]);
    assert_eq!(changes(&whole), 1, "{whole:?}");
    let turns = order(&[("cwnd_limited", Value::Boolean(false)), ("segments", Value::Integer(1))]);
    assert_eq!(changes(&turns), turns.len() - 1, "{turns:?}");
}

/// If all data fits into the window of the fast path, nothing leaves on the slow path.
#[test]
fn lowest_rtt_prefers_the_fast_path() {
    let few = run(&Case { bytes: 9_000, ..Case::default() });
    assert!(few.received == few.sent && few.order.iter().all(|path| *path == 0), "{:?}", few.order);
    let many = run(&Case { bytes: 20_000_000, ..Case::default() });
    assert!(many.received == many.sent);
    let [fast, slow] = [0, 1].map(|path| many.progress[path].sent as f64);
    assert!((1.5..3.0).contains(&(fast / slow)), "20 Mbit/s and 10: {fast} and {slow} bytes");
    let rate = 160.0 / many.duration.as_secs_f64();
    assert!(rate > 24.0, "{rate} of 30 Mbit/s");
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let lossy = Path { lost: 10, jitter: 3 * MS, ..FAST };
    let [a, b] = [0, 1].map(|_| run(&Case { paths: &[lossy, SLOW], ..Case::default() }));
    assert!(a.received == a.sent && a.trace == b.trace);
}

/// noq waits for the acknowledgements of both paths on the lowest one.
#[test]
fn a_path_that_fails_holds_nothing_up_for_long_and_is_opened_anew() {
    for dead in [0, 1] {
        for scheduler in ["lowest-rtt", "round-robin", "blest"] {
            let mut paths = [Path { megabits: 10.0, ..FAST }, SLOW];
            paths[dead].outage = Some([Duration::from_secs(1), Duration::from_secs(3)]);
            let run = run(&Case {
                scheduler,
                paths: &paths,
                bytes: 8_000_000,
                linger: 3_000 * MS,
                ..Case::default()
            });
            assert!(
                run.received == run.sent,
                "{scheduler}, path {dead}: {} bytes arrived",
                run.received.len()
            );
            assert!(run.gap < 1_000 * MS, "{scheduler}, path {dead}: {:?}", run.gap);
            assert!(run.progress[dead].opened >= 2, "{scheduler}: {:?}", run.progress);
        }
    }
}

#[test]
fn the_handshake_is_tried_from_every_address() {
    let dead = Path { outage: Some([Duration::ZERO, Duration::from_secs(60)]), ..FAST };
    let run = run(&Case { paths: &[dead, SLOW], ..Case::default() });
    assert!(run.received == run.sent);
    assert_eq!((run.progress[0].opened, run.progress[1].opened), (0, 1));
}

#[test]
fn a_peer_without_multipath_gets_it_over_one_path() {
    let run = run(&Case { multipath: false, ..Case::default() });
    assert!(run.received == run.sent);
    let trouble = run.progress[1].trouble.as_deref();
    assert_eq!((run.progress[1].opened, trouble), (0, Some("the other end has no multipath")));
}

/// Control frames for the peer, such as new flow control credit, do not wait for a scheduling
/// decision.
#[test]
fn data_goes_both_ways_through_small_windows() {
    let run = run(&Case { echoes: true, window: 50_000, bytes: 3_000_000, ..Case::default() });
    assert!(run.received == run.sent && run.back == run.sent);
    assert!(run.duration < Duration::from_secs(30), "{:?}", run.duration);
}

#[test]
fn losses_are_mended_by_quic() {
    let lossy = Path { lost: 20, ..FAST };
    let run = run(&Case {
        scheduler: "round-robin",
        paths: &[lossy, Path { lost: 20, ..SLOW }],
        ..Case::default()
    });
    assert!(run.received == run.sent);
}

/// A backup path carries only probes while another path works: one packet per second.
#[test]
fn a_backup_path_stands_by() {
    let terms = [Terms { backup: true, ..Terms::default() }, Terms::default()];
    let run = run(&Case { terms: &terms, ..Case::default() });
    let others = run.order.iter().filter(|path| **path == 0).count();
    assert!(run.received == run.sent && others as f64 <= run.duration.as_secs_f64(), "{:?}", run.progress);
    // The first path is noq's path 0. For the other one the peer hears at most its default status.
    assert_eq!(
        run.path_statuses.get(&PathId::ZERO),
        Some(&(PathStatus::Backup, 1)),
        "{:?}",
        run.path_statuses
    );
    assert!(
        run.path_statuses
            .get(&PathId::from(1u8))
            .is_none_or(|path_statuses| *path_statuses == (PathStatus::Available, 0)),
        "{:?}",
        run.path_statuses
    );
}

/// A backup path takes over as fast as an ordinary path, and stands by again afterwards. The peer
/// hears of each change.
#[test]
fn a_backup_path_stands_in() {
    let dead =
        Path { megabits: 10.0, outage: Some([Duration::from_secs(1), Duration::from_secs(3)]), ..FAST };
    for (paths, backup) in [([dead, SLOW], 1), ([SLOW, dead], 0)] {
        let terms = [0, 1].map(|path| Terms { backup: path == backup, ..Terms::default() });
        let run = run(&Case { terms: &terms, paths: &paths, bytes: 8_000_000, ..Case::default() });
        assert!(run.received == run.sent, "{} bytes arrived", run.received.len());
        assert!(run.gap < 1_000 * MS, "path {backup} stands by: {:?}", run.gap);
        assert!(run.progress[backup].sent > 1_000_000, "{:?}", run.progress);
        let path_statuses = run.path_statuses[&PathId::from(backup as u32)];
        assert!(path_statuses.0 == PathStatus::Backup && path_statuses.1 >= 3, "{:?}", run.path_statuses);
    }
}

/// The scheduler sees a path as backup if the peer asks for that.
#[test]
fn a_path_that_the_peer_sets_back_stands_by() {
    for scheduler in ["lowest-rtt", "round-robin"] {
        let run = run(&Case { scheduler, sets_back: Some(PathId::from(1u8)), ..Case::default() });
        let others = run.order.iter().filter(|path| **path == 1).count();
        assert!(
            run.received == run.sent && others as f64 <= run.duration.as_secs_f64(),
            "{:?}",
            run.progress
        );
    }
    let unset = run(&Case { scheduler: "round-robin", ..Case::default() });
    assert!(unset.progress[1].sent > 300_000, "{:?}", unset.progress);
}
