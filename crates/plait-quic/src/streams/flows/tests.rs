//! Placement of datagrams in segments.

use super::*;
use crate::source::Source;
use crate::streams::record::{DATAGRAM, PIECE};
use crate::streams::send_queue::MIN_WRITE;
use proptest::prelude::*;

const FULL: u16 = 1_110;

/// An end with a flow whose opening has left, and its peer.
fn ends() -> ([Streams; 2], u32, u64) {
    let (mut near, mut far) = (Streams::new(true, FULL), Streams::new(false, FULL));
    let flow = near.open_flow("host:1", Class::Bulk).expect("there is room");
    let mut offset = 0;
    carry(&mut near, &mut offset).iter().for_each(|segment| far.handle(segment).expect("it may"));
    assert_eq!(far.poll(), Some(StreamEvent::Flow { flow, target: "host:1".to_owned(), class: Class::Bulk }));
    ([near, far], flow, offset)
}

/// Returns all segments that could leave now.
fn carry(near: &mut Streams, offset: &mut u64) -> Vec<Vec<u8>> {
    let mut segments = Vec::new();
    loop {
        let before = segments.len();
        while let Some(mut bytes) = near.reserve() {
            while bytes > 0 {
                let size = bytes.min(FULL.into());
                let mut segment = vec![0; size as usize];
                near.read_at(*offset, &mut segment).expect("it is there");
                segments.push(segment);
                (*offset, bytes) = (*offset + size, bytes - size);
            }
        }
        if segments.len() == before {
            near.discard_acknowledged(u64::MAX);
            return segments;
        }
    }
}

/// Returns the datagrams with a part in a segment, by first byte and offset, and the bytes of all
/// records.
fn content(mut segment: &[u8]) -> (Vec<(u8, usize)>, usize) {
    let (mut parts, mut bytes) = (Vec::new(), 0);
    while let Some(record) = Record::decode(&mut segment).expect("it is well formed") {
        bytes += record.length();
        match record {
            Record::Datagram { bytes, .. } => parts.push((bytes.first().copied().unwrap_or(0), 0)),
            Record::Piece { piece, .. } => parts.push((piece.bytes[0], piece.offset.into())),
            other => panic!("{other:?}"),
        }
    }
    (parts, bytes)
}

/// Fewest segments for a datagram of so many bytes.
fn fewest(bytes: usize) -> usize {
    if bytes + DATAGRAM <= FULL.into() { 1 } else { bytes.div_ceil(usize::from(FULL) - PIECE) }
}

fn take(far: &mut Streams) -> Vec<Bytes> {
    std::iter::from_fn(|| far.receive_datagram()).map(|(_, bytes)| bytes).collect()
}

/// Datagrams of WireGuard with its default MTU.
#[test]
fn three_datagrams_of_two_packets_are_in_four() {
    let ([mut near, mut far], flow, mut offset) = ends();
    for first in 0..9 {
        near.send_datagram(Time::ZERO, flow, &[first; 1_452]);
    }
    let segments = carry(&mut near, &mut offset);
    assert_eq!(segments.len(), 12);
    segments.iter().for_each(|segment| far.handle(segment).expect("it may"));
    assert_eq!(take(&mut far).len(), 9);
}

#[test]
fn short_datagrams_that_wait_share_a_segment() {
    let ([mut near, mut far], flow, mut offset) = ends();
    for first in 0..20 {
        near.send_datagram(Time::ZERO, flow, &[first; 100]);
    }
    let segments = carry(&mut near, &mut offset);
    assert_eq!(segments.iter().map(Vec::len).collect::<Vec<_>>(), [1_070, 1_070]);
    segments.iter().for_each(|segment| far.handle(segment).expect("it may"));
    assert_eq!(take(&mut far).len(), 20);
}

