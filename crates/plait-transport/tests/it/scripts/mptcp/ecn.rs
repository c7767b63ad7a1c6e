//! Explicit congestion notification: ECN-capable packets, the echo of a mark, and the reaction to
//! it.

use super::linux::{PAYLOAD, linux};
use crate::common::{Fate, Judged, Pair, at, in_turns, mptcp_config, ms};
use plait_sched::{PathId, Time};
use plait_transport::mptcp::Config;
use plait_transport::packet::{Packet, SegmentEcn, tcp};
use std::cell::RefCell;
use std::rc::Rc;

/// Data packets (number on the subflow, headers) and acknowledgements (ECE), as seen at
/// transmission.
#[derive(Default)]
struct Seen {
    data: Vec<(Time, u64, SegmentEcn)>,
    echoes: Vec<(Time, bool)>,
}

impl Seen {
    fn reduced(&self) -> Vec<u64> {
        self.data.iter().filter(|(_, _, ecn)| ecn.reduced).map(|(_, number, _)| *number).collect()
    }
}

fn watched(config: Config, fate: impl Fn(&Judged<'_>) -> Fate + 'static) -> (Pair, Rc<RefCell<Seen>>) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let mut pair = Pair::new(config, &[20], in_turns()).spaced(ms(1));
    let log = Rc::clone(&seen);
    pair.script(move |judged| {
        match judged.packet {
            Packet::Tcp(tcp::Packet::Segment(segment)) => {
                log.borrow_mut().data.push((judged.now, segment.number, segment.ecn));
            }
            Packet::Tcp(tcp::Packet::Ack(ack)) => log.borrow_mut().echoes.push((judged.now, ack.congested)),
            _ => {}
        }
        fate(judged)
    });
    (pair, seen)
}

fn standard() -> Config {
    Config { ecn: true, ..mptcp_config() }
}

fn as_linux() -> Config {
    Config { ecn: true, ..linux() }
}

fn marks(number: u64) -> impl Fn(&Judged<'_>) -> Fate {
    move |judged| if judged.segment() == Some(number) { Fate::Mark } else { Fate::Pass }
}

#[test]
fn who_has_not_agreed_is_neither_capable_nor_marked() {
    for config in [mptcp_config(), linux()] {
        let (mut pair, seen) = watched(config, |_| Fate::Mark);
        pair.send_file(100 * PAYLOAD);
        pair.run_until(at(1_000));
        assert_eq!(pair.log.delivered.len(), 100);
        assert!(seen.borrow().data.iter().all(|(_, _, ecn)| *ecn == SegmentEcn::default()));
        assert!(seen.borrow().echoes.iter().all(|(_, echo)| !echo));
    }
}

/// RFC 3168 §6.1.3: from the mark on, every acknowledgement echoes it until the sender has
/// answered.
#[test]
fn a_mark_is_echoed_until_the_sender_answers() {
    for config in [standard(), as_linux()] {
        let (mut pair, seen) = watched(config, marks(12));
        pair.send_file(200 * PAYLOAD);
        pair.run_until(at(2_000));
        assert_eq!((pair.log.delivered.len(), pair.log.retransmitted().len()), (200, 0));
        let seen = seen.borrow();
        assert_eq!(seen.reduced().len(), 1, "one mark, one answer");
        let answer = seen.reduced()[0];
        let arrival =
            |number| pair.log.arrived.iter().find(|arrived| arrived.2 == number).expect("arrived").0;
        let (from, to) = (arrival(12), arrival(answer));
        for (time, echo) in &seen.echoes {
            assert_eq!(*echo, (from..to).contains(time), "{time}: marked {from}, answered {to}");
        }
    }
}

