//! What a peer must not do, and what it costs if it does.

use super::record::Record;
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

/// An end whose peer has opened some.
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
    let data = |stream| Record::Data { stream, bytes: b"a" };
    let finish = |stream| Record::Finish { stream };
    let full = MAX_STREAMS as u32;
    for (opened, records, expected) in [
        (0, vec![data(0)], "never opened"),
        (1, vec![Record::Credit { stream: 1, limit: 5 }], "never opened"),
        (1, vec![open(2)], "one after the other"),
        (1, vec![open(0)], "one after the other"),
        (1, vec![finish(0), data(0)], "behind a stream's end"),
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
    for _ in 0..LEAST_CREDIT / 1_024 {
        streams.handle(&segment(&[Record::Data { stream: 0, bytes: &bytes }])).expect("there is room");
    }
    let one = Record::Data { stream: 0, bytes: &bytes[..1] };
    assert!(violation(&mut streams, &[one]).contains("credit"));
}

/// Who takes what comes is promised more: over all streams never more than the bound.
#[test]
fn promises_are_bounded_over_all_streams() {
    let mut streams = far(MAX_STREAMS as u32);
    let bytes = [0; 1_000];
    for _ in 0..200 {
        for stream in 0..MAX_STREAMS as u32 {
            streams.handle(&segment(&[Record::Data { stream, bytes: &bytes }])).expect("there is room");
            streams.consume(stream, bytes.len());
            assert!(streams.promised() <= MOST_PROMISED, "{}", streams.promised());
        }
    }
    // One after the other, the first ones have had the most; nothing is lost of the pool.
    assert!(streams.promised() > MOST_PROMISED / 2, "{}", streams.promised());
    (0..MAX_STREAMS as u32).for_each(|stream| streams.reset(stream, Reason::Broken));
    assert_eq!((streams.pool, streams.promised()), (POOL, 0));
}

/// One reader alone gets a window that long ways need.
#[test]
fn a_stream_that_is_read_is_promised_megabytes() {
    let mut streams = far(1);
    let bytes = [0; 1_000];
    for _ in 0..64 {
        streams.handle(&segment(&[Record::Data { stream: 0, bytes: &bytes }])).expect("there is room");
        streams.consume(0, bytes.len());
    }
    assert!(streams.promised() > MOST_CREDIT * 3 / 4, "{}", streams.promised());
    let credit = streams.reserve().expect("the peer is to be told");
    let mut told = vec![0; credit as usize];
    streams.read_at(0, &mut told).expect("it is bound");
    let told = Record::decode(&mut &told[..]).expect("it is one");
    assert!(matches!(told, Some(Record::Credit { stream: 0, limit }) if limit > MOST_CREDIT), "{told:?}");
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

/// It may close what waits here for its reader: those count, too, and more are refused.
#[test]
fn what_waits_for_its_reader_counts_as_a_stream() {
    let mut streams = far(MAX_STREAMS as u32);
    for stream in 0..MAX_STREAMS as u32 {
        streams.finish(stream);
        streams
            .handle(&segment(&[Record::Data { stream, bytes: b"a" }, Record::Finish { stream }]))
            .expect("it may");
    }
    let mut place = 0;
    while let Some(bytes) = streams.reserve() {
        for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
            streams.read_at(place, &mut vec![0; left as usize]).expect("it is bound");
            place += left;
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

/// Late data of a stream that was ended here says nothing.
#[test]
fn what_comes_of_a_stream_that_was_ended_is_left_out() {
    let mut streams = far(2);
    streams.reset(0, Reason::Refused);
    streams
        .handle(&segment(&[Record::Data { stream: 0, bytes: b"a" }, Record::Finish { stream: 0 }]))
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
    let (mut place, mut written) = (0, 0);
    loop {
        written += streams.write(0, &[1; 100_000]);
        let Some(bytes) = streams.reserve() else { break };
        for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
            streams.read_at(place, &mut vec![0; left as usize]).expect("it is bound");
            place += left;
        }
    }
    assert!(written > 60 << 20 && streams.memory() < 66 << 20, "{written} {}", streams.memory());
    let mut again = [0; SEGMENT as usize];
    streams.read_at(0, &mut again).expect("it is kept");
    streams.settle(1);
    assert!(streams.read_at(0, &mut again).is_err());
}

proptest! {
    #[test]
    fn whatever_a_peer_says_nothing_panics_and_memory_is_bounded(
        opens in any::<bool>(),
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
        let mut place = 0;
        for records in &segments {
            let mut bytes = Vec::new();
            for (kind, stream, data, number) in records {
                let stream = *stream;
                match kind {
                    0 => open(streams.opened()),
                    1 => Record::Accepted { stream },
                    2 => Record::Data { stream, bytes: data },
                    3 => Record::Finish { stream },
                    4 => Record::Reset { stream, reason: Reason::Broken },
                    _ => Record::Credit { stream, limit: *number },
                }
                .encode(&mut bytes);
            }
            if streams.handle(&bytes).is_err() {
                return Ok(());
            }
            while let Some(event) = streams.poll() {
                if let Event::Opened { stream, .. } = event {
                    streams.write(stream, b"an answer");
                }
            }
            while let Some(stream) = streams.woken() {
                streams.consume(stream, streams.peek(stream).len() / 2);
            }
            while let Some(bytes) = streams.reserve() {
                prop_assert!(bytes <= 2_000, "there is no more to say: {bytes}");
                for left in (0..bytes).step_by(SEGMENT.into()).map(|from| (bytes - from).min(SEGMENT.into())) {
                    prop_assert!(streams.read_at(place, &mut vec![0; left as usize]).is_ok());
                    place += left;
                }
            }
            prop_assert!(streams.promised() <= MOST_PROMISED);
        }
        let _ = streams.handle(&noise);
    }
}
