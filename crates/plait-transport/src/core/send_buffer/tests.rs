use super::*;

const PACKETS: Packets = Packets { payload: 1000, overhead: 500 };

#[test]
fn one_that_is_woken_takes_less_than_a_third() {
    let mut buffer = filled(15_000, PACKETS);
    let written = buffer.written();
    buffer.resize(18_000);
    buffer.release(0);
    assert!(!buffer.write_on(0), "a sixth is free");
    assert_eq!(buffer.written(), written);
    buffer.wake(0);
    assert!(buffer.write_on(0));
    assert_eq!(buffer.written(), Some(12_000));
}

/// Returns a buffer filled with an endless message.
fn filled(size: u64, packets: Packets) -> SendBuffer {
    let mut buffer = SendBuffer::with_packets(size, packets);
    buffer.begin(u64::MAX, 0);
    while buffer.write_on(0) {}
    buffer
}

#[test]
fn payload_is_counted_to_the_byte() {
    let mut buffer = SendBuffer::of_payload(10_000);
    buffer.release(1);
    assert_eq!(buffer.left(4_000), 6_001);
    assert_eq!(SendBuffer::of_payload(u64::MAX).left(5), u64::MAX - 5);
}

#[test]
fn memory_is_filled_by_whole_packets_and_the_last_one_goes_beyond() {
    let buffer = filled(10_000, PACKETS);
    assert_eq!(buffer.left(0), 7_000, "the seventh packet begins at 9,000 bytes of memory");
}

#[test]
fn without_a_limit_writes_before_the_connection_is_open_are_told_apart() {
    let mut buffer = SendBuffer::of_fragments(u64::MAX);
    buffer.set_open(false);
    assert!(!buffer.begin(1_720, 0) && !buffer.begin(3_440, 0));
    assert_eq!((buffer.written(), buffer.segments_left(0, 1_424)), (Some(0), 0));
    buffer.set_open(true);
    assert!(buffer.write_on(0));
    assert_eq!((buffer.written(), buffer.segments_left(0, 1_424)), (Some(1_720), 2));
    assert!(!buffer.begin(u64::MAX, 1_720), "it waits for the second one");
    assert!(buffer.write_on(1_720));
    assert_eq!((buffer.written(), buffer.left(1_720)), (Some(3_440), 1_720));
    assert!(buffer.write_on(3_440));
    assert_eq!((buffer.written(), buffer.left(0)), (None, u64::MAX));
    assert!(!buffer.begin(u64::MAX, 3_440), "later ones are not");
}

#[test]
fn a_write_ends_with_its_message() {
    let mut buffer = SendBuffer::of_fragments(1 << 20);
    assert!(buffer.begin(50_000, 0));
    assert_eq!((buffer.left(0), buffer.has_all()), (50_000, true));
    // Of a long message, 64 KiB are handed over at once, from its beginning.
    assert!(buffer.begin(150_000, 0));
    assert_eq!((buffer.left(50_000), buffer.has_all()), (65_536, false));
    // A message behind it waits.
    assert!(!buffer.begin(150_100, 0));
    assert!(buffer.write_on(0));
    assert_eq!(buffer.left(0), 150_000);
    assert!(buffer.write_on(0));
    assert_eq!((buffer.left(0), buffer.has_all()), (150_100, true));
    assert!(!buffer.write_on(0));
}

#[test]
fn small_messages_fill_the_memory_and_not_a_packet() {
    let mut buffer = SendBuffer::with_packets(10_000, PACKETS);
    for end in (1..=100).map(|count| count * 300) {
        buffer.begin(end, 0);
        while buffer.write_on(0) {}
    }
    // 6,500 bytes take 10,000 of memory: the message that begins before this offset is the
    // last.
    assert_eq!(buffer.left(0), 6_600);
    assert!(buffer.blocks());
}

#[test]
fn nothing_is_written_before_the_connection_is_open() {
    let mut buffer = SendBuffer::with_packets(10_000, PACKETS);
    buffer.set_open(false);
    assert!(!buffer.begin(100, 0));
    assert_eq!((buffer.left(0), buffer.blocks()), (0, false));
    buffer.set_open(true);
    assert!(buffer.write_on(0));
    assert_eq!(buffer.left(0), 100);
}

#[test]
fn a_writer_that_waits_goes_on_when_a_third_is_free() {
    let mut buffer = filled(10_000, PACKETS);
    buffer.release(2_000);
    assert!(!buffer.write_on(0), "7,500 bytes are taken");
    buffer.release(3_000);
    assert!(buffer.write_on(0), "6,000 bytes were taken");
    assert_eq!(buffer.left(7_000), 3_000);
}

#[test]
fn a_writer_that_does_not_wait_has_all_that_is_free() {
    let mut buffer = SendBuffer::with_packets(10_000, PACKETS);
    buffer.begin(5_000, 0);
    assert!(!buffer.blocks());
    buffer.release(1_000);
    buffer.begin(u64::MAX, 0);
    while buffer.write_on(0) {}
    assert_eq!(buffer.left(7_000), 1_000);
}

#[test]
fn what_was_written_is_sent_to_its_end() {
    let buffer = filled(10_000, PACKETS);
    assert_eq!((buffer.segments_left(0, 1_500), buffer.segments_left(6_000, 1_500)), (5, 1));
    assert_eq!(SendBuffer::of_payload(7_000).segments_left(0, 1_500), 4);
}
