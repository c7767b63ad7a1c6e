//! QUIC packets, frames and transport parameters.

use super::payload;
use plait_transport::wire::DecodeError;
use plait_transport::wire::number::Truncated;
use plait_transport::wire::quic::{
    AbandonReason, Ack, AckRange, AckRanges, Close, ConnectionId, Directions, EcnCounts, Frame, Frames,
    Header, Long, LongKind, NewConnectionId, Packet, PathFrame, Short, Stream, TAG_BYTES,
    TransportParameters, VarInt,
};
use proptest::prelude::*;

/// An integer of any length on the wire.
fn integer() -> impl Strategy<Value = VarInt> {
    (0u32..62, any::<u64>())
        .prop_map(|(bits, value)| VarInt::new(value & ((2 << bits) - 1)).unwrap_or(VarInt::MAX))
}

fn id(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = ConnectionId> {
    payload(length).prop_map(|bytes| ConnectionId::new(bytes).expect("20 bytes at most"))
}

fn ack() -> impl Strategy<Value = Ack> {
    let counts = (integer(), integer(), integer()).prop_map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
    let steps = prop::collection::vec((0u64..300, 0u64..300), 0..40);
    (integer(), integer(), steps, prop::option::of(counts)).prop_map(|(largest, delay, steps, ecn)| {
        let largest = largest.get();
        let mut ranges = AckRanges::new(AckRange { smallest: largest - largest.min(7), largest }).unwrap();
        for (gap, length) in steps {
            let Some(largest) = ranges.smallest().checked_sub(gap + 2) else { break };
            assert!(ranges.push(AckRange { smallest: largest.saturating_sub(length), largest }));
        }
        Ack { delay, ranges, ecn }
    })
}

fn new_id() -> impl Strategy<Value = NewConnectionId> {
    (integer(), 0u64..3, id(1..=20), any::<[u8; 16]>()).prop_map(|(sequence, before, id, reset_token)| {
        let retire_prior_to = VarInt::new(sequence.get().saturating_sub(before)).unwrap();
        NewConnectionId { sequence, retire_prior_to, id, reset_token }
    })
}

fn path_frame() -> impl Strategy<Value = PathFrame> {
    let path = || any::<u32>();
    prop_oneof![
        (path(), ack()).prop_map(|(path, ack)| PathFrame::Ack { path, ack }),
        (path(), integer()).prop_map(|(path, error)| PathFrame::Abandon { path, error }),
        (path(), integer(), any::<bool>()).prop_map(|(path, sequence, backup)| PathFrame::Status {
            path,
            sequence,
            backup
        }),
        (path(), new_id()).prop_map(|(path, id)| PathFrame::NewConnectionId { path, id }),
        (path(), integer()).prop_map(|(path, sequence)| PathFrame::RetireConnectionId { path, sequence }),
        path().prop_map(PathFrame::MaxPathId),
        path().prop_map(PathFrame::PathsBlocked),
        (path(), integer()).prop_map(|(path, next)| PathFrame::ConnectionIdsBlocked { path, next }),
    ]
}

/// An offset at which a frame may carry a few bytes.
fn offset() -> impl Strategy<Value = VarInt> {
    integer().prop_map(|offset| VarInt::new(offset.get().min(VarInt::MAX.get() - 100)).unwrap())
}

fn stream(to_end: bool) -> impl Strategy<Value = Stream<'static>> {
    let numbers = (integer(), prop_oneof![Just(VarInt::ZERO), offset()]);
    (numbers, payload(0..70), any::<bool>()).prop_map(move |((id, offset), data, fin)| Stream {
        id,
        offset,
        data,
        fin,
        to_end,
    })
}

