use super::*;

#[test]
fn a_segment_never_spans_two_writes() {
    let mut stream = Stream::new(1000, false, 0);
    stream.write(2500, &WriteOptions::default());
    stream.write(10, &WriteOptions::default());
    assert_eq!(stream.uncut(), 4);
    let sizes: Vec<u32> = (0..4)
        .map(|_| stream.assign(0).and_then(|n| stream.get(n).map(StreamSegment::bytes)).unwrap())
        .collect();
    assert_eq!(sizes, [1000, 1000, 500, 10]);
    assert_eq!(stream.assign(0), None);
}

#[test]
fn a_segment_may_span_writes_if_it_waited() {
    let mut stream = Stream::new(1000, true, 0);
    let sizes = |stream: &mut Stream| {
        core::iter::from_fn(|| stream.assign(0).and_then(|n| stream.get(n).map(StreamSegment::bytes)))
            .collect::<Vec<u32>>()
    };
    stream.write(2500, &WriteOptions::default());
    stream.write(600, &WriteOptions::default());
    assert_eq!(stream.uncut(), 4);
    assert_eq!(sizes(&mut stream), [1000, 1000, 1000, 100]);
    stream.write(10, &WriteOptions::default());
    assert_eq!(sizes(&mut stream), [10], "what was cut stays as it is");
}

#[test]
fn a_bundle_holds_whole_messages_and_their_headers() {
    let mut stream = Stream::new(1000, true, 16);
    for bytes in [1100, 400, 400, 400, 984, 1] {
        stream.write(bytes, &WriteOptions::default());
    }
    let mut sizes = Vec::new();
    while let Some(segment) = stream.assign(0) {
        let entry = *stream.get(segment).unwrap();
        sizes.push((entry.bytes(), stream.further_headers(entry.offset, entry.bytes())));
    }
    // A message that fits into a packet is never split, and each further one takes 16 bytes of
    // header.
    assert_eq!(sizes, [(1000, 0), (900, 32), (400, 0), (984, 0), (1, 0)]);
    assert_eq!(stream.uncut(), 0);
}

#[test]
fn recalled_segments_are_of_their_messages_also_from_before_a_second_stream() {
    let mut stream = Stream::new(1000, false, 0);
    stream.set_order(Order::Priority);
    stream.write(2500, &WriteOptions::default());
    let mut queue: VecDeque<u64> = stream.assign(0).into_iter().collect();
    stream.write(500, &WriteOptions { stream: 1, priority: 9, deadline: None });
    queue.extend((0..2).filter_map(|_| stream.assign(0)));
    stream.recall(&mut queue);
    let mut messages = || {
        let message = stream.next_message().map(|message| (message.number, message.segments_left));
        stream.assign(0).and(message)
    };
    let of = core::iter::from_fn(&mut messages).collect::<Vec<_>>();
    assert_eq!(of, [(0, 3), (1, 1), (0, 2), (0, 1)]);
}

#[test]
fn a_stream_without_end_is_another_stream_too() {
    let mut stream = Stream::new(1000, false, 0);
    stream.set_order(Order::Priority);
    stream.write(1500, &WriteOptions { stream: 5, ..WriteOptions::default() });
    let mut queue: VecDeque<u64> = stream.assign(0).into_iter().collect();
    stream.write_endlessly();
    stream.defer();
    queue.extend(stream.assign(0));
    stream.recall(&mut queue);
    let mut messages = || {
        let message = stream.next_message().map(|message| message.number);
        stream.assign(0).and(message)
    };
    assert_eq!([messages(), messages()], [Some(0), Some(1)]);
}

#[test]
fn recalled_segments_are_assigned_again_lowest_first() {
    let mut stream = Stream::new(1000, false, 0);
    stream.write_endlessly();
    let mut fast: VecDeque<u64> = (0..3).filter_map(|_| stream.assign(0)).collect();
    let mut slow: VecDeque<u64> = (0..2).filter_map(|_| stream.assign(1)).collect();
    stream.recall(&mut slow);
    stream.recall(&mut fast);
    assert_eq!(stream.next_segment(), 0);
    let again: Vec<u64> = (0..6).filter_map(|_| stream.assign(1)).collect();
    assert_eq!(again, [0, 1, 2, 3, 4, 5]);
}
