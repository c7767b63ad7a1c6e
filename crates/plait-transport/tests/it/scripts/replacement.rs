//! Replacement of the scheduler during a connection: no data is lost or duplicated, and the new
//! scheduler's needs are met.

use crate::common::{By, Fate, Pair, at, config, mpquic_config, mptcp_config, ms};
use plait_sched::{
    Builtin, Capabilities, Connection, Decision, Event, Interest, Path, PathId, SCHEDULERS, Scheduler, Time,
};
use plait_transport::WriteOptions;
use plait_transport::endpoint::Config;
use std::cell::RefCell;
use std::rc::Rc;

fn protocols() -> [Config; 3] {
    [config().into(), mpquic_config().into(), mptcp_config().into()]
}

fn builtin(name: &str) -> Builtin {
    Builtin::new(name, &[]).expect("it is built in")
}

/// A random generator without other state.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Initial decisions, the path for all later segments, and the received events.
struct Planned {
    plan: Vec<Decision>,
    then: Option<usize>,
    needs: Capabilities,
    heard: Rc<RefCell<Vec<Event>>>,
    interest: Interest,
}

impl Planned {
    fn new(plan: &[Decision]) -> Self {
        let plan = plan.iter().rev().copied().collect();
        Self { plan, then: None, needs: Capabilities::ALL, heard: Rc::default(), interest: Interest::NONE }
    }
}

/// Assigns all segments to the first path.
fn on_the_first() -> Planned {
    Planned { then: Some(0), ..Planned::new(&[]) }
}

impl Scheduler for Planned {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.plan.pop().unwrap_or_else(|| match self.then {
            Some(path) if paths[path].is_open() && connection.sendable() > 0 => assign(path as u8, 1),
            _ => Decision::WAIT,
        })
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.heard.borrow_mut().push(*event);
    }

    fn needs(&self) -> Capabilities {
        self.needs
    }

    fn interest(&self) -> Interest {
        self.interest
    }
}

const fn assign(path: u8, segments: u32) -> Decision {
    Decision::Assign { path: PathId(path), segments }
}

#[test]
fn what_was_assigned_ahead_goes_where_the_new_one_says() {
    for protocol in protocols() {
        let ahead = Planned { interest: Interest::ALL, ..Planned::new(&[assign(0, 40), assign(1, 50)]) };
        let mut pair = Pair::new(protocol.clone(), &[20, 20], ahead);
        pair.send_file(100 * 1400);
        pair.run_until(at(1));
        let left = pair.log.sent.len();
        assert!(left < 60, "{protocol:?}: the rest waits behind windows");
        let old = pair.sender.replace_scheduler(Box::new(on_the_first())).expect("it is offered all");
        assert_eq!(old.interest(), Interest::ALL, "{protocol:?}: the old one is handed out");
        assert!(pair.sender.paths().iter().all(|path| path.queued == 0), "{protocol:?}");
        pair.run_until(at(20_000));
        assert_eq!(pair.error(), None);
        assert!(pair.sender.is_drained(), "{protocol:?}");
        let later = pair.log.sent[left..].iter().filter(|(_, sent)| sent.path == PathId(1)).count();
        assert_eq!(later, 0, "{protocol:?}: nothing more on the second path");
        assert_eq!(pair.log.delivered_bytes, 100 * 1400, "{protocol:?}");
    }
}

#[test]
fn limits_end_with_who_wanted_them() {
    for protocol in protocols() {
        let limit = Decision::Limit { path: PathId(0), in_flight: 1 };
        let mut pair =
            Pair::new(protocol.clone(), &[20, 20], Planned::new(&[assign(1, 60), assign(0, 3), limit]));
        pair.send_file(100 * 1400);
        pair.run_until(at(1));
        assert_eq!(pair.path(0).limit, 1);
        pair.sender.replace_scheduler(Box::new(on_the_first())).expect("it is offered all");
        assert_eq!(pair.path(0).limit, u32::MAX, "{protocol:?}");
        pair.run_until(at(20_000));
        assert_eq!(pair.error(), None);
        assert!(pair.sender.is_drained(), "{protocol:?}");
    }
}

#[test]
fn the_new_one_hears_and_sees_what_it_asked_for() {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let watcher = |seen: &Rc<RefCell<Vec<(bool, bool)>>>, needs| {
        let seen = Rc::clone(seen);
        Needy {
            needs,
            decide: By(move |_, connection: &Connection, paths: &[Path]| {
                let missing = paths.iter().any(|path| path.uncarried.is_some());
                seen.borrow_mut().push((connection.message.is_some(), missing));
                match paths.iter().find(|path| path.is_open()) {
                    Some(path) if connection.sendable() > 0 => {
                        Decision::Assign { path: path.id, segments: 1 }
                    }
                    _ => Decision::WAIT,
                }
            }),
        }
    };
    let mut pair = Pair::new(mpquic_config(), &[20, 20], watcher(&seen, Capabilities::NONE));
    pair.send_file(400 * 1400);
    pair.run_until(at(50));
    assert!(seen.borrow().iter().all(|seen| *seen == (false, false)));
    seen.borrow_mut().clear();
    let needs = Capabilities { messages: true, uncarried: true, ..Capabilities::NONE };
    pair.sender.replace_scheduler(Box::new(watcher(&seen, needs))).expect("it is offered that");
    pair.run_for(1);
    pair.run_for(50);
    assert!(seen.borrow().contains(&(true, true)));
    seen.borrow_mut().clear();
    pair.sender.replace_scheduler(Box::new(watcher(&seen, Capabilities::NONE))).expect("it needs nothing");
    pair.run_until(at(5_000));
    assert!(seen.borrow().iter().all(|seen| *seen == (false, false)));
    assert!(pair.sender.is_drained());
}