/// Frames that may occur at any place.
fn frame() -> impl Strategy<Value = Frame<'static>> {
    let directions = || any::<bool>().prop_map(|both| if both { Directions::Both } else { Directions::One });
    let streams = || (0u64..=1 << 60).prop_map(|limit| VarInt::new(limit).unwrap());
    let close = (integer(), prop::option::of(integer()), payload(0..20));
    prop_oneof![
        Just(Frame::Ping),
        ack().prop_map(Frame::Ack),
        (integer(), integer(), integer()).prop_map(|(id, error, final_size)| Frame::ResetStream {
            id,
            error,
            final_size
        }),
        (integer(), integer()).prop_map(|(id, error)| Frame::StopSending { id, error }),
        (offset(), payload(0..70)).prop_map(|(offset, data)| Frame::Crypto { offset, data }),
        payload(1..70).prop_map(Frame::NewToken),
        stream(false).prop_map(Frame::Stream),
        integer().prop_map(Frame::MaxData),
        (integer(), integer()).prop_map(|(id, limit)| Frame::MaxStreamData { id, limit }),
        (directions(), streams()).prop_map(|(directions, limit)| Frame::MaxStreams { directions, limit }),
        integer().prop_map(Frame::DataBlocked),
        (integer(), integer()).prop_map(|(id, limit)| Frame::StreamDataBlocked { id, limit }),
        (directions(), streams()).prop_map(|(directions, limit)| Frame::StreamsBlocked { directions, limit }),
        new_id().prop_map(Frame::NewConnectionId),
        integer().prop_map(Frame::RetireConnectionId),
        any::<[u8; 8]>().prop_map(Frame::PathChallenge),
        any::<[u8; 8]>().prop_map(Frame::PathResponse),
        close.prop_map(|(error, frame, reason)| Frame::ConnectionClose(Close { error, frame, reason })),
        Just(Frame::HandshakeDone),
        path_frame().prop_map(Frame::Path),
        path_frame().prop_map(Frame::Path),
    ]
}

/// A packet's frames: padding is not adjacent to padding, and a frame without a length is the last.
fn frames() -> impl Strategy<Value = Vec<Frame<'static>>> {
    let last = prop_oneof![
        stream(true).prop_map(Frame::Stream),
        (1usize..30).prop_map(Frame::Padding),
        Just(Frame::Ping)
    ];
    let before = prop_oneof![Just(None), (1usize..5).prop_map(Some)];
    (before, prop::collection::vec(frame(), 0..6), last).prop_map(|(padding, mut frames, last)| {
        frames.push(Frame::Ping);
        frames.push(last);
        padding.map(Frame::Padding).into_iter().chain(frames).collect()
    })
}

fn number() -> impl Strategy<Value = Truncated> {
    (1u8..=4, any::<u32>())
        .prop_map(|(bytes, low)| Truncated { low: low & (u32::MAX >> (32 - 8 * bytes)), bytes })
}

fn header() -> impl Strategy<Value = Header<'static>> {
    let kind = prop_oneof![
        payload(0..70).prop_map(|token| LongKind::Initial { token }),
        Just(LongKind::ZeroRtt),
        Just(LongKind::Handshake),
    ];
    prop_oneof![
        (kind, id(0..=20), id(0..=20), number()).prop_map(
            |(kind, destination, source, number)| Header::Long(Long { kind, destination, source, number })
        ),
        (any::<(bool, bool)>(), id(0..=20), number()).prop_map(|((spin, key_phase), destination, number)| {
            Header::Short(Short { spin, key_phase, destination, number })
        }),
    ]
}

/// Returns the length of the connection ID for packets that do not include it.
fn id_bytes(header: &Header<'_>) -> usize {
    match header {
        Header::Long(_) => 0,
        Header::Short(short) => short.destination.as_bytes().len(),
    }
}

fn encoded(header: &Header<'_>, frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(frames, &mut bytes);
    bytes
}

fn payload_of(frames: &[Frame<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frames.iter().for_each(|frame| frame.encode(&mut bytes));
    bytes
}

fn all(payload: &[u8]) -> Result<Vec<Frame<'_>>, DecodeError> {
    Frames::new(payload).collect()
}

