//! Segments of a peer over a network that reorders. Data is delivered as soon as nothing of its own
//! stream is missing, and in the end all data is.

use super::*;

/// Returns all segments that a peer sends of some streams, and the content of each stream.
fn segments_of(sizes: &[usize]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let mut near = Streams::new(true, SEGMENT);
    let (mut segments, mut offset) = (Vec::new(), 0);
    let content: Vec<Vec<u8>> = sizes
        .iter()
        .enumerate()
        .map(|(at, &size)| (0..size).map(|byte| (at + byte / 7) as u8).collect())
        .collect();
    for bytes in &content {
        let stream = near.open("host:1", Class::Bulk).expect("there is room");
        assert_eq!(near.write(stream, bytes), bytes.len());
        near.finish(stream);
    }
    while let Some(bytes) = near.reserve() {
        let mut left = bytes as usize;
        while left > 0 {
            let mut segment = vec![0; left.min(SEGMENT.into())];
            near.read_at(offset, &mut segment).expect("it is bound");
            (offset, left) = (offset + segment.len() as u64, left - segment.len());
            segments.push(segment);
        }
    }
    (segments, content)
}

fn available(streams: &Streams, stream: u32) -> usize {
    streams.peek(stream).len()
}

#[test]
fn what_is_missing_of_one_stream_holds_up_no_other() {
    let (segments, content) = segments_of(&[30_000, 30_000]);
    let mut far = Streams::new(false, SEGMENT);
    // The first segment opens both streams; then they take turns.
    for (number, segment) in segments.iter().enumerate().filter(|(number, _)| *number != 1) {
        far.handle_early(number as u64, &segment.clone().into()).expect("it may overtake");
    }
    let sizes = [available(&far, 0), available(&far, 1)];
    assert!(sizes.contains(&30_000) && sizes.iter().any(|bytes| *bytes < 1_100), "{sizes:?}");
    assert!(far.memory() >= 60_000 - 1_100, "what waits counts");
    far.handle_early(1, &segments[1].clone().into()).expect("it is late");
    far.advance(segments.len() as u64).expect("all is there");
    for stream in 0..2 {
        assert_eq!(far.peek(stream), content[stream as usize]);
        far.consume(stream, 30_000);
        assert!(far.is_ended(stream));
    }
    assert_eq!((far.early, far.deferred.len()), (0, 0));
}

/// Pieces beyond the bound wait with their segments, and nothing is lost.
#[test]
fn tiny_pieces_are_bounded_in_number() {
    let mut far = far(2);
    let piece = |offset| Record::Data { stream: 0, offset, bytes: b"a" };
    let count = MAX_EARLY as u64 + 2_000;
    for number in 1..count {
        far.handle_early(number, &segment(&[piece(number)]).into()).expect("it may");
    }
    assert_eq!((far.early, far.deferred.len() as u64), (MAX_EARLY, count - 1 - MAX_EARLY as u64));
    far.handle_early(0, &segment(&[piece(0)]).into()).expect("it is late");
    far.advance(count).expect("all is there");
    assert_eq!((available(&far, 0) as u64, far.early, far.deferred.len()), (count, 0, 0));
}

/// Answers may arrive before the acceptance of their stream: they are delivered after it.
#[test]
fn nothing_is_handed_on_before_the_stream_is_accepted() {
    let mut near = Streams::new(true, SEGMENT);
    let stream = near.open("host:1", Class::Bulk).expect("there is room");
    let answer = [Record::Data { stream, offset: 0, bytes: b"hello" }, Record::Finish { stream, size: 5 }];
    near.handle_early(1, &segment(&answer).into()).expect("it may overtake");
    assert_eq!((near.poll(), near.peek(stream), near.is_ended(stream)), (None, &b""[..], false));
    near.handle_early(0, &segment(&[Record::Accepted { stream }]).into()).expect("it is late");
    assert_eq!(near.poll(), Some(StreamEvent::Accepted { stream }));
    assert_eq!(near.peek(stream), b"hello");
    assert!(matches!(near.handle(&segment(&[answer[0]])), Err(Error::Violation(_))), "not twice");
}

#[test]
fn what_never_comes_is_a_violation_once_all_before_has_come() {
    let mut far = far(1);
    far.handle_early(1, &segment(&[open(3)]).into()).expect("two openings may be missing");
    assert!(matches!(far.advance(1), Ok(())));
    assert!(matches!(far.advance(2), Err(Error::Violation(_))));
}

proptest! {
    #[test]
    fn in_whatever_order_segments_come_all_streams_are_whole(
        sizes in prop::collection::vec(0..20_000usize, 1..6),
        keys in prop::collection::vec(any::<u32>(), 120),
    ) {
        let (segments, content) = segments_of(&sizes);
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|number| keys[number % keys.len()]);
        let mut far = Streams::new(false, SEGMENT);
        let mut arrived = vec![false; segments.len()];
        for number in order {
            far.handle_early(number as u64, &segments[number].clone().into()).expect("it may overtake");
            arrived[number] = true;
            let next = arrived.iter().position(|there| !there).unwrap_or(segments.len());
            far.advance(next as u64).expect("nothing is wrong");
        }
        for (stream, bytes) in content.iter().enumerate() {
            prop_assert_eq!(far.peek(stream as u32), &bytes[..]);
        }
        prop_assert_eq!((far.early, far.deferred.len()), (0, 0));
    }
}
