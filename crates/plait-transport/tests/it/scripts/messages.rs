//! Messages: their ends, the facts that schedulers see, and the order of streams.

use crate::common::{By, Pair, at, config, mpquic_config, mptcp_config};
use plait_sched::{Builtin, Capabilities, Connection, Decision, Message, Path, PathId, Scheduler, Time};
use plait_transport::WriteOptions;
use plait_transport::endpoint::Config;
use std::cell::RefCell;
use std::rc::Rc;

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

const NEEDS: Capabilities = Capabilities { messages: true, ..Capabilities::NONE };

fn protocols() -> [Config; 3] {
    [config().into(), mpquic_config().into(), mptcp_config().into()]
}

/// The payload of a full segment.
fn full(pair: &Pair) -> u64 {
    u64::from(pair.path(0).mss)
}

fn on(stream: u32, priority: u8) -> WriteOptions {
    WriteOptions { stream, priority, deadline: None }
}

type Seen = Rc<RefCell<Vec<(Message, u32, Option<Time>)>>>;

/// Assigns single segments to any open path, and records the facts about messages.
fn watching(seen: &Seen, needs: Capabilities) -> impl Scheduler + use<> {
    let seen = Rc::clone(seen);
    let decide = move |_, connection: &Connection, paths: &[Path]| {
        let open = paths.iter().find(|path| path.is_open());
        match (open, connection.message) {
            (Some(path), Some(message)) if connection.sendable() > 0 => {
                seen.borrow_mut().push((message, connection.streams, connection.due));
                Decision::Assign { path: path.id, segments: 1 }
            }
            _ => Decision::WAIT,
        }
    };
    Needy { needs, decide: By(decide) }
}

#[test]
fn who_needs_messages_sees_what_is_left_of_them() {
    for protocol in protocols() {
        let seen = Seen::default();
        let mut pair = Pair::new(protocol.clone(), &[20], watching(&seen, NEEDS));
        let full = full(&pair);
        let options = WriteOptions { deadline: Some(at(300)), priority: 3, stream: 0 };
        assert_eq!(pair.sender.write_message(2 * full + 1, &options), Some(0));
        assert_eq!(pair.sender.write_message(0, &options), None, "nothing is no message");
        assert_eq!(pair.sender.write_message(full, &WriteOptions::default()), Some(1));
        pair.run_until(at(2_000));
        let of = |number, segments_left, priority, deadline| Message {
            number,
            stream: 0,
            segments_left,
            priority,
            deadline,
        };
        let due = Some(at(300));
        let expected = [
            (of(0, 3, 3, due), 1, due),
            (of(0, 2, 3, due), 1, due),
            (of(0, 1, 3, due), 1, due),
            (of(1, 1, 0, None), 1, due),
        ];
        assert_eq!(*seen.borrow(), expected, "{protocol:?}");
        assert_eq!(pair.sender.connection().due, None, "all is acknowledged");
    }
}

#[test]
fn others_see_nothing_of_them() {
    let mut pair = Pair::new(config(), &[20], Builtin::new("lowest-rtt", &[]).expect("a scheduler"));
    pair.sender.write_message(9_000, &WriteOptions { deadline: Some(at(9)), ..on(0, 1) });
    let connection = pair.sender.connection();
    assert_eq!((connection.message, connection.streams, connection.due), (None, 0, None));
}

#[test]
fn ends_are_known_until_they_are_acknowledged() {
    for protocol in protocols() {
        let seen = Seen::default();
        let mut pair = Pair::new(protocol.clone(), &[20], watching(&seen, NEEDS));
        let full = full(&pair);
        pair.sender.write_message(full + 7, &on(0, 0));
        pair.sender.write_message(5, &on(0, 0));
        while pair.receiver.reassembly().delivered_bytes() < full + 12 {
            pair.run_for(1);
        }
        let ended = |from, to| pair.sender.messages_ended(from, to).collect::<Vec<_>>();
        assert_eq!(ended(0, full + 6), [0; 0], "{protocol:?}");
        assert_eq!(ended(0, full + 7), [0]);
        assert_eq!(ended(full + 7, full + 12), [1]);
        pair.run_until(at(2_000));
        assert_eq!(pair.receiver.reassembly().delivered_bytes(), full + 12);
        assert_eq!(pair.sender.messages_ended(0, full + 12).count(), 0);
    }
}

/// Returns the first sent segment of each message, by the message's number, in the order of
/// sending.
fn order(protocol: Config, shortest: bool, written: &[(u64, u32, u8)]) -> Vec<u64> {
    let seen = Seen::default();
    let needs = Capabilities { shortest_first: shortest, ..NEEDS };
    let mut pair = Pair::new(protocol, &[20], watching(&seen, needs));
    let full = full(&pair);
    for &(segments, stream, priority) in written {
        pair.sender.write_message(segments * full, &on(stream, priority));
    }
    pair.run_until(at(3_000));
    let total: u64 = written.iter().map(|(segments, ..)| segments * full).sum();
    assert_eq!(pair.receiver.reassembly().delivered_bytes(), total);
    let mut order: Vec<u64> = seen.borrow().iter().map(|(message, ..)| message.number).collect();
    order.dedup();
    order
}