proptest! {
    #[test]
    fn packets_that_are_written_are_read_again(header in header(), frames in frames()) {
        let bytes = encoded(&header, &frames);
        let (packet, rest) = Packet::decode(&bytes, id_bytes(&header)).unwrap();
        prop_assert!(rest.is_empty());
        prop_assert_eq!(packet.header, header);
        let read: Vec<_> = packet.frames.collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&read, &frames);
        prop_assert_eq!(encoded(&packet.header, &read), bytes);
    }

    #[test]
    fn a_datagram_may_hold_several_packets(first in header(), second in header(), frames in frames()) {
        prop_assume!(matches!(first, Header::Long(_)));
        let datagram = [encoded(&first, &frames), encoded(&second, &[Frame::Ping])].concat();
        let (packet, rest) = Packet::decode(&datagram, id_bytes(&second)).unwrap();
        prop_assert_eq!(packet.header, first);
        let (packet, rest) = Packet::decode(rest, id_bytes(&second)).unwrap();
        prop_assert_eq!((packet.header, rest.len()), (second, 0));
    }

    #[test]
    fn a_packet_that_is_cut_anywhere_is_refused(header in header(), frames in frames()) {
        let bytes = encoded(&header, &frames);
        let bound = match header {
            Header::Long(_) => bytes.len(),
            // The end of a short packet is that of the datagram.
            Header::Short(short) => 1 + id_bytes(&header) + usize::from(short.number.bytes) + TAG_BYTES,
        };
        for end in 0..bound {
            let error = Packet::decode(&bytes[..end], id_bytes(&header)).unwrap_err();
            prop_assert!(error.is_short(), "{}: {}", end, error);
        }
    }

    #[test]
    fn a_frame_that_is_cut_anywhere_is_refused(frame in frame()) {
        let bytes = payload_of(std::slice::from_ref(&frame));
        prop_assert_eq!(all(&bytes), Ok(vec![frame.clone()]));
        for end in 1..bytes.len() {
            match all(&bytes[..end]) {
                Err(DecodeError::Short { .. }) => {}
                // The announced ranges exceed the available bytes, which is detected before they
                // are read.
                Err(DecodeError::Length { field: "ACK's number of ranges", .. }) => {}
                other => prop_assert!(false, "{}: {:?}", end, other),
            }
        }
    }

    #[test]
    fn transport_parameters_are_read_again(
        integers in prop::collection::vec(prop::option::of(integer()), 11),
        ids in (prop::option::of(id(0..=20)), prop::option::of(id(0..=20))),
        (no_migration, max_path_id) in any::<(bool, Option<u32>)>(),
    ) {
        let limited = |place: usize, least: u64, most: u64| {
            integers[place].map(|value: VarInt| VarInt::new(value.get().clamp(least, most)).unwrap())
        };
        let parameters = TransportParameters {
            original_destination: ids.0,
            max_idle_timeout: integers[0],
            max_udp_payload: limited(1, 1200, VarInt::MAX.get()),
            max_data: integers[2],
            max_stream_data_local: integers[3],
            max_stream_data_remote: integers[4],
            max_stream_data_one_way: integers[5],
            max_streams: limited(6, 0, 1 << 60),
            max_streams_one_way: limited(7, 0, 1 << 60),
            ack_delay_exponent: limited(8, 0, 20),
            max_ack_delay: limited(9, 0, (1 << 14) - 1),
            no_migration,
            connection_id_limit: limited(10, 2, VarInt::MAX.get()),
            initial_source: ids.1,
            max_path_id,
        };
        let mut bytes = Vec::new();
        parameters.encode(&mut bytes);
        prop_assert_eq!(TransportParameters::decode(&bytes), Ok(parameters));
        // An unknown parameter (RFC 9000 §18.1) is skipped.
        let with_unknown = [&[0x1b, 2, 7, 7], &bytes[..]].concat();
        prop_assert_eq!(TransportParameters::decode(&with_unknown), Ok(parameters));
        for end in 0..bytes.len() {
            let cut = TransportParameters::decode(&bytes[..end]);
            prop_assert!(cut != Ok(parameters));
            if let Err(error) = cut {
                prop_assert!(error.is_short(), "{}", error);
            }
        }
    }
}

fn integers<const N: usize>(values: [u32; N]) -> [VarInt; N] {
    values.map(VarInt::from_u32)
}

