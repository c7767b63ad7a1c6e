//! Multipath QUIC: numbers, losses, probes and paths (RFC 9000, RFC 9002).

use crate::common::{Fate, Pair, Way, at, by_key, in_turns, mpquic_config, ms};
use plait_sched::{PathId, PathState};
use plait_transport::SendReason;
use plait_transport::endpoint::PathChange;
use plait_transport::mpquic::Config;
use plait_transport::packet::Packet;
use plait_transport::packet::quic::{self, OneRtt};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

const SEGMENT: u64 = 1452;

fn quic(packet: &Packet) -> Option<&OneRtt> {
    if let Packet::Quic(quic::Packet::OneRtt(packet)) = packet { Some(packet) } else { None }
}

/// RFC 9000 §12.3: a number is used once in a number space, and each path has a space of its own.
#[test]
fn numbers_never_repeat() {
    let mut pair = Pair::new(mpquic_config(), &[20, 50], in_turns()).spaced(ms(1));
    pair.send_file(200 * SEGMENT);
    pair.receiver.write(50 * SEGMENT);
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let (numbers, mut packets) = (Rc::clone(&seen), 0);
    pair.script(move |judged| {
        if let Some(packet) = quic(judged.packet) {
            let new = numbers.borrow_mut().insert((judged.way as u8, judged.path, packet.number));
            assert!(new, "number {} of path {} again", packet.number, judged.path);
        }
        packets += 1;
        if packets % 13 == 0 { Fate::Drop } else { Fate::Pass }
    });
    pair.run_until(at(100_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 200));
    assert!(pair.sender.counters().retransmissions > 0);
}

/// RFC 9002 §6.1.1: three later packets, on the same path.
#[test]
fn three_later_packets_of_the_path_make_one_lost() {
    let mut pair = Pair::new(mpquic_config(), &[20], in_turns()).spaced(ms(1));
    pair.lose_once(&[4]);
    pair.send_file(10 * SEGMENT);
    pair.run_until(at(1_000));
    let again: Vec<_> =
        pair.log.sent.iter().filter(|(_, sent)| sent.reason == SendReason::Retransmission).collect();
    // The nth packet that is not lost leaves after n ms and arrives ten later; its acknowledgement
    // takes another eleven. Segment 7 is the seventh.
    assert_eq!(again.iter().map(|(now, sent)| (*now, sent.segment)).collect::<Vec<_>>(), [(at(28), 4)]);
    // The first four acknowledgements let the window grow from ten to fourteen; afterwards less
    // than half of the window was used.
    assert_eq!((pair.sender.counters().timeouts, pair.window(0)), (0, 7), "one reduction");
}

/// RFC 9002 §6.1.2: with fewer than three later packets, a packet is lost 9/8 of a round trip after
/// its transmission.
#[test]
fn a_packet_that_fewer_overtook_is_lost_by_time() {
    let mut pair = Pair::new(mpquic_config(), &[80], in_turns()).spaced(ms(1));
    pair.lose_once(&[8]);
    pair.send_file(10 * SEGMENT);
    pair.run_until(at(1_000));
    let again = pair.log.sent.iter().find(|(_, sent)| sent.reason == SendReason::Retransmission);
    let (now, sent) = again.expect("it is sent again");
    assert_eq!(sent.segment, 8);
    // All leave at once, and the acknowledgement of the last one comes after some 90 ms. The probe
    // timeout would be later.
    assert!((at(91)..at(110)).contains(now), "{now:?}");
    assert_eq!(pair.sender.counters().timeouts, 0);
}

/// RFC 9002 §6.2: a lost tail is probed. The window is reduced only when the probe's
/// acknowledgement shows a loss.
#[test]
fn a_tail_is_probed_and_probes_leave_the_window_alone() {
    let mut pair = Pair::new(mpquic_config(), &[40], in_turns());
    pair.send_file(4 * SEGMENT);
    pair.run_until(at(500));
    let before = pair.window(0);
    pair.script(|judged| if judged.way == Way::Forward { Fate::Drop } else { Fate::Pass });
    pair.send_file(2 * SEGMENT);
    // Smoothed round-trip time 40 ms, variation below 20 ms, and 25 ms of delay: the timer expires
    // before 150 ms.
    pair.run_for(150);
    let counters = pair.sender.counters();
    assert_eq!((counters.timeouts, counters.tail_probes, pair.window(0)), (1, 2, before));
    pair.script(|_| Fate::Pass);
    pair.run_for(2_000);
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 6));
}

/// RFC 9002 §5.3: the peer's delay of an acknowledgement is no part of the round-trip time.
#[test]
fn the_delay_of_acknowledgements_is_taken_off() {
    let delayed = Config { ack_every: 2, ..mpquic_config() };
    let mut pair = Pair::new(delayed, &[40], in_turns());
    pair.send_file(2 * SEGMENT);
    pair.run_until(at(100));
    for _ in 0..40 {
        pair.sender.write(SEGMENT);
        pair.run_for(200);
    }
    assert_eq!(pair.path(0).srtt, ms(40), "each waited 25 ms");
}

/// The first path opens with the handshake, the other one is validated afterwards.
#[test]
fn paths_open_one_after_the_other() {
    let opening = Config { handshake: true, ..mpquic_config() };
    let mut pair = Pair::new(opening, &[30, 50], in_turns());
    pair.send_file(5 * SEGMENT);
    pair.run_until(at(29));
    assert!(pair.log.sent.is_empty());
    pair.run_until(at(30));
    assert_eq!(pair.path(0).state, PathState::Active);
    assert_eq!((pair.path(0).srtt, pair.path(1).state), (ms(30), PathState::Failed));
    pair.run_until(at(80));
    assert_eq!((pair.path(1).srtt, pair.path(1).state), (ms(50), PathState::Active));
    pair.run_until(at(200));
    assert_eq!(pair.log.delivered.len(), 5);
}

