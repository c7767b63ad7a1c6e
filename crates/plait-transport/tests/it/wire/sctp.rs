//! SCTP packets.

use super::payload;
use plait_transport::wire::DecodeError;
use plait_transport::wire::sctp::{
    self, ChangedBlock, Changes, Chunk, Data, GapBlock, Header, HeartbeatInfo, Init, Parameter, Sack, Unknown,
};
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};

fn header() -> impl Strategy<Value = Header> {
    any::<(u16, u16, u32)>().prop_map(|(source_port, destination_port, verification_tag)| Header {
        source_port,
        destination_port,
        verification_tag,
    })
}

fn data() -> impl Strategy<Value = Data<'static>> {
    let numbers = any::<(u32, u16, u16, u32)>();
    let flags = any::<(bool, bool, bool, bool)>();
    (numbers, flags, payload(1..100)).prop_map(|(numbers, flags, payload)| {
        let (tsn, stream, sequence, protocol) = numbers;
        let (beginning, ending, unordered, immediate) = flags;
        Data { tsn, stream, sequence, protocol, beginning, ending, unordered, immediate, payload }
    })
}

fn sack() -> impl Strategy<Value = Sack> {
    let block = (1u16.., any::<u16>())
        .prop_map(|(start, length)| GapBlock { start, end: start.saturating_add(length) });
    let lists = (prop::collection::vec(block, 0..20), prop::collection::vec(any::<u32>(), 0..5));
    (any::<(u32, u32)>(), 0u8..4, lists).prop_map(|((cumulative, window), packets, (blocks, duplicates))| {
        Sack { cumulative, window, packets, blocks, duplicates }
    })
}

fn changes() -> impl Strategy<Value = Changes> {
    let block = (1u32.., any::<u32>())
        .prop_map(|(start, length)| ChangedBlock { start, end: start.saturating_add(length) });
    (any::<(u64, u64)>(), prop::collection::vec(block, 0..40)).prop_map(|((from, end), blocks)| Changes {
        from,
        end,
        blocks,
    })
}

fn parameter() -> impl Strategy<Value = Parameter<'static>> {
    prop_oneof![
        any::<Ipv4Addr>().prop_map(Parameter::Ipv4Address),
        any::<Ipv6Addr>().prop_map(Parameter::Ipv6Address),
        payload(0..30).prop_map(Parameter::StateCookie),
        // A parameter that is skipped; other unknown ones end the chunk.
        (0xc001u16.., payload(0..10)).prop_map(|(kind, value)| Parameter::Unknown { kind, value }),
    ]
}

fn init() -> impl Strategy<Value = Init<'static>> {
    (any::<(u32, u32, u16, u16, u32)>(), prop::collection::vec(parameter(), 0..5)).prop_map(
        |((tag, window, outbound_streams, inbound_streams, initial_tsn), parameters)| Init {
            tag,
            window,
            outbound_streams,
            inbound_streams,
            initial_tsn,
            parameters,
        },
    )
}

fn chunk() -> impl Strategy<Value = Chunk<'static>> {
    let unknown = (0x8fu8..0xbe, any::<u8>(), payload(0..20));
    prop_oneof![
        data().prop_map(Chunk::Data),
        sack().prop_map(Chunk::Sack),
        changes().prop_map(Chunk::Changes),
        init().prop_map(Chunk::Init),
        init().prop_map(Chunk::InitAck),
        payload(0..30).prop_map(Chunk::Heartbeat),
        payload(0..30).prop_map(Chunk::HeartbeatAck),
        (any::<bool>(), payload(0..9)).prop_map(|(reflected, causes)| Chunk::Abort { reflected, causes }),
        any::<u32>().prop_map(|cumulative| Chunk::Shutdown { cumulative }),
        Just(Chunk::ShutdownAck),
        payload(0..9).prop_map(Chunk::Error),
        payload(0..30).prop_map(Chunk::CookieEcho),
        Just(Chunk::CookieAck),
        any::<bool>().prop_map(|reflected| Chunk::ShutdownComplete { reflected }),
        unknown.prop_map(|(kind, flags, value)| Chunk::Unknown(Unknown { kind, flags, value })),
    ]
}