#[test]
fn events_go_to_who_decides() {
    let planned = Planned::new(&[assign(0, 4)]);
    let heard = Rc::clone(&planned.heard);
    let mut pair = Pair::new(mpquic_config(), &[20], planned);
    pair.send_file(20 * 1400);
    pair.run_until(at(1));
    let listener = Planned { interest: Interest::ALL, ..on_the_first() };
    let listened = Rc::clone(&listener.heard);
    pair.sender.replace_scheduler(Box::new(listener)).expect("it is offered all");
    pair.run_until(at(1_000));
    assert!(heard.borrow().is_empty());
    let acked = |event: &Event| match event {
        Event::Acked { segments, .. } => *segments,
        _ => 0,
    };
    assert_eq!(listened.borrow().iter().map(acked).sum::<u32>(), 20, "also what left before");
}

#[test]
fn streams_go_in_the_order_that_the_new_one_wants() {
    let needs = Capabilities { shortest_first: true, messages: true, ..Capabilities::NONE };
    let shortest = Planned { needs, ..on_the_first() };
    let plain = Planned { needs: Capabilities::NONE, ..Planned::new(&[assign(0, 1)]) };
    let mut pair = Pair::new(mpquic_config(), &[20], plain);
    let full = u64::from(pair.path(0).mss);
    for (stream, segments) in [(1, 6), (2, 2)] {
        let options = WriteOptions { stream, ..WriteOptions::default() };
        pair.sender.write_message(segments * full, &options);
    }
    pair.run_until(at(1));
    pair.sender.replace_scheduler(Box::new(shortest)).expect("it is offered that");
    let next = pair.sender.connection().message.expect("there are two");
    assert_eq!((next.stream, next.segments_left), (2, 2), "the first stream has five left");
}

/// A scheduler with these needs only.
struct Needy<S> {
    needs: Capabilities,
    decide: S,
}

impl<S: Scheduler> Scheduler for Needy<S> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.decide.decide(now, connection, paths)
    }

    fn needs(&self) -> Capabilities {
        self.needs
    }
}

/// The names of all schedulers, with and without options.
fn names() -> Vec<String> {
    let variants = ["", "+rp", "+bm", "+rp+bm"];
    let names = SCHEDULERS.iter().flat_map(|info| variants.map(|variant| format!("{}{variant}", info.name)));
    names.collect()
}

/// Replaces the scheduler of a connection repeatedly, while packets are lost and paths fail. Every
/// byte arrives, once and in order.
fn replaced_at_random(seed: u64, names: &[String]) {
    let mut random = Random(seed);
    for _ in 0..8 {
        random.below(2);
    }
    let protocol = protocols()[random.below(3) as usize].clone();
    let offered = protocol.capabilities();
    let pick = |random: &mut Random| loop {
        let name = &names[random.below(names.len() as u64) as usize];
        let scheduler = builtin(name);
        if scheduler.needs().missing_from(offered).is_none() {
            return scheduler;
        }
    };
    let round_trips: Vec<u64> = (0..1 + random.below(3)).map(|_| 2 + random.below(200)).collect();
    let mut used = vec![];
    let scheduler = pick(&mut random);
    used.push(scheduler.to_string());
    let mut pair = Pair::new(protocol, &round_trips, scheduler).spaced(ms(1) / (1 + random.below(8)));
    let (lost, cut) = (random.below(50), random.below(round_trips.len() as u64) as usize);
    let (from, to) = (random.below(1_000), 500 + random.below(2_000));
    let mut fates = Random(seed ^ 0x5eed);
    pair.script(move |judged| {
        let dark = judged.path == cut && (at(from)..at(to)).contains(&judged.now);
        if dark || fates.below(1_000) < lost { Fate::Drop } else { Fate::Pass }
    });
    let bytes = 50_000 + random.below(1_500_000);
    pair.send_file(bytes);
    while !pair.sender.is_drained() && pair.now < at(400_000) {
        pair.run_for(1 + random.below(120));
        if used.len() < 40 {
            let scheduler = pick(&mut random);
            used.push(scheduler.to_string());
            pair.sender.replace_scheduler(Box::new(scheduler)).expect("the protocol offers what it needs");
        }
    }
    let context = format!("seed {seed}, {}", used.join(" > "));
    assert_eq!(pair.error(), None, "{context}");
    assert!(pair.sender.is_drained(), "{context}: it never ends");
    assert_eq!(pair.receiver.reassembly().delivered_bytes(), bytes, "{context}");
}

#[test]
fn replaced_at_random_moments_every_byte_arrives_once() {
    let names = names();
    for seed in 0..400 {
        replaced_at_random(seed, &names);
    }
}

/// Each pair of schedulers, with the second one replacing the first during a transfer.
#[test]
fn every_scheduler_goes_on_from_every_other() {
    for before in SCHEDULERS {
        for after in SCHEDULERS {
            let mut pair = Pair::new(mpquic_config(), &[20, 120], builtin(before.name)).spaced(ms(1) / 2);
            pair.send_file(400_000);
            pair.lose_once(&[30, 31, 90]);
            pair.run_until(at(70));
            pair.sender.replace_scheduler(Box::new(builtin(after.name))).expect("everything is offered");
            pair.run_until(at(60_000));
            assert_eq!(pair.error(), None, "{} > {}", before.name, after.name);
            assert!(pair.sender.is_drained(), "{} > {}", before.name, after.name);
            assert_eq!(pair.receiver.reassembly().delivered_bytes(), 400_000);
        }
    }
}