/// RFC 3168 §6.1.2: a mark halves the window like a loss; §6.1.5: retransmissions are not
/// ECN-capable.
#[test]
fn a_mark_halves_the_window_and_a_retransmission_is_not_capable() {
    let (mut pair, seen) = watched(standard(), |judged| match judged.segment() {
        Some(12) => Fate::Mark,
        Some(150) if judged.sent_before == 0 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.sender.write_endlessly();
    pair.run_until(at(29));
    let (before, _) = pair.sender.window(PathId(0));
    pair.run_until(at(60));
    let (window, threshold) = pair.sender.window(PathId(0));
    assert!(threshold <= before && window < before, "{before} became {window}, threshold {threshold}");
    pair.run_until(at(1_000));
    assert_eq!(pair.log.retransmitted(), [150]);
    let sent: Vec<_> = seen.borrow().data.iter().filter(|sent| sent.1 == 150).map(|sent| sent.2).collect();
    assert_eq!(sent.iter().map(|ecn| ecn.capable).collect::<Vec<_>>(), [true, false]);
}

/// Several marks within a round trip cause one reduction. Continuing marks cause one per round
/// trip.
#[test]
fn there_is_one_reduction_per_window_of_data() {
    for config in [standard(), as_linux()] {
        let (mut pair, seen) = watched(config, |judged| match judged.segment() {
            Some(20..=400) => Fate::Mark,
            _ => Fate::Pass,
        });
        pair.sender.write_endlessly();
        pair.run_until(at(1_500));
        let answers = seen.borrow().reduced();
        assert!(answers.len() > 4, "{answers:?}");
        // Two answers are at least a window apart, the window in flight at the first one: two
        // segments.
        let times: Vec<Time> = answers
            .iter()
            .filter_map(|number| seen.borrow().data.iter().find(|sent| sent.1 == *number).map(|sent| sent.0))
            .collect();
        assert!(times.windows(2).all(|pair| pair[1] >= pair[0] + ms(20)), "{times:?}");
        assert_eq!(pair.log.retransmitted(), []);
    }
}

#[test]
fn a_loss_in_a_window_that_was_reduced_by_a_mark_costs_nothing_more() {
    for config in [standard(), as_linux()] {
        let run = |both: bool| {
            let (mut pair, _) = watched(config.clone(), move |judged| match judged.segment() {
                Some(30) => Fate::Mark,
                Some(33) if both && judged.sent_before == 0 => Fate::Drop,
                _ => Fate::Pass,
            });
            pair.sender.write_endlessly();
            pair.run_until(at(130));
            assert_eq!(pair.log.retransmitted().len(), usize::from(both));
            pair.sender.window(PathId(0)).1
        };
        assert_eq!(run(false), run(true), "the threshold");
    }
}

/// tcp_enter_cwr: the window shrinks in proportion, so that packets keep leaving. It stays until
/// later data arrives.
#[test]
fn as_linux_packets_keep_leaving_while_the_window_shrinks() {
    let (mut pair, _) = watched(as_linux(), marks(60));
    pair.sender.write_endlessly();
    let marked = loop {
        pair.run_until(pair.now + ms(1));
        if let Some(arrived) = pair.log.arrived.iter().find(|arrived| arrived.2 == 60) {
            break arrived.0;
        }
    };
    // The sender learns of it 10 ms later.
    pair.run_until(marked + ms(10));
    let (before, _) = pair.sender.window(PathId(0));
    pair.run_until(marked + ms(15));
    let (during, threshold) = pair.sender.window(PathId(0));
    assert!(threshold < during && during < before, "{before} over {during} to {threshold}");
    pair.run_until(marked + ms(80));
    let (after, _) = pair.sender.window(PathId(0));
    assert!((threshold..threshold + 5 * PAYLOAD).contains(&after), "{after} after {threshold}");
}

#[test]
fn as_linux_the_first_mark_and_its_answer_are_acknowledged_at_once() {
    let (mut pair, seen) = watched(as_linux(), marks(91));
    pair.sender.write_endlessly();
    pair.run_until(at(400));
    let seen = seen.borrow();
    let answer = seen.reduced()[0];
    for number in [91, answer] {
        let arrival = pair.log.arrived.iter().find(|arrived| arrived.2 == number).expect("arrived").0;
        assert!(seen.echoes.iter().any(|(time, _)| *time == arrival), "{number} waits");
    }
}

/// tcp_ecn_clear_syn; RFC 3168 §6.1.1.1.
#[test]
fn a_subflow_whose_syn_is_lost_does_without() {
    for lost in [false, true] {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let mut pair = Pair::new(Config { handshake: true, ..as_linux() }, &[20], in_turns()).spaced(ms(1));
        let log = Rc::clone(&seen);
        let first = std::cell::Cell::new(lost);
        pair.script(move |judged| {
            if let Packet::Tcp(tcp::Packet::Segment(segment)) = judged.packet {
                log.borrow_mut().push(segment.ecn.capable);
            }
            if matches!(judged.packet, Packet::Tcp(tcp::Packet::Syn { .. })) && first.take() {
                Fate::Drop
            } else {
                Fate::Pass
            }
        });
        pair.send_file(50 * PAYLOAD);
        pair.run_until(at(5_000));
        assert_eq!(pair.log.delivered.len(), 50);
        assert!(seen.borrow().iter().all(|capable| *capable != lost));
    }
}
