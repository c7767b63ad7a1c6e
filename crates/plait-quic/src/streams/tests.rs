//! Violations of the protocol by a peer, and their cost.

mod overtaking;

use super::reassembly_buffer::MAX_EARLY;
use super::record::{DatagramPiece, Record};
use super::*;
use crate::error::Error;
use crate::source::Source;
use proptest::prelude::*;

const SEGMENT: u16 = 1_100;

fn segment(records: &[Record<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    records.iter().for_each(|record| record.encode(&mut bytes));
    bytes
}

fn open(stream: u32) -> Record<'static> {
    Record::Open { stream, class: Class::Bulk, target: "host:1" }
}

/// Returns an end whose peer has opened some streams.
fn far(opened: u32) -> Streams {
    let mut streams = Streams::new(false, SEGMENT);
    (0..opened).for_each(|stream| streams.handle(&segment(&[open(stream)])).expect("it may"));
    streams
}

fn violation(streams: &mut Streams, records: &[Record<'_>]) -> &'static str {
    match streams.handle(&segment(records)) {
        Err(Error::Violation(what)) => what,
        other => panic!("{records:?}: {other:?}"),
    }
}

#[test]
fn what_breaks_the_rules_is_named() {
    let data = |stream, offset| Record::Data { stream, offset, bytes: b"a" };
    let finish = |stream| Record::Finish { stream, size: 0 };
    let full = MAX_STREAMS as u32;
    for (opened, records, expected) in [
        (0, vec![data(0, 0)], "never opened"),
        (1, vec![Record::Credit { stream: 1, limit: 5 }], "never opened"),
        (1, vec![open(2)], "one after the other"),
        (1, vec![open(0)], "one after the other"),
        (1, vec![finish(0), data(0, 0)], "behind a stream's end"),
        (1, vec![data(0, 0), finish(0)], "behind a stream's end"),
        (1, vec![Record::Finish { stream: 0, size: MIN_CREDIT + 1 }], "credit"),
        (1, vec![data(0, 1)], "leaves some out"),
        (1, vec![data(0, 0), data(0, 0)], "sent before"),
        (1, vec![data(0, MIN_CREDIT)], "credit"),
        (1, vec![finish(0), finish(0)], "ends twice"),
        (1, vec![Record::Accepted { stream: 0 }], "of its own"),
        (full, vec![open(full)], "too many streams"),
    ] {
        let what = violation(&mut far(opened), &records);
        assert!(what.contains(expected), "{records:?}: {what}");
    }
    assert!(violation(&mut Streams::new(true, SEGMENT), &[open(0)]).contains("opens a stream"));
}

#[test]
fn nobody_sends_more_than_there_is_credit_for() {
    let mut streams = far(1);
    let bytes = [0; 1_024];
    for offset in (0..MIN_CREDIT).step_by(1_024) {
        streams
            .handle(&segment(&[Record::Data { stream: 0, offset, bytes: &bytes }]))
            .expect("there is room");
    }
    let one = Record::Data { stream: 0, offset: MIN_CREDIT, bytes: &bytes[..1] };
    assert!(violation(&mut streams, &[one]).contains("credit"));
}

/// The peer gets more credit as data is taken, but over all streams never more than the bound.
#[test]
fn promises_are_bounded_over_all_streams() {
    let mut streams = far(MAX_STREAMS as u32);
    let bytes = [0; 1_000];
    for offset in (0..200_000).step_by(1_000) {
        for stream in 0..MAX_STREAMS as u32 {
            streams
                .handle(&segment(&[Record::Data { stream, offset, bytes: &bytes }]))
                .expect("there is room");
            streams.consume(stream, bytes.len());
            assert!(streams.promised() <= MAX_PROMISED, "{}", streams.promised());
        }
    }
    // The first streams got the most, because they came first. Nothing of the pool is lost.
    assert!(streams.promised() > MAX_PROMISED / 2, "{}", streams.promised());
    (0..MAX_STREAMS as u32).for_each(|stream| streams.reset(stream, Reason::Broken));
    assert_eq!((streams.pool, streams.promised()), (POOL, 0));
}

/// A single reader gets the window that long paths need.
#[test]
fn a_stream_that_is_read_is_promised_megabytes() {
    let mut streams = far(1);
    let bytes = [0; 1_000];
    for offset in (0..64_000).step_by(1_000) {
        streams
            .handle(&segment(&[Record::Data { stream: 0, offset, bytes: &bytes }]))
            .expect("there is room");
        streams.consume(0, bytes.len());
    }
    assert!(streams.promised() > MAX_CREDIT * 3 / 4, "{}", streams.promised());
    let credit = streams.reserve().expect("the peer is to be told");
    let mut credit_record = vec![0; credit as usize];
    streams.read_at(0, &mut credit_record).expect("it is bound");
    let credit_record = Record::decode(&mut &credit_record[..]).expect("it is one");
    assert!(
        matches!(credit_record, Some(Record::Credit { stream: 0, limit }) if limit > MAX_CREDIT),
        "{credit_record:?}"
    );
}

/// The peer opens and ends streams, and takes no answers.
#[test]
fn a_peer_that_takes_no_answers_is_left() {
    let mut streams = far(0);
    let mut stream = 0;
    let error = loop {
        let handled = streams.handle(&segment(&[open(stream)]));
        streams.reset(stream, Reason::Denied);
        stream += 1;
        if let Err(error) = handled {
            break error;
        }
        while streams.poll().is_some() {}
    };
    assert!(matches!(error, Error::Violation(what) if what.contains("more than it takes")), "{error:?}");
    assert!(stream < 100_000 && streams.is_empty(), "{stream}");
}

/// The peer may close streams whose data still waits for the reader here. These streams count, too,
/// and more are refused.
#[test]
fn what_waits_for_its_reader_counts_as_a_stream() {
    let mut streams = far(MAX_STREAMS as u32);
    for stream in 0..MAX_STREAMS as u32 {
        streams.finish(stream);
        streams
            .handle(&segment(&[
                Record::Data { stream, offset: 0, bytes: b"a" },
                Record::Finish { stream, size: 1 },
            ]))
            .expect("it may");
    }
    let mut offset = 0;
    while let Some(bytes) = streams.reserve() {
        for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
            streams.read_at(offset, &mut vec![0; left as usize]).expect("it is bound");
            offset += left;
        }
    }
    assert_eq!(streams.len(), MAX_STREAMS, "nobody has read");
    let next = MAX_STREAMS as u32;
    streams.handle(&segment(&[open(next)])).expect("the peer does not know");
    assert!(streams.is_over(next));
    streams.consume(0, 1);
    streams.handle(&segment(&[open(next + 1)])).expect("there is room");
    assert!(!streams.is_over(next + 1));
}

/// Late data of a stream that was ended here is ignored.
#[test]
fn what_comes_of_a_stream_that_was_ended_is_left_out() {
    let mut streams = far(2);
    streams.reset(0, Reason::Refused);
    streams
        .handle(&segment(&[
            Record::Data { stream: 0, offset: 0, bytes: b"a" },
            Record::Finish { stream: 0, size: 1 },
        ]))
        .expect("it did not know");
    assert_eq!((streams.peek(0), streams.len()), (&b""[..], 1));
}

#[test]
fn targets_and_streams_beyond_the_bounds_are_not_opened() {
    let mut streams = Streams::new(true, SEGMENT);
    assert_eq!(streams.open(&"a".repeat(MAX_TARGET + 1), Class::Bulk), Err(Reason::Unresolved));
    for stream in 0..MAX_STREAMS as u32 {
        assert_eq!(streams.open("host:1", Class::Bulk), Ok(stream));
    }
    assert_eq!(streams.open("host:1", Class::Bulk), Err(Reason::Busy));
}

#[test]
fn segments_that_are_not_acknowledged_are_kept_and_no_more_than_a_bound() {
    let mut streams = far(1);
    streams.handle(&segment(&[Record::Credit { stream: 0, limit: u64::MAX }])).expect("it may");
    let (mut offset, mut written) = (0, 0);
    loop {
        written += streams.write(0, &[1; 100_000]);
        let Some(bytes) = streams.reserve() else { break };
        for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
            streams.read_at(offset, &mut vec![0; left as usize]).expect("it is bound");
            offset += left;
        }
    }
    assert!(written > 60 << 20 && streams.memory() < 66 << 20, "{written} {}", streams.memory());
    let mut again = [0; SEGMENT as usize];
    streams.read_at(0, &mut again).expect("it is kept");
    streams.discard_acknowledged(1);
    assert!(streams.read_at(0, &mut again).is_err());
}

