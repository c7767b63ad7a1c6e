//! Initial inputs: one of each kind that our encoders produce.

use plait_transport::wire::checksum::Addresses;
use plait_transport::wire::mptcp::{
    AddAddress, Capable, DataSequence, FirstData, Join, Keys, Mapping, MptcpOption, Number,
};
use plait_transport::wire::number::Truncated;
use plait_transport::wire::quic::{
    Ack, AckRange, AckRanges, Close, ConnectionId, Directions, EcnCounts, Frame, Header, Long, LongKind,
    NewConnectionId, PathFrame, Short, Stream, TransportParameters, VarInt,
};
use plait_transport::wire::sctp::{
    self, ChangedBlock, Changes, Chunk, Data, GapBlock, HeartbeatInfo, Init, Parameter, Sack, Unknown,
};
use plait_transport::wire::tcp::{self, Flags, Options, SackBlock, SackBlocks, TcpOption};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Packets of one chunk each, and one of many.
pub fn sctp() -> Vec<Vec<u8>> {
    let info = HeartbeatInfo { sent_at: 7, path: 1 }.encode();
    let init = Init {
        tag: 1,
        window: 65_536,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: 5,
        parameters: vec![
            Parameter::Ipv4Address(Ipv4Addr::LOCALHOST),
            Parameter::Ipv6Address(Ipv6Addr::LOCALHOST),
            Parameter::StateCookie(b"cookie"),
            Parameter::Unknown { kind: 0xc005, value: &[1] },
        ],
    };
    let data = Data {
        tsn: 9,
        stream: 0,
        sequence: 9,
        protocol: 0,
        beginning: true,
        ending: true,
        unordered: false,
        immediate: true,
        payload: b"payload",
    };
    let sack = Sack {
        cumulative: 8,
        window: 65_536,
        packets: 2,
        blocks: vec![GapBlock { start: 2, end: 3 }, GapBlock { start: 5, end: 5 }],
        duplicates: vec![4],
    };
    let blocks = vec![ChangedBlock { start: 5, end: 5 }, ChangedBlock { start: 2, end: 3 }];
    let chunks = [
        Chunk::Data(data),
        Chunk::Init(init.clone()),
        Chunk::InitAck(init),
        Chunk::Sack(sack),
        Chunk::Changes(Changes { from: 3, end: 5, blocks }),
        Chunk::Heartbeat(&info),
        Chunk::HeartbeatAck(&info),
        Chunk::Abort { reflected: true, causes: &[] },
        Chunk::Shutdown { cumulative: 9 },
        Chunk::ShutdownAck,
        Chunk::Error(&[0, 6, 0, 4]),
        Chunk::CookieEcho(b"cookie"),
        Chunk::CookieAck,
        Chunk::ShutdownComplete { reflected: false },
        Chunk::Unknown(Unknown { kind: 0xc1, flags: 0, value: &[1, 2] }),
    ];
    let packet = |chunks: &[Chunk<'_>]| {
        let mut bytes = Vec::new();
        let header = sctp::Header { source_port: 40_000, destination_port: 5_001, verification_tag: 1 };
        header.encode(chunks, &mut bytes);
        bytes
    };
    let alone = chunks.chunks(1).map(packet);
    alone.chain([packet(&chunks)]).collect()
}

