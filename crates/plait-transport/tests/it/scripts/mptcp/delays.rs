//! One-way delays from timestamps: the delivery-delay scheduler's input.

use crate::common::Judged;
use crate::common::{Fate, Pair, at, in_turns, mptcp_config, ms};
use plait_sched::PathId;
use plait_transport::packet::{Packet, tcp};

fn is_ack(judged: &Judged<'_>) -> bool {
    matches!(judged.packet, Packet::Tcp(tcp::Packet::Ack(_)))
}

#[test]
fn the_estimate_is_the_forward_delay_within_a_tick() {
    let mut pair = Pair::new(mptcp_config(), &[20, 20], in_turns());
    // Pipes of 10 ms in each direction; acknowledgements of the second path take 70 ms longer.
    pair.script(|judged| if judged.path == 1 && is_ack(judged) { Fate::Late(ms(70)) } else { Fate::Pass });
    for block in 0..200 {
        pair.run_until(at(block * 7));
        pair.sender.write(2_000);
    }
    for (path, backward) in [(0, 10.0), (1, 80.0)] {
        let delays = pair.sender.delays(PathId(path)).expect("measured");
        let millis = |nanos: i64| nanos as f64 / 1e6;
        assert!((millis(delays.forward) - 10.0).abs() <= 1.0, "{delays:?}");
        assert!((millis(delays.backward) - backward).abs() <= 1.0, "{delays:?}");
        assert_eq!(pair.path(usize::from(path)).forward_delay, Some(delays.forward));
    }
}

#[test]
fn clocks_that_differ_shift_all_paths_alike() {
    let mut config = mptcp_config();
    config.clock.receiver_offset = -3_600_000_000_000;
    let mut pair = Pair::new(config, &[20, 60], in_turns());
    pair.send_file(30 * 1452);
    pair.run_until(at(1_000));
    let forward = [0, 1].map(|path| pair.path(path).forward_delay.expect("measured"));
    assert_eq!(forward[1] - forward[0], 20_000_000);
    assert!(forward[0] < 0);
}

#[test]
fn losses_do_not_spoil_the_estimate() {
    let mut pair = Pair::new(mptcp_config(), &[20], in_turns());
    pair.script(|judged| match judged.segment() {
        Some(segment) if segment % 9 == 4 && judged.sent_before == 0 => Fate::Drop,
        _ => Fate::Pass,
    });
    pair.send_file(300 * 1452);
    pair.run_until(at(20_000));
    assert_eq!(pair.log.delivered.len(), 300);
    let forward = pair.path(0).forward_delay.expect("measured");
    assert!(
        (forward - 10_000_000).abs() <= 1_000_000,
        "{forward}: acknowledgements at a gap echo old timestamps"
    );
}