proptest! {
    #[test]
    fn whatever_a_peer_says_nothing_panics_and_memory_is_bounded(
        opens in any::<bool>(),
        early in any::<bool>(),
        segments in prop::collection::vec(
            prop::collection::vec(
                (0..7u8, 0..6u32, prop::collection::vec(any::<u8>(), 0..40), any::<u64>()), 0..6),
            0..40),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut streams = Streams::new(opens, SEGMENT);
        if opens {
            (0..3).for_each(|_| assert!(streams.open("host:1", Class::Bulk).is_ok()));
        }
        let (mut offset, mut count) = (0, 0);
        for records in &segments {
            let mut bytes = Vec::new();
            for (kind, stream, data, number) in records {
                let stream = *stream;
                match kind {
                    0 => open(streams.opened()),
                    1 => Record::Accepted { stream },
                    2 => Record::Data { stream, offset: number % 100, bytes: data },
                    3 => Record::Finish { stream, size: number % 100 },
                    4 => Record::Reset { stream, reason: Reason::Broken },
                    _ => Record::Credit { stream, limit: *number },
                }
                .encode(&mut bytes);
            }
            let result = match early {
                true => streams.handle_early(count, &bytes.into()).and_then(|()| streams.advance(count / 2)),
                false => streams.handle(&bytes),
            };
            if result.is_err() {
                return Ok(());
            }
            count += 1;
            while let Some(event) = streams.poll() {
                if let StreamEvent::Opened { stream, .. } = event {
                    streams.write(stream, b"an answer");
                }
            }
            while let Some(stream) = streams.next_ready() {
                streams.consume(stream, streams.peek(stream).len() / 2);
            }
            while let Some(bytes) = streams.reserve() {
                prop_assert!(bytes <= 2_000, "there is no more to say: {bytes}");
                for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
                    prop_assert!(streams.read_at(offset, &mut vec![0; left as usize]).is_ok());
                    offset += left;
                }
            }
            prop_assert!(streams.promised() <= MAX_PROMISED);
        }
        let _ = streams.handle(&noise);
    }
}

