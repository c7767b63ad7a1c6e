use super::*;

fn streams(order: Order, written: &[(u64, u32, u8)]) -> Messages {
    let mut messages = Messages::new();
    messages.interleave();
    messages.set_order(order);
    for &(bytes, stream, priority) in written {
        messages.write(bytes, &WriteOptions { stream, priority, deadline: None });
    }
    messages
}

/// Returns the messages of segments of 100 bytes.
fn cuts(messages: &mut Messages, most: usize) -> Vec<u64> {
    let (mut offset, mut numbers) = (0, Vec::new());
    while messages.head_left() > 0 && numbers.len() < most {
        let bytes = messages.head_left().min(100) as u32;
        let segment = messages.segments.next();
        messages.cut(bytes, segment, offset);
        numbers.push(messages.of(segment, offset));
        offset += u64::from(bytes);
    }
    numbers
}

#[test]
fn one_stream_keeps_its_order_whatever_the_priorities() {
    let written = [(200, 0, 0), (100, 0, 9), (100, 0, 5)];
    assert_eq!(cuts(&mut streams(Order::Shortest, &written), 9), [0, 0, 1, 2]);
    let written = [(200, 0, 0), (100, 1, 9), (100, 2, 5)];
    assert_eq!(cuts(&mut streams(Order::Written, &written), 9), [0, 0, 1, 2], "there is one stream");
}

#[test]
fn higher_priorities_go_first_and_equal_ones_as_written() {
    let written = [(100, 0, 1), (100, 1, 1), (100, 2, 7), (100, 3, 0), (100, 4, 1)];
    assert_eq!(cuts(&mut streams(Order::Priority, &written), 9), [2, 0, 1, 4, 3]);
}

#[test]
fn the_least_left_goes_first_counting_what_has_been_cut() {
    let mut messages = streams(Order::Shortest, &[(500, 0, 0), (400, 1, 0)]);
    assert_eq!(cuts(&mut messages, 2), [1, 1]);
    // 200 bytes are left of number 1: a message of 300 bytes waits, and one of 150 does not.
    messages.write(300, &WriteOptions { stream: 2, ..WriteOptions::default() });
    messages.write(150, &WriteOptions { stream: 3, ..WriteOptions::default() });
    assert_eq!(cuts(&mut messages, 20), [3, 3, 1, 1, 2, 2, 2, 0, 0, 0, 0, 0]);
}

#[test]
fn another_order_is_that_of_what_is_left() {
    let mut messages = streams(Order::Priority, &[(300, 0, 0), (100, 1, 0), (200, 2, 0), (900, 3, 1)]);
    assert_eq!(cuts(&mut messages, 1), [3]);
    messages.reorder(Order::Shortest);
    assert_eq!(cuts(&mut messages, 9), [3, 3, 3, 3, 3, 3, 3, 3, 1]);
    messages.reorder(Order::Priority);
    assert_eq!(cuts(&mut messages, 9), [0, 0, 0, 2, 2]);
    let mut single = streams(Order::Written, &[(200, 0, 0), (100, 1, 9)]);
    single.reorder(Order::Shortest);
    assert_eq!(cuts(&mut single, 9), [0, 0, 1], "there is one stream");
}

#[test]
fn what_is_deferred_goes_behind_its_equals_only() {
    let mut messages = streams(Order::Priority, &[(100, 0, 1), (100, 1, 1), (100, 2, 1), (100, 3, 0)]);
    assert_eq!(messages.rivals(), 3);
    messages.defer();
    messages.defer();
    assert_eq!(cuts(&mut messages, 9), [2, 0, 1, 3]);
}

#[test]
fn the_next_message_of_a_stream_follows_when_the_one_before_is_cut() {
    let mut messages = streams(Order::Priority, &[(100, 5, 0), (100, 5, 0), (100, 6, 0)]);
    assert_eq!(cuts(&mut messages, 9), [0, 2, 1]);
}

#[test]
fn ends_are_known_until_they_are_acknowledged() {
    let mut messages = Messages::new();
    let of =
        |deadline| WriteOptions { deadline: Some(Time::from_nanos(deadline)), ..WriteOptions::default() };
    for (bytes, deadline) in [(150, 7), (30, 9), (20, 5)] {
        messages.write(bytes, &of(deadline));
    }
    // The second segment holds the end of the first message and both others.
    messages.cut(100, 0, 0);
    messages.cut(100, 1, 100);
    assert_eq!(messages.ended(0, 200).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(messages.ended(150, 199).collect::<Vec<_>>(), [1]);
    assert_eq!(messages.due(), Some(Time::from_nanos(5)));
    messages.acknowledged(1);
    assert_eq!(messages.due(), Some(Time::from_nanos(5)));
    messages.acknowledged(2);
    assert_eq!((messages.due(), messages.ended(0, 200).count()), (None, 0));
}