/// Segments with one option each.
pub fn tcp() -> Vec<Vec<u8>> {
    let mut blocks = SackBlocks::default();
    assert!(blocks.push(SackBlock { left: 1, right: 2 }) && blocks.push(SackBlock { left: 5, right: 9 }));
    let data = FirstData { length: 100, checksum: Some(7) };
    let capable = |keys: Keys| MptcpOption::Capable(Capable { version: 1, flags: 1, keys });
    let sequence = |long: bool, checksum: Option<u16>| {
        let number = |number: u32| if long { Number::Long(number.into()) } else { Number::Short(number) };
        let mapping = Mapping { data: number(1), subflow: 1, length: 100, checksum };
        MptcpOption::DataSequence(DataSequence {
            acknowledgement: Some(number(9)),
            mapping: Some(mapping),
            fin: long,
        })
    };
    let address = |address: IpAddr, port: Option<u16>, proof: Option<u64>| {
        MptcpOption::AddAddress(AddAddress { echo: proof.is_none(), id: 2, address, port, proof })
    };
    let multipath = [
        capable(Keys::None),
        capable(Keys::Sender(1)),
        capable(Keys::Both(1, 2, None)),
        capable(Keys::Both(1, 2, Some(data))),
        MptcpOption::Join(Join::Syn { backup: true, address: 1, token: 7, nonce: 8 }),
        MptcpOption::Join(Join::SynAck { backup: false, address: 1, proof: 7, nonce: 8 }),
        MptcpOption::Join(Join::Ack { proof: [6; 20] }),
        sequence(true, None),
        sequence(false, Some(3)),
        address(Ipv4Addr::LOCALHOST.into(), None, Some(1)),
        address(Ipv6Addr::LOCALHOST.into(), Some(80), None),
        MptcpOption::RemoveAddress(&[1, 2]),
        MptcpOption::Priority { backup: true, address: None },
        MptcpOption::Fail { sequence: 5 },
        MptcpOption::FastClose { key: 1 },
        MptcpOption::Reset { transient: true, reason: 3 },
        MptcpOption::Unknown { subtype: 12, flags: 1, value: &[9] },
    ];
    let plain = [
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::WindowScale(7),
        TcpOption::SackPermitted,
        TcpOption::Sack(blocks),
        TcpOption::Timestamps { value: 1, echo: 2 },
        TcpOption::Unknown { kind: 254, value: &[0, 1] },
    ];
    let segment = |option: TcpOption<'_>| {
        let mut options = Options::new();
        assert!(options.push(&TcpOption::NoOperation) && options.push(&option));
        let header = tcp::Header {
            source_port: 40_000,
            destination_port: 5_001,
            sequence: 1,
            acknowledgement: 2,
            flags: Flags::ACK,
            window: 100,
            urgent: 0,
        };
        let address = Ipv4Addr::LOCALHOST.into();
        let mut bytes = Vec::new();
        header.encode(&options, &Addresses { source: address, destination: address }, &[], &mut bytes);
        bytes
    };
    plain.into_iter().chain(multipath.map(TcpOption::Mptcp)).map(segment).collect()
}