/// Returns an end whose peer has opened a stream and a flow.
fn far_with_flow() -> Streams {
    let mut streams = far(1);
    let flow = Record::Flow { stream: 1, class: Class::Bulk, target: "host:2" };
    streams.handle(&segment(&[flow])).expect("it may");
    streams
}

fn piece(number: u16, total: u16, offset: u16, bytes: &[u8]) -> Record<'_> {
    Record::Piece { stream: 1, piece: DatagramPiece { number, total, offset, bytes } }
}

#[test]
fn flows_have_rules_too() {
    for (records, expected) in [
        (vec![Record::Datagram { stream: 2, bytes: b"a" }], "never opened"),
        (vec![Record::Datagram { stream: 0, bytes: b"a" }], "of a stream"),
        (vec![Record::Data { stream: 1, offset: 0, bytes: b"a" }], "no stream"),
        (vec![Record::Credit { stream: 1, limit: 1 }], "no stream"),
        (vec![piece(0, 2, 3, b"")], "in no datagram"),
        (vec![piece(0, 2, 1, b"")], "in no datagram"),
        (vec![piece(0, 9_999, 0, b"a")], "in no datagram"),
        (vec![Record::Flow { stream: 3, class: Class::Bulk, target: "host:1" }], "one after the other"),
    ] {
        let what = violation(&mut far_with_flow(), &records);
        assert!(what.contains(expected), "{records:?}: {what}");
    }
    // More datagrams of a flow that is over may have been in flight.
    let over =
        [Record::Reset { stream: 1, reason: Reason::Broken }, Record::Datagram { stream: 1, bytes: b"a" }];
    let mut streams = far_with_flow();
    streams.handle(&segment(&over)).expect("it may");
    assert_eq!((streams.receive_datagram(), streams.flows()), (None, 0));
}

