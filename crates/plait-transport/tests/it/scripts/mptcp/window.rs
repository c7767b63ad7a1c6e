//! The receive window shared by all subflows, and the send buffer.

use crate::common::{Fate, Pair, at, by_key, in_turns, mptcp_config};

const PAYLOAD: u64 = 1452;

#[test]
fn the_window_ends_relative_to_the_data_acknowledgement() {
    let mut config = mptcp_config();
    config.connection.receive_window = 12 * PAYLOAD;
    let mut pair = Pair::new(config, &[20, 200], in_turns());
    pair.sender.write_endlessly();
    pair.run_until(at(0));
    assert_eq!(pair.log.sent.len(), 12);
    // The slow subflow carries odd numbers: 1 arrives at 100 ms, so until then nothing beyond 12
    // may leave.
    pair.run_until(at(99));
    let highest = pair.log.sent.iter().map(|(_, sent)| sent.segment).max();
    assert_eq!(highest, Some(12), "0 was delivered: the window moved on by one segment");
    pair.run_until(at(10_000));
    assert!(pair.log.refused.is_empty());
    assert!(pair.log.most_buffered <= 12 * PAYLOAD);
}

#[test]
fn a_partial_segment_fills_only_what_it_takes() {
    let mut config = mptcp_config();
    config.connection.receive_window = 3_000;
    let mut pair = Pair::new(config, &[20], in_turns());
    for _ in 0..40 {
        pair.sender.write(1_000);
    }
    pair.sender.finish();
    pair.run_until(at(10_000));
    assert_eq!(pair.log.delivered_bytes, 40_000);
    assert!(pair.log.refused.is_empty());
}

#[test]
fn a_lost_segment_blocks_the_others_until_it_is_there() {
    let mut config = mptcp_config();
    config.connection.receive_window = 20 * PAYLOAD;
    let mut pair = Pair::new(config, &[20, 20], in_turns());
    pair.script(
        |judged| if judged.segment() == Some(0) && judged.now < at(300) { Fate::Drop } else { Fate::Pass },
    );
    pair.sender.write_endlessly();
    pair.run_until(at(250));
    assert!(pair.log.delivered.is_empty());
    assert_eq!(pair.sender.connection().window_left, 0);
    pair.run_until(at(5_000));
    assert!(pair.log.delivered.len() > 500);
}

#[test]
fn the_send_buffer_bounds_what_is_not_acknowledged() {
    let mut config = mptcp_config();
    config.connection.send_buffer = 15 * PAYLOAD;
    let mut pair = Pair::new(config, &[20, 200], by_key(|path| path.srtt.as_nanos()));
    pair.sender.write_endlessly();
    for millis in 0..1_000 {
        pair.run_until(at(millis));
        let sent = pair.log.sent.iter().map(|(_, sent)| sent.segment + 1).max().unwrap_or(0);
        assert!(sent <= pair.log.delivered.len() as u64 + 15);
    }
}