fn encoded(header: &Header, chunks: &[Chunk<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.encode(chunks, &mut bytes);
    bytes
}

/// Sets a valid checksum, so that invented bytes are decoded.
fn sealed(mut packet: Vec<u8>) -> Vec<u8> {
    packet[8..12].fill(0);
    let sum = crc32c::crc32c(&packet);
    packet[8..12].copy_from_slice(&sum.to_le_bytes());
    packet
}

fn all(packet: &[u8]) -> Result<Vec<Chunk<'_>>, DecodeError> {
    sctp::decode(packet)?.1.collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(header in header(), chunks in prop::collection::vec(chunk(), 0..6)) {
        let bytes = encoded(&header, &chunks);
        prop_assert_eq!(bytes.len() % 4, 0, "chunks are padded");
        let (decoded, read) = sctp::decode(&bytes).unwrap();
        prop_assert_eq!(decoded, header);
        let read: Vec<_> = read.collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&read, &chunks);
        prop_assert_eq!(encoded(&decoded, &read), bytes);
    }

    #[test]
    fn a_chunk_that_is_cut_anywhere_is_refused(header in header(), chunk in chunk()) {
        let bytes = encoded(&header, std::slice::from_ref(&chunk));
        let length = usize::from(u16::from_be_bytes([bytes[14], bytes[15]]));
        for end in 0..12 {
            let error = sctp::decode(&bytes[..end]).unwrap_err();
            prop_assert!(error.is_short(), "{}", error);
        }
        for end in 13..12 + length {
            let cut = sealed(bytes[..end].to_vec());
            let error = all(&cut).unwrap_err();
            prop_assert!(error.is_short(), "{}: {}", end, error);
        }
        // Only padding is missing.
        for end in 12 + length..bytes.len() {
            let cut = sealed(bytes[..end].to_vec());
            prop_assert_eq!(all(&cut), Ok(vec![chunk.clone()]));
        }
    }

    #[test]
    fn a_damaged_packet_is_refused(chunk in chunk(), place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };
        let mut bytes = encoded(&header, &[chunk]);
        let place = place.index(bytes.len());
        bytes[place] ^= 1 << bit;
        let refused = matches!(sctp::decode(&bytes), Err(DecodeError::Checksum { .. }));
        prop_assert!(refused);
    }

    #[test]
    fn heartbeats_come_back(sent_at in any::<u64>(), path in any::<u64>()) {
        let info = HeartbeatInfo { sent_at, path };
        prop_assert_eq!(HeartbeatInfo::decode(&info.encode()), Ok(info));
    }
}

const HEADER: Header = Header { source_port: 1, destination_port: 2, verification_tag: 3 };

/// Returns a packet with these bytes as its chunks.
fn packet(chunks: &[u8]) -> Vec<u8> {
    sealed([encoded(&HEADER, &[]), chunks.to_vec()].concat())
}

#[test]
fn a_sack_by_hand() {
    let sack = Sack {
        cumulative: 2,
        window: 0x0102_0304,
        packets: 2,
        blocks: vec![GapBlock { start: 3, end: 4 }, GapBlock { start: 7, end: 7 }],
        duplicates: vec![1],
    };
    let bytes = encoded(&HEADER, &[Chunk::Sack(sack)]);
    let expected = [3, 2 << 6, 0, 28, 0, 0, 0, 2, 1, 2, 3, 4, 0, 2, 0, 1, 0, 3, 0, 4, 0, 7, 0, 7, 0, 0, 0, 1];
    assert_eq!(bytes[12..], expected);
}

/// RFC 9260 §3.2: the upper two bits of the type tell whether the rest is processed.
#[test]
fn unknown_chunks_are_skipped_or_end_the_packet() {
    let known = [11, 0, 0, 4];
    for (kind, chunks, reports) in [(0x3e, 1, false), (0x7e, 1, true), (0xa0, 2, false), (0xe0, 2, true)] {
        let bytes = packet(&[&[kind, 9, 0, 5, 77, 0, 0, 0], &known[..]].concat());
        let read = all(&bytes).unwrap();
        let unknown = Unknown { kind, flags: 9, value: &[77] };
        assert_eq!(read[0], Chunk::Unknown(unknown));
        assert_eq!((read.len(), unknown.action().reports()), (chunks, reports), "{kind:#x}");
    }
    // The same rule holds for parameters, whose types have 16 bits.
    let parameters = [0x3f, 0xf0, 0, 4, 0, 7, 0, 4];
    let bytes = packet(&[&[1, 0, 0, 28][..], &[0; 16], &parameters].concat());
    let Chunk::Init(init) = &all(&bytes).unwrap()[0] else { panic!("an INIT") };
    assert_eq!(init.parameters, [Parameter::Unknown { kind: 0x3ff0, value: &[] }]);
}

/// A peer that does not know our private chunk reads the chunks around it.
#[test]
fn our_own_chunk_is_one_that_peers_skip() {
    let bytes = encoded(&HEADER, &[Chunk::Changes(Changes::default())]);
    assert_eq!(bytes[12] >> 6, 0b10);
}

#[test]
fn lengths_that_contradict_are_refused() {
    let refused = |chunks: &[u8]| all(&packet(chunks)).unwrap_err().to_string();
    assert_eq!(refused(&[11, 0, 0, 3]), "chunk at byte 14: its length cannot be 3");
    assert_eq!(refused(&[11, 0, 0, 9, 0]), "chunk at byte 16: 4 bytes are missing");
    let data = [&[0, 3, 0, 16][..], &[0; 12]].concat();
    assert_eq!(refused(&data), "DATA's payload at byte 28: its length cannot be 0");
    // The largest announced numbers of blocks, and no block present.
    let sack = [&[3, 0, 0, 16][..], &[0; 8], &[0xff; 4]].concat();
    assert_eq!(refused(&sack), "SACK's gap blocks and duplicates at byte 28: its length cannot be 524280");
    let reversed = [&[3, 0, 0, 20][..], &[0; 8], &[0, 1, 0, 0, 0, 5, 0, 4]].concat();
    assert_eq!(refused(&reversed), "gap block at byte 28: 0x50004 is not allowed");
    assert_eq!(refused(&[4, 0, 0, 8, 0, 2, 0, 4]), "heartbeat's parameter at byte 16: 0x2 is not allowed");
    assert_eq!(
        refused(&[11, 0, 0, 5, 1]),
        "chunk with more than its type has at byte 16: its length cannot be 1"
    );
}