#[test]
fn pieces_make_a_datagram_in_any_order_and_only_together() {
    let mut streams = far_with_flow();
    let whole =
        |streams: &mut Streams| streams.receive_datagram().map(|(flow, bytes)| (flow, bytes.to_vec()));
    for records in [
        vec![piece(0, 5, 3, b"de"), piece(0, 5, 0, b"abc")],
        vec![piece(1, 5, 0, b"ab"), piece(1, 5, 0, b"xyz"), piece(1, 5, 2, b"cde")],
        // Another datagram with that number: the first one stays incomplete.
        vec![piece(2, 9, 0, b"x"), piece(2, 5, 0, b"abcd"), piece(2, 5, 4, b"e")],
    ] {
        records.iter().for_each(|record| streams.handle(&segment(&[*record])).expect("it may"));
        assert_eq!(whole(&mut streams), Some((1, b"abcde".to_vec())));
        assert_eq!(whole(&mut streams), None);
    }
    assert_eq!(streams.datagrams().incomplete, 1);
    assert_eq!(streams.memory(), 0);
    // The memory for pieces without the others is bounded.
    for number in 0..u16::MAX {
        streams.handle(&segment(&[piece(number, 1_000, 0, &[7; 900])])).expect("it may");
    }
    assert!(streams.memory() < 5 << 20, "{}", streams.memory());
    assert_eq!(whole(&mut streams), None);
}

/// A lost segment is retransmitted as it was, but without its datagrams.
#[test]
fn datagrams_leave_once() {
    let mut near = Streams::new(true, SEGMENT);
    let (stream, flow) = (
        near.open("host:1", Class::Bulk).expect("there is room"),
        near.open_flow("host:2", Class::Bulk).expect("there is room"),
    );
    let segments = |near: &mut Streams, offset: &mut u64| {
        let mut sizes = Vec::new();
        while let Some(bytes) = near.reserve() {
            sizes.push(bytes as usize);
        }
        let read = |size: usize| {
            let (at, mut bytes) = (*offset, vec![0; size]);
            near.read_at(at, &mut bytes).expect("it is there");
            *offset += size as u64;
            (at, bytes)
        };
        sizes.into_iter().map(read).collect::<Vec<_>>()
    };
    let mut offset = 0;
    segments(&mut near, &mut offset);
    near.send_datagram(Time::ZERO, flow, &[9; 100]);
    near.write(stream, &[8; 500]);
    let first = segments(&mut near, &mut offset);
    let of = |bytes: &[u8], byte: u8| bytes.iter().filter(|one| **one == byte).count();
    assert_eq!(first.iter().map(|(_, bytes)| of(bytes, 9)).sum::<usize>(), 101, "with the record's number");
    let (mut voids, mut kept) = (0, 0);
    for (at, bytes) in first {
        let mut again = vec![0; bytes.len()];
        near.read_again(at, &mut again).expect("it is there");
        assert_eq!(of(&again, 9), 0);
        kept += of(&again, 8);
        voids += usize::from(near.is_void(at));
        assert_eq!(near.is_void(at), of(&again, 8) == 0);
    }
    assert_eq!(kept, 500, "data is sent again");
    println!("{voids} are over");
}
