//! Segments in flight that a path does not carry: the fact, and copies based on it.

use crate::common::{By, Fate, Pair, at, config, mpquic_config, mptcp_config};
use plait_sched::{Builtin, Capabilities, Connection, Decision, Path, Scheduler, Time, Value};
use plait_transport::endpoint::Config;
use std::cell::Cell;
use std::rc::Rc;

fn protocols() -> [Config; 3] {
    [config().into(), mpquic_config().into(), mptcp_config().into()]
}

fn when_idle() -> Builtin {
    Builtin::new("redundant", &[("mode", Value::Text("when-idle"))]).expect("a built-in scheduler")
}

#[test]
fn what_is_in_flight_is_copied_once_while_there_is_nothing_new() {
    for protocol in protocols() {
        let mut pair = Pair::new(protocol.clone(), &[200, 20], when_idle());
        let full = u64::from(pair.path(0).mss);
        pair.send_file(2 * full);
        pair.run_until(at(5_000));
        for segment in 0..2 {
            let paths: Vec<u8> = pair.log.sent_times(segment).iter().map(|&(_, path)| path).collect();
            assert_eq!(paths, [0, 1], "{segment} over {protocol:?}");
        }
        let counters = pair.sender.counters();
        assert_eq!((counters.reinjections, counters.retransmissions), (2, 0), "{protocol:?}");
        assert!(pair.sender.is_drained());
    }
}

#[test]
fn a_tail_that_is_lost_is_there_by_its_copy() {
    for protocol in protocols() {
        let mut pair = Pair::new(protocol.clone(), &[200, 20], when_idle());
        let full = u64::from(pair.path(0).mss);
        pair.send_file(2 * full);
        pair.script(|judged| match judged.segment() {
            Some(_) if judged.path == 0 => Fate::Drop,
            _ => Fate::Pass,
        });
        pair.run_until(at(400));
        assert_eq!(pair.log.delivered.len(), 2, "{protocol:?}");
    }
}

/// Copies the segments that a path lacks after every event; `decided` counts.
fn copying(decided: &Rc<Cell<u64>>) -> impl Scheduler + use<> {
    let decided = Rc::clone(decided);
    let mut last = Vec::new();
    By(move |_: Time, connection: &Connection, paths: &[Path]| {
        for path in paths {
            // Carriers are known only for the oldest segment: there both facts must agree.
            if let Some(oldest) = connection.oldest_unacked {
                let lacks = path.uncarried == Some(oldest.segment);
                let carries = oldest.carried.contains(path.id);
                assert!(lacks != carries || !lacks && path.queued > 0, "{oldest:?} {path:?}");
                assert!(path.uncarried.is_none_or(|segment| segment >= oldest.segment));
            }
            last.resize(paths.len(), None);
            if path.is_open() && path.uncarried.is_some() {
                assert_ne!(path.uncarried, last[path.id.index()], "a copy that waits is not lacking");
            }
            last[path.id.index()] = None;
        }
        if let Some((path, segment)) = paths
            .iter()
            .filter(|path| path.is_open() && path.id.0 != 0)
            .find_map(|path| path.uncarried.map(|segment| (path, segment)))
        {
            decided.set(decided.get() + 1);
            last[path.id.index()] = Some(segment);
            return Decision::Reinject { path: path.id, segment };
        }
        let open = plait_sched::usable(paths).find(|path| path.is_open());
        match open {
            Some(path) if connection.sendable() > 0 => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    })
}

#[test]
fn what_a_path_lacks_and_what_the_oldest_is_carried_by_agree() {
    for protocol in protocols() {
        for every in [0, 7, 13] {
            let decided = Rc::default();
            let mut pair = Pair::new(protocol.clone(), &[30, 20, 50], copying(&decided));
            pair.send_file(600_000);
            let mut packets = 0;
            pair.script(move |judged| {
                packets += u64::from(judged.segment().is_some());
                let lost = every > 0 && judged.segment().is_some() && packets % every == 0;
                if lost && judged.now < at(3_000) { Fate::Drop } else { Fate::Pass }
            });
            pair.run_until(at(60_000));
            assert!(pair.sender.is_drained(), "{protocol:?}, every {every}");
            let sent = pair.sender.counters().reinjections;
            assert!(sent > 50 && sent <= decided.get(), "{sent} of {}", decided.get());
        }
    }
}

/// A scheduler that does not declare this need does not see the fact.
#[test]
fn others_are_told_nothing() {
    struct Silent;
    impl Scheduler for Silent {
        fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
            assert!(paths.iter().all(|path| path.uncarried.is_none()));
            if connection.sendable() > 0 && paths[0].is_open() {
                return Decision::Assign { path: paths[0].id, segments: 1 };
            }
            Decision::WAIT
        }

        fn needs(&self) -> Capabilities {
            Capabilities { reinject: true, ..Capabilities::NONE }
        }
    }
    let mut pair = Pair::new(config(), &[20, 60], Silent);
    pair.send_file(20_000);
    pair.run_until(at(5_000));
    assert!(pair.sender.is_drained());
}