/// The begun part of a datagram is of no use without the rest.
#[test]
fn a_datagram_that_has_begun_is_not_dropped_as_the_first_one() {
    let ([mut near, mut far], flow, mut offset) = ends();
    near.send_datagram(Time::ZERO, flow, &[1; 1_452]);
    near.send_datagram(Time::ZERO, flow, &[2; 1_452]);
    let planned = std::iter::from_fn(|| near.reserve()).collect::<Vec<_>>();
    let mut moment = Time::ZERO + PATIENCE;
    for size in planned {
        near.flows.now = moment;
        let mut segment = vec![0; size as usize];
        near.read_at(offset, &mut segment).expect("it is there");
        far.handle(&segment).expect("it may");
        offset += size;
        moment += Duration::from_millis(1);
    }
    let came = take(&mut far);
    assert!(came.iter().map(|bytes| bytes[0]).eq([1]), "the second one had not begun: {}", came.len());
    assert_eq!((near.datagrams().sent, near.datagrams().late), (1, 1));
}

/// A scheduler may keep a segment for a path while later ones leave.
#[test]
fn a_segment_that_waits_has_the_datagrams_of_the_moment_when_it_leaves() {
    let ([mut near, mut far], flow, offset) = ends();
    [1, 2].into_iter().for_each(|first| near.send_datagram(Time::ZERO, flow, &[first; 1_000]));
    assert_eq!(std::iter::from_fn(|| near.reserve()).collect::<Vec<_>>(), [1_007; 2]);
    let mut came = |near: &mut Streams, offset| {
        let mut segment = vec![0; 1_007];
        near.read_at(offset, &mut segment).expect("it is there");
        far.handle(&segment).expect("it may");
        take(&mut far).iter().map(|bytes| bytes[0]).collect::<Vec<_>>()
    };
    assert_eq!(came(&mut near, offset + 1_007), [1]);
    near.flows.now = Time::ZERO + PATIENCE + PATIENCE;
    near.send_datagram(near.flows.now, flow, &[3; 1_000]);
    assert_eq!(came(&mut near, offset), [3]);
    assert_eq!((near.datagrams().sent, near.datagrams().late), (2, 1));
}

proptest! {
    /// For any waiting datagrams, each arrives whole, in the fewest segments, and segments are as
    /// long as their records.
    #[test]
    fn each_datagram_is_in_the_fewest_segments(
        bursts in prop::collection::vec(prop::collection::vec(
            prop_oneof![0..20usize, 0..1_500usize, 1_090..1_120usize, 1..=MAX_DATAGRAM], 1..12), 1..6),
    ) {
        let ([mut near, mut far], flow, mut offset) = ends();
        for burst in bursts {
            let mut segments = vec![0; burst.len()];
            for (first, bytes) in burst.iter().enumerate() {
                near.send_datagram(Time::ZERO, flow, &vec![first as u8; *bytes]);
            }
            let (mut all, mut used, mut count) = (0, 0, 0);
            for segment in carry(&mut near, &mut offset) {
                let (parts, bytes) = content(&segment);
                prop_assert!(!parts.is_empty(), "an empty segment of {} bytes", segment.len());
                parts.iter().for_each(|(first, _)| segments[usize::from(*first)] += 1);
                (all, used, count) = (all + segment.len(), used + bytes, count + parts.len());
                far.handle(&segment).expect("it may");
            }
            // An empty datagram does not contain its number.
            for (first, bytes) in burst.iter().enumerate().filter(|(first, bytes)| **bytes > 0 && *first > 0) {
                prop_assert_eq!(segments[first], fewest(*bytes), "{} bytes", bytes);
            }
            prop_assert!(all < used + count * MIN_WRITE, "{} bytes for {} of records", all, used);
            let came = take(&mut far);
            prop_assert!(came.iter().map(Bytes::len).eq(burst.iter().copied()));
            prop_assert!(came.iter().enumerate().all(|(first, bytes)| bytes.iter().all(|one| usize::from(*one) == first)));
        }
        prop_assert_eq!(near.memory() + far.memory(), 0);
    }
}
