//! Accounting of windows: small segments, lost and waiting segments, independence of the
//! scheduler's declarations.

use crate::common::{By, Pair, at, config, in_turns, mptcp_config, segments};
use plait_sched::{Capabilities, Connection, Decision, Event, Path, Scheduler, Time};
use plait_transport::PathConfig;
use plait_transport::cmt_sctp::RetransmissionPolicy;
use plait_transport::endpoint::Config;

/// A scheduler with other declared needs.
struct Declaring<S>(S, Capabilities);

impl<S: Scheduler> Scheduler for Declaring<S> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.0.decide(now, connection, paths)
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        self.0.on_event(event, connection, paths);
    }

    fn needs(&self) -> Capabilities {
        self.1
    }
}

/// Returns time, segment and path of each transmission if blocks of `bytes` are written every 5 ms.
fn run(config: Config, needs: Capabilities, bytes: u64) -> Vec<(Time, u64, u8)> {
    let mut pair = Pair::new(config, &[50, 120], Declaring(in_turns(), needs));
    for block in 0..400 {
        pair.run_until(at(5 * block));
        pair.sender.write(bytes);
    }
    pair.run_until(at(20_000));
    assert!(pair.sender.is_drained());
    pair.log.sent.iter().map(|(time, sent)| (*time, sent.segment, sent.path.0)).collect()
}

/// Declared but unused capabilities have no effect.
#[test]
fn small_segments_count_the_same_whatever_a_scheduler_declares() {
    let ahead = Capabilities { assign_ahead: true, ..Capabilities::NONE };
    for bytes in [20, 700, 1_453, 4_000, 10_000] {
        assert_eq!(
            run(config().into(), Capabilities::NONE, bytes),
            run(config().into(), ahead, bytes),
            "{bytes}"
        );
        let mptcp = || mptcp_config().into();
        assert_eq!(run(mptcp(), Capabilities::NONE, bytes), run(mptcp(), ahead, bytes), "{bytes}");
    }
}

/// Windows count bytes (RFC 9260 §7.2, RFC 5681): a window of three or ten full segments admits
/// many small ones in one round trip.
#[test]
fn windows_hold_as_many_small_segments_as_their_bytes() {
    for (config, window) in [(Config::from(config()), 3 * 1468), (mptcp_config().into(), 10 * 1452)] {
        let mut pair = Pair::new(config, &[100], in_turns());
        for _ in 0..500 {
            pair.sender.write(100);
        }
        pair.run_until(at(50));
        let bytes: u64 = pair.log.sent.iter().map(|(_, sent)| u64::from(sent.bytes)).sum();
        let most: u64 = window / if pair.path(0).cwnd == 3 { 116 } else { 100 };
        let count = pair.log.sent.len() as u64;
        // SCTP may overshoot its window by one packet; TCP keeps space for a full segment.
        assert!((most.saturating_sub(15)..=most + 1).contains(&count), "{count} segments, {bytes} bytes");
        assert!(pair.path(0).in_flight <= pair.path(0).cwnd && pair.path(0).in_flight > 0);
    }
}

/// Linux' windows count packets of any size.
#[test]
fn windows_in_packets_hold_as_many_small_segments_as_full_ones() {
    let mut config = mptcp_config();
    config.connection.window_in_packets = true;
    let mut pair = Pair::new(config, &[100], in_turns());
    for _ in 0..500 {
        pair.sender.write(100);
    }
    pair.run_until(at(50));
    assert_eq!((pair.log.sent.len(), pair.path(0).in_flight, pair.path(0).room()), (10, 10, 0));
}

/// RFC 9260 §6.2.1 C: a lost segment takes no space of the receiver's window until its
/// retransmission.
#[test]
fn what_is_lost_leaves_the_receivers_window_until_it_is_sent_again() {
    let mut config = config();
    config.connection.receive_window = segments(10);
    config.connection.congestion.initial_window = segments(20);
    let mut pair = Pair::new(config, &[100], in_turns());
    pair.cut(0, at(0), at(500));
    pair.sender.write_endlessly();
    pair.run_until(at(900));
    assert_eq!((pair.path(0).in_flight, pair.sender.connection().window_left), (10, 0));
    let timeout = pair.sender.next_wakeup().unwrap();
    pair.run_until(timeout);
    let path = pair.path(0);
    assert_eq!((path.cwnd, path.in_flight, path.lost, path.room()), (1, 1, 9, 0));
    assert_eq!(pair.sender.connection().window_left, 9);
    pair.run_until(at(60_000));
    assert!(pair.log.delivered.len() > 1_000 && pair.log.refused.is_empty());
}

/// Eight segments of a window are lost at once. Their retransmissions fill the halved window, so no
/// new data may be put into the path's queue, where it would wait behind them.
#[test]
fn retransmissions_that_wait_leave_no_room_for_new_data() {
    let same = || {
        let mut config = config();
        config.retransmission_policy = RetransmissionPolicy::Same;
        config.connection.congestion.initial_window = segments(20);
        Config::from(config)
    };
    let mptcp = || {
        let mut config = mptcp_config();
        config.connection.congestion.initial_window = 20 * 1452;
        Config::from(config)
    };
    for config in [same(), mptcp()] {
        let paths = [PathConfig::default()];
        let stranded = std::rc::Rc::new(std::cell::Cell::new(0_u32));
        let seen = stranded.clone();
        let greedy = By(move |_, connection: &Connection, paths: &[Path]| {
            if paths[0].queued > 0 {
                seen.set(seen.get().max(paths[0].queued));
            }
            match u64::from(paths[0].room()).min(connection.sendable()) {
                0 => Decision::WAIT,
                room => Decision::Assign { path: paths[0].id, segments: room as u32 },
            }
        });
        let mut pair =
            Pair::with_paths(config, &[100], &paths, greedy).spaced(plait_sched::Duration::from_millis(1));
        pair.lose_once(&[2, 3, 4, 5, 6, 7, 8, 9]);
        pair.sender.write_endlessly();
        let mut most_lost = 0;
        for millis in 0..1_000 {
            pair.run_until(at(millis));
            most_lost = most_lost.max(pair.path(0).lost);
            assert_eq!(pair.path(0).queued, 0, "{millis} ms");
        }
        assert!(
            most_lost >= 4 && pair.log.delivered.len() > 100,
            "{most_lost}, {}",
            pair.log.delivered.len()
        );
    }
}