fn all_frames() -> Vec<Frame<'static>> {
    let [one, two] = [1, 70].map(VarInt::from_u32);
    let ranges = || {
        let mut ranges = AckRanges::new(AckRange { smallest: 90, largest: 99 }).expect("a range");
        assert!(ranges.push(AckRange { smallest: 1, largest: 80 }));
        ranges
    };
    let ecn = Some(EcnCounts { ect0: two, ect1: VarInt::ZERO, ce: one });
    let ack = |ecn| Ack { delay: two, ranges: ranges(), ecn };
    let id = ConnectionId::new(&[1, 2, 3, 4]).expect("four bytes");
    let new = NewConnectionId { sequence: two, retire_prior_to: one, id, reset_token: [5; 16] };
    let stream = |offset, fin, to_end| Frame::Stream(Stream { id: one, offset, data: b"data", fin, to_end });
    vec![
        Frame::Padding(3),
        Frame::Ping,
        Frame::Ack(ack(None)),
        Frame::Ack(ack(ecn)),
        Frame::ResetStream { id: one, error: two, final_size: two },
        Frame::StopSending { id: one, error: two },
        Frame::Crypto { offset: one, data: b"hello" },
        Frame::NewToken(b"token"),
        stream(VarInt::ZERO, false, false),
        stream(two, true, false),
        Frame::MaxData(two),
        Frame::MaxStreamData { id: one, limit: two },
        Frame::MaxStreams { directions: Directions::Both, limit: two },
        Frame::MaxStreams { directions: Directions::One, limit: two },
        Frame::DataBlocked(two),
        Frame::StreamDataBlocked { id: one, limit: two },
        Frame::StreamsBlocked { directions: Directions::Both, limit: two },
        Frame::NewConnectionId(new),
        Frame::RetireConnectionId(one),
        Frame::PathChallenge([7; 8]),
        Frame::PathResponse([7; 8]),
        Frame::ConnectionClose(Close { error: one, frame: Some(two), reason: b"why" }),
        Frame::ConnectionClose(Close { error: one, frame: None, reason: b"" }),
        Frame::HandshakeDone,
        Frame::Path(PathFrame::Ack { path: 1, ack: ack(None) }),
        Frame::Path(PathFrame::Ack { path: 1, ack: ack(ecn) }),
        Frame::Path(PathFrame::Abandon { path: 1, error: one }),
        Frame::Path(PathFrame::Status { path: 1, sequence: two, backup: true }),
        Frame::Path(PathFrame::Status { path: 1, sequence: two, backup: false }),
        Frame::Path(PathFrame::NewConnectionId { path: 1, id: new }),
        Frame::Path(PathFrame::RetireConnectionId { path: 1, sequence: one }),
        Frame::Path(PathFrame::MaxPathId(3)),
        Frame::Path(PathFrame::PathsBlocked(3)),
        Frame::Path(PathFrame::ConnectionIdsBlocked { path: 1, next: two }),
        stream(VarInt::ZERO, true, true),
    ]
}

/// Payloads of one frame each, and one of all.
pub fn quic_frames() -> Vec<Vec<u8>> {
    let payload = |frames: &[Frame<'_>]| {
        let mut bytes = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut bytes));
        bytes
    };
    let frames = all_frames();
    frames.chunks(1).map(payload).chain([payload(&frames)]).collect()
}

/// Packets of every kind, with the byte that determines the length of a connection ID.
pub fn quic_packets() -> Vec<Vec<u8>> {
    let destination = ConnectionId::new(&[1, 2, 3, 4]).expect("four bytes");
    let source = ConnectionId::new(&[5]).expect("one byte");
    let number = Truncated { low: 300, bytes: 2 };
    let long = |kind| Header::Long(Long { kind, destination, source, number });
    let headers = [
        long(LongKind::Initial { token: b"token" }),
        long(LongKind::ZeroRtt),
        long(LongKind::Handshake),
        Header::Short(Short { spin: true, key_phase: false, destination, number }),
    ];
    let frames = all_frames();
    let packet = |header: Header<'_>| {
        let mut bytes = vec![4];
        header.encode(&frames, &mut bytes);
        bytes
    };
    headers.map(packet).into()
}

/// An input with all parameters.
pub fn quic_parameters() -> Vec<Vec<u8>> {
    let [id, some] = [ConnectionId::new(&[1, 2]), ConnectionId::new(&[])];
    let number = Some(VarInt::from_u32(1_200));
    let parameters = TransportParameters {
        original_destination: id,
        max_idle_timeout: number,
        max_udp_payload: number,
        max_data: number,
        max_stream_data_local: number,
        max_stream_data_remote: number,
        max_stream_data_one_way: number,
        max_streams: number,
        max_streams_one_way: number,
        ack_delay_exponent: Some(VarInt::from_u32(3)),
        max_ack_delay: Some(VarInt::from_u32(25)),
        no_migration: true,
        connection_id_limit: number,
        initial_source: some,
        max_path_id: Some(7),
    };
    let mut bytes = Vec::new();
    parameters.encode(&mut bytes);
    vec![bytes]
}

/// Small, medium and large numbers.
pub fn quic_numbers() -> Vec<Vec<u8>> {
    vec![vec![0; 17], vec![1; 17], vec![0xff; 17]]
}
