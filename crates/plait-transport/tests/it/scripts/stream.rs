//! The application's writes, and their delivery.

use crate::common::{Pair, at, config, in_turns};

#[test]
fn a_file_ends_with_a_partial_segment() {
    let mut pair = Pair::new(config(), &[20, 30], in_turns());
    pair.send_file(10 * 1452 + 7);
    pair.run_until(at(1_000));
    assert_eq!((pair.log.delivered.len(), pair.log.delivered_bytes), (11, 10 * 1452 + 7));
    assert_eq!(pair.log.sent.last().map(|(_, sent)| sent.bytes), Some(7));
    assert!(pair.sender.is_drained());
}

#[test]
fn each_write_is_segmented_by_itself() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.write(2_000);
    pair.sender.write(0);
    pair.sender.write(1);
    pair.run_until(at(100));
    let sizes: Vec<u32> = pair.log.sent.iter().map(|(_, sent)| sent.bytes).collect();
    assert_eq!(sizes, [1452, 548, 1]);
}

#[test]
fn an_endless_stream_follows_what_was_written_before() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    pair.sender.write(100);
    pair.sender.write_endlessly();
    pair.run_until(at(100));
    let sizes: Vec<u32> = pair.log.sent.iter().map(|(_, sent)| sent.bytes).collect();
    assert!(sizes[0] == 100 && sizes[1..].iter().all(|&bytes| bytes == 1452), "{sizes:?}");
}

#[test]
fn regular_writes_are_delivered_one_way_delay_later() {
    let mut pair = Pair::new(config(), &[20], in_turns());
    for block in 0..50 {
        pair.run_until(at(block * 7));
        pair.sender.write(1_000);
    }
    pair.run_until(at(1_000));
    for (block, (time, _)) in (0..).zip(&pair.log.delivered) {
        assert_eq!(*time, at(block * 7 + 10));
    }
    assert_eq!(pair.log.delivered.len(), 50);
}

#[test]
fn the_send_buffer_bounds_what_is_not_acknowledged() {
    let mut config = config();
    config.connection.send_buffer = 10 * 1452 + 1_000;
    let mut pair = Pair::new(config, &[20, 200], in_turns());
    pair.send_file(1_000_000);
    let mut most = 0;
    for millis in 0..6_000 {
        pair.run_until(at(millis));
        let sent = pair.log.sent.iter().map(|(_, sent)| sent.segment + 1).max().unwrap_or(0);
        let sender = &pair.sender;
        let acknowledged = (0..sent).find(|&segment| sender.is_outstanding(segment)).unwrap_or(sent);
        most = most.max(sent - acknowledged);
    }
    assert_eq!(most, 10);
    pair.run_until(at(100_000));
    assert_eq!(pair.log.delivered_bytes, 1_000_000);
}