/// The code points of draft-ietf-quic-multipath-21, in two bytes except for PATH_ACK.
#[test]
fn frames_of_the_multipath_extension_by_hand() {
    let [one, two] = integers([1, 2]);
    let ranges = || {
        let mut ranges = AckRanges::new(AckRange { smallest: 10, largest: 12 }).unwrap();
        assert!(ranges.push(AckRange { smallest: 5, largest: 7 }));
        ranges
    };
    let ack = |ecn| PathFrame::Ack { path: 4, ack: Ack { delay: one, ranges: ranges(), ecn } };
    let counts = EcnCounts { ect0: one, ect1: two, ce: VarInt::ZERO };
    let id = NewConnectionId {
        sequence: two,
        retire_prior_to: one,
        id: ConnectionId::new(&[7]).unwrap(),
        reset_token: [9; 16],
    };
    let issued = [&[0x7e, 0x78, 4, 2, 1, 1, 7][..], &[9; 16]].concat();
    let cases: [(PathFrame, &[u8]); 10] = [
        (ack(None), &[0x3e, 4, 12, 1, 1, 2, 1, 2]),
        (ack(Some(counts)), &[0x3f, 4, 12, 1, 1, 2, 1, 2, 1, 2, 0]),
        (PathFrame::Abandon { path: 4, error: AbandonReason::Application.into() }, &[0x7e, 0x75, 4, 0x3e]),
        (PathFrame::Status { path: 4, sequence: two, backup: true }, &[0x7e, 0x76, 4, 2]),
        (PathFrame::Status { path: 4, sequence: two, backup: false }, &[0x7e, 0x77, 4, 2]),
        (PathFrame::NewConnectionId { path: 4, id }, &issued),
        (PathFrame::RetireConnectionId { path: 4, sequence: two }, &[0x7e, 0x79, 4, 2]),
        (PathFrame::MaxPathId(4), &[0x7e, 0x7a, 4]),
        (PathFrame::PathsBlocked(4), &[0x7e, 0x7b, 4]),
        (PathFrame::ConnectionIdsBlocked { path: 4, next: two }, &[0x7e, 0x7c, 4, 2]),
    ];
    for (frame, bytes) in cases {
        let frame = Frame::Path(frame);
        assert_eq!(payload_of(std::slice::from_ref(&frame)), bytes, "{frame:?}");
        assert_eq!(all(bytes), Ok(vec![frame]));
    }
    let mut parameters = Vec::new();
    TransportParameters { max_path_id: Some(3), ..TransportParameters::default() }.encode(&mut parameters);
    assert_eq!(parameters, [0x3e, 1, 3]);
}

