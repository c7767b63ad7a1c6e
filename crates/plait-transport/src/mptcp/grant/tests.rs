use super::*;

#[test]
fn less_than_half_is_rounded_down_and_less_than_a_sixteenth_is_nothing() {
    let mut grants = Grants::new(458_904, 1_528, 1, true);
    grants.open(0);
    // A full segment: 162 parts of 256 of the memory are payload, which the next read takes
    // into account.
    grants.note_segment(0, 1_452, 2_284, true);
    grants.note_read(Time::ZERO + Duration::from_secs(1));
    grants.subflows[0].threshold = 290_400;
    let window = |used| grants.select(0, used).window;
    // 358,904 · 162 / 256 = 227,118, rounded up to a multiple of 8. 218,904 bytes are less than
    // half, 17,904 less than a 16th.
    assert_eq!(window(100_000), 227_120);
    assert_eq!(window(240_000), 138_520);
    assert_eq!(window(441_000), 0);
}

#[test]
fn a_short_segment_in_order_opens_the_window_by_two_full_ones() {
    let mut grants = Grants::new(458_904, 1_528, 1, true);
    grants.open(0);
    let mut open = |bytes, in_order| {
        let before = grants.subflows[0].threshold;
        let opens = grants.note_segment(0, bytes, bytes + 832, in_order);
        (opens, grants.subflows[0].threshold - before)
    };
    open(1_452, true);
    // Out of order, 1,032 bytes of memory are too many for 200 bytes of payload.
    assert_eq!(open(200, true), (true, 2 * 1_476));
    assert_eq!(open(200, false), (false, 0));
    // A segment below 128 bytes does not count.
    assert_eq!(open(127, true), (false, 0));
}

#[test]
fn the_buffer_of_full_packets_has_the_window_that_was_asked_for() {
    assert_eq!(receive_memory(290_400, 1_452), 458_904);
    // The smallest and the largest buffer that Linux accepts.
    assert_eq!(receive_memory(1, 1_452), 4_096);
    assert_eq!(receive_memory(u64::MAX / 2, 1_452), (1 << 30) - 1);
}