/// RFC 9000 §4.1: nothing leaves beyond the announced limit, not even a probe. If a new limit is
/// lost and no ack-eliciting packet is in flight, DATA_BLOCKED asks for it, and is repeated until
/// the answer arrives.
#[test]
fn a_limit_that_got_lost_is_asked_for() {
    let window = 10 * SEGMENT;
    let small = mpquic_config();
    let small = Config {
        connection: plait_transport::ConnectionConfig { receive_window: window, ..small.connection },
        ..small
    };
    let mut pair = Pair::new(small, &[40, 60], in_turns());
    pair.send_file(40 * SEGMENT);
    let (limit, asked) = (Rc::new(RefCell::new(window)), Rc::new(RefCell::new(0)));
    let (told, questions) = (Rc::clone(&limit), Rc::clone(&asked));
    pair.script(move |judged| {
        let Some(packet) = quic(judged.packet) else { return Fate::Pass };
        if let Some(stream) = packet.stream {
            assert!(stream.offset + u64::from(stream.data.bytes) <= *told.borrow(), "{stream:?}");
        }
        *questions.borrow_mut() += u32::from(packet.blocked.is_some());
        match packet.max_data {
            Some(_) if judged.now < at(20_000) => Fate::Drop,
            Some(more) => {
                let mut limit = told.borrow_mut();
                *limit = more.max(*limit);
                Fate::Pass
            }
            None => Fate::Pass,
        }
    });
    pair.run_until(at(19_900));
    assert_eq!(pair.log.delivered.len(), 10);
    assert!((2..20).contains(&*asked.borrow()), "it asks again, less and less often: {}", asked.borrow());
    pair.run_until(at(60_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 40));
}

/// Packets that open a path are repeated until they are answered.
#[test]
fn a_lost_handshake_is_repeated() {
    let opening = Config { handshake: true, ..mpquic_config() };
    let mut pair = Pair::new(opening, &[30, 50], in_turns());
    let mut packets = 0;
    pair.script(move |_| {
        packets += 1;
        if packets < 3 { Fate::Drop } else { Fate::Pass }
    });
    pair.send_file(5 * SEGMENT);
    pair.run_until(at(20_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 5));
}

/// A cut path takes no new data after some probes without answer. Its data is sent on other paths,
/// and the path is used again once it answers.
#[test]
fn a_dead_path_is_set_aside_and_comes_back() {
    let mut pair = Pair::new(mpquic_config(), &[20, 40], by_key(|path| u64::from(path.id.0))).spaced(ms(2));
    pair.send_file(400 * SEGMENT);
    pair.cut(0, at(100), at(3_000));
    pair.run_until(at(2_900));
    assert_eq!(pair.path(0).state, PathState::PotentiallyFailed);
    let delivered = pair.log.delivered.len();
    assert!(delivered > 100, "{delivered} by the other path");
    pair.run_until(at(60_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 400));
    assert_eq!(pair.path(0).state, PathState::Active);
}

/// The receiver's host knows that a link went down, and tells the sender over the other path. The
/// sender needs no probe timeout: after half a round trip the data leaves there. Answers that
/// were still in flight do not bring the path back, its own probe does.
#[test]
fn a_path_that_its_receiver_knows_to_be_gone_costs_no_timeout() {
    let mut pair = Pair::new(mpquic_config(), &[200, 40], by_key(|path| u64::from(path.id.0))).spaced(ms(2));
    pair.send_file(4_000 * SEGMENT);
    pair.cut(0, at(1_000), at(3_000));
    pair.run_until(at(1_000));
    let timeouts = pair.sender.counters().timeouts;
    pair.receiver.change_path(pair.now, &PathChange::Gone(PathId(0)), &mut ());
    pair.run_until(at(1_040));
    assert_eq!(pair.path(0).state, PathState::PotentiallyFailed);
    pair.run_until(at(1_200));
    assert_eq!(
        (pair.sender.counters().timeouts, pair.path(0).state),
        (timeouts, PathState::PotentiallyFailed)
    );
    let after = pair.log.delivered.iter().map(|delivered| delivered.0).filter(|&time| time >= at(1_000));
    let times: Vec<_> = after.collect();
    let longest = times.windows(2).map(|pair| pair[1].since(pair[0])).max();
    assert!(longest < Some(ms(100)), "{longest:?}: a probe timeout takes at least 200 ms");
    // The sender's own probes are far apart after two seconds.
    pair.run_until(at(3_050));
    pair.receiver.change_path(pair.now, &PathChange::Back(PathId(0)), &mut ());
    pair.run_until(at(3_500));
    assert_eq!(pair.path(0).state, PathState::Active);
    pair.run_until(at(60_000));
    assert_eq!((pair.error(), pair.log.delivered.len()), (None, 4_000));
}

/// A peer that never answers is considered unreachable.
#[test]
fn a_connection_without_any_answer_is_given_up() {
    for handshake in [false, true] {
        let mut pair = Pair::new(Config { handshake, ..mpquic_config() }, &[20, 40], in_turns());
        pair.script(|_| Fate::Drop);
        pair.send_file(5 * SEGMENT);
        pair.run_until(at(10_000_000));
        assert!(pair.error().is_some());
    }
}