/// A STREAM frame's type tells which fields it has (RFC 9000 §19.8).
#[test]
fn frames_of_streams_by_hand() {
    let [id, offset] = integers([3, 64]);
    let stream = |offset, fin, to_end| Frame::Stream(Stream { id, offset, data: &[5, 6], fin, to_end });
    let cases: [(Frame<'_>, &[u8]); 4] = [
        (stream(VarInt::ZERO, false, true), &[0x08, 3, 5, 6]),
        (stream(VarInt::ZERO, true, false), &[0x0b, 3, 2, 5, 6]),
        (stream(offset, false, false), &[0x0e, 3, 0x40, 64, 2, 5, 6]),
        (stream(offset, true, true), &[0x0d, 3, 0x40, 64, 5, 6]),
    ];
    for (frame, bytes) in cases {
        assert_eq!(payload_of(std::slice::from_ref(&frame)), bytes);
        let Frame::Stream(stream) = frame else { unreachable!() };
        assert_eq!(stream.header_bytes(), bytes.len() - 2);
    }
}

#[test]
fn a_packet_by_hand() {
    let number = Truncated { low: 0x9b32, bytes: 2 };
    let destination = ConnectionId::new(&[1, 2, 3, 4]).unwrap();
    let short = Header::Short(Short { spin: false, key_phase: true, destination, number });
    let expected = [&[0x45, 1, 2, 3, 4, 0x9b, 0x32, 1][..], &[0; TAG_BYTES]].concat();
    assert_eq!(encoded(&short, &[Frame::Ping]), expected);
    let source = ConnectionId::new(&[9]).unwrap();
    let kind = LongKind::Initial { token: &[8, 8] };
    let long = Header::Long(Long { kind, destination, source, number });
    let head = [0xc1, 0, 0, 0, 1, 4, 1, 2, 3, 4, 1, 9, 2, 8, 8, 0x40, 19, 0x9b, 0x32, 1];
    assert_eq!(encoded(&long, &[Frame::Ping]), [&head[..], &[0; TAG_BYTES]].concat());
}

#[test]
fn what_the_formats_forbid_is_refused() {
    let refused = |payload: &[u8]| all(payload).unwrap_err().to_string();
    assert_eq!(refused(&[0x1f]), "frame type at byte 0: 0x1f is not allowed");
    assert_eq!(refused(&[1, 0x40, 1]), "frame type at byte 1: 0x1 is not allowed", "not in the shortest way");
    assert_eq!(refused(&[0x7e, 0x7d]), "frame type at byte 0: 0x3e7d is not allowed");
    // More ranges than possible; a range and a gap that reach below 0.
    let many = [2, 9, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0];
    assert_eq!(refused(&many), "ACK's number of ranges at byte 3: its length cannot be 4611686018427387903");
    assert_eq!(refused(&[2, 9, 0, 0, 10]), "ACK's range at byte 4: 0xa is not allowed");
    assert_eq!(refused(&[2, 9, 0, 1, 9, 0, 0]), "ACK's range at byte 5: 0x0 is not allowed");
    assert_eq!(refused(&[2, 9, 0, 1, 2, 0, 6]), "ACK's range at byte 6: 0x6 is not allowed");
    let beyond = [0x0c, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7];
    assert_eq!(refused(&beyond), "STREAM's offset at byte 2: 0x3fffffffffffffff is not allowed");
    assert_eq!(refused(&[7, 0]), "NEW_TOKEN at byte 1: its length cannot be 0");
    assert_eq!(refused(&[0x18, 1, 2, 1]), "retire prior to at byte 2: 0x2 is not allowed");
    assert_eq!(refused(&[0x18, 1, 1, 0]), "new connection ID at byte 3: its length cannot be 0");
    assert_eq!(refused(&[0x18, 1, 1, 21]), "new connection ID at byte 3: its length cannot be 21");
    let streams = [0x12, 0xd0, 0, 0, 0, 0, 0, 0, 1];
    assert_eq!(refused(&streams), "number of streams at byte 1: 0x1000000000000001 is not allowed");
    let path = [0x7e, 0x7a, 0xc0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(refused(&path), "path identifier at byte 2: 0x100000000 is not allowed");

    let refused = |datagram: &[u8]| Packet::decode(datagram, 0).unwrap_err().to_string();
    assert_eq!(refused(&[0x05]), "fixed bit at byte 0: 0x5 is not allowed");
    assert_eq!(refused(&[0x50]), "reserved bits at byte 0: 0x50 is not allowed");
    assert_eq!(refused(&[0xc4]), "reserved bits at byte 0: 0xc4 is not allowed");
    assert_eq!(refused(&[0xc0, 0, 0, 0, 2]), "version at byte 1: 0x2 is not allowed");
    assert_eq!(
        refused(&[0xc0, 0, 0, 0, 1, 21]),
        "destination connection ID at byte 5: its length cannot be 21"
    );
    assert_eq!(refused(&[0xf0, 0, 0, 0, 1, 0, 0]), "packet type at byte 0: 0xf0 is not allowed");

    let refused = |bytes: &[u8]| TransportParameters::decode(bytes).unwrap_err().to_string();
    assert_eq!(refused(&[0x0a, 1, 21]), "transport parameter at byte 2: 0x15 is not allowed");
    assert_eq!(refused(&[0x0a, 2, 3, 3]), "transport parameter at byte 3: its length cannot be 2");
    assert_eq!(
        refused(&[0x0a, 1, 3, 0x0a, 1, 3]),
        "transport parameter given twice at byte 3: 0xa is not allowed"
    );
    assert_eq!(refused(&[0x0c, 0, 0x0c, 0]), "transport parameter given twice at byte 2: 0xc is not allowed");
    let most = [0x3e, 8, 0xc0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(refused(&most), "transport parameter at byte 2: 0x100000000 is not allowed");
}