#[test]
fn streams_go_by_priority_where_there_are_streams() {
    let written = [(3, 0, 0), (2, 1, 5), (1, 1, 9), (2, 2, 7), (1, 3, 0)];
    let [sctp, quic, mptcp] = protocols();
    // The third message is of a stream whose first message must go before it.
    assert_eq!(order(sctp, false, &written), [3, 1, 2, 0, 4]);
    assert_eq!(order(quic, false, &written), [3, 1, 2, 0, 4]);
    assert_eq!(order(mptcp, false, &written), [0, 1, 2, 3, 4], "there is one stream");
}

#[test]
fn the_shortest_goes_first_for_a_scheduler_that_wants_it() {
    let written = [(3, 0, 0), (2, 1, 0), (1, 2, 0), (9, 3, 1)];
    let [sctp, quic, mptcp] = protocols();
    assert_eq!(order(sctp, true, &written), [3, 2, 1, 0]);
    assert_eq!(order(quic.clone(), true, &written), [3, 2, 1, 0]);
    assert_eq!(order(quic, false, &written), [3, 0, 1, 2]);
    assert_eq!(order(mptcp, true, &written), [0, 1, 2, 3]);
}

/// Alternates between two streams by deferring after each segment.
fn in_turns() -> impl Scheduler {
    let mut served = false;
    let decide = move |_, connection: &Connection, paths: &[Path]| {
        if std::mem::take(&mut served) {
            return Decision::Defer;
        }
        match paths.iter().find(|path| path.is_open()) {
            Some(path) if connection.sendable() > 0 => {
                served = true;
                Decision::Assign { path: path.id, segments: 1 }
            }
            _ => Decision::WAIT,
        }
    };
    Needy { needs: NEEDS, decide: By(decide) }
}

#[test]
fn a_deferred_stream_lets_the_others_go_first() {
    for (protocol, ends) in [(Config::from(config()), [2, 1, 0]), (mptcp_config().into(), [0, 1, 2])] {
        let mut pair = Pair::new(protocol.clone(), &[20], in_turns());
        let full = full(&pair);
        for (segments, stream) in [(3, 0), (2, 1), (1, 2)] {
            pair.sender.write_message(segments * full, &on(stream, 0));
        }
        let ended = Rc::new(RefCell::new(Vec::new()));
        for _ in 0..200 {
            pair.run_for(1);
            for number in pair.sender.messages_ended(0, 6 * full) {
                if !ended.borrow().contains(&number) {
                    ended.borrow_mut().push(number);
                }
            }
        }
        assert_eq!(*ended.borrow(), ends, "{protocol:?}");
        assert_eq!(pair.receiver.reassembly().delivered_bytes(), 6 * full);
    }
}

#[test]
fn deferring_must_be_declared() {
    let defers = By(|_, _: &Connection, _: &[Path]| Decision::Defer);
    let mut pair = Pair::new(config(), &[20], Needy { needs: Capabilities::NONE, decide: defers });
    pair.send_file(9_000);
    pair.run_until(at(1));
    let error = pair.error().expect("it broke its contract").to_string();
    assert!(error.contains("messages"), "{error}");
}

#[test]
fn what_is_taken_back_from_a_path_is_of_its_message() {
    let seen = Seen::default();
    let inner = Rc::clone(&seen);
    let mut step = 0;
    let decide = move |_, connection: &Connection, _: &[Path]| {
        step += 1;
        match step {
            1 => Decision::Assign { path: PathId(0), segments: 5 },
            2 => Decision::Assign { path: PathId(1), segments: 1 },
            3 => Decision::Recall { path: PathId(0) },
            _ => {
                inner
                    .borrow_mut()
                    .extend(connection.message.map(|message| (message, connection.streams, None)));
                match step {
                    4 => Decision::Assign { path: PathId(1), segments: 3 },
                    _ => Decision::Wait { until: Some(at(10_000)) },
                }
            }
        }
    };
    let needs = Capabilities { assign_ahead: true, recall: true, ..NEEDS };
    let mut pair = Pair::new(config(), &[20, 20], Needy { needs, decide: By(decide) });
    pair.sender.write_message(3 * 1452, &on(0, 0));
    pair.sender.write_message(4 * 1452, &WriteOptions { deadline: Some(at(77)), ..on(4, 0) });
    pair.run_until(at(1));
    // Of the second message, the third segment was sent, two were taken back, and one was never
    // assigned.
    let facts: Vec<_> =
        seen.borrow().iter().map(|(message, ..)| (message.number, message.segments_left)).collect();
    assert_eq!(facts, [(0, 3), (1, 3)]);
    let (message, streams, _) = seen.borrow()[1];
    assert_eq!((message.stream, message.deadline, streams), (4, Some(at(77)), 1));
}
