//! Encodes packets of MPTCP and TCP and decodes them, without a network. Foreign packets are
//! refused.

use crate::common::mptcp_config;
use plait_sched::PathId;
use plait_transport::Transmit;
use plait_transport::endpoint::Side;
use plait_transport::image::{Arriving, Boundaries};
use plait_transport::mptcp::{Agreed, Config, Image, Rules};
use plait_transport::packet::tcp::{Ack, Packet, TcpSegment};
use plait_transport::packet::{Data, SegmentEcn};
use plait_transport::sink::Origin;
use plait_transport::wire::DecodeError;
use plait_transport::wire::mptcp::MptcpOption;
use plait_transport::wire::tcp::{Segment, TcpOption};
use proptest::prelude::*;

const PATH: PathId = PathId(1);
const PAYLOAD: &[u8] = b"plait";
const BYTES: u64 = PAYLOAD.len() as u64;

fn configs() -> [(&'static str, Config); 3] {
    let config = Config { handshake: true, two_way: true, ..mptcp_config() };
    let tcp = Config { multipath: false, initial_path: PATH, ..config.clone() };
    [("RFCs", config.clone()), ("Linux", Config { rules: Rules::LINUX, ..config }), ("TCP", tcp)]
}

/// Returns the images of both ends, with numbers that wrap at once.
fn images(config: &Config) -> [Image; 2] {
    let agreed = Agreed::made_up(config, 2, [u32::MAX - 6, u32::MAX]);
    [Side::Client, Side::Server].map(|side| Image::new(config, &agreed, side))
}

fn encode(from: &mut Image, to: &Image, packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    let transmit = Transmit { path: PATH, packet, transmission: 0, origin: Origin::Sender { offset: None } };
    let payload = if packet.data().is_some() { PAYLOAD } else { &[] };
    from.encode(&transmit, payload, to.boundaries(), &mut bytes);
    bytes
}

fn decode(to: &mut Image, bytes: &[u8], peer: &Boundaries) -> Result<Packet, DecodeError> {
    let mut taken = None;
    let ecn = SegmentEcn { capable: true, congested: true, reduced: false };
    to.decode(&Arriving { path: PATH, ecn, bytes }, peer, |packet, _| taken = Some(packet))?;
    Ok(taken.expect("a packet is handed on"))
}

#[track_caller]
fn comes_back(from: &mut Image, to: &mut Image, packet: Packet) {
    let bytes = encode(from, to, &packet);
    assert_eq!(decode(to, &bytes, from.boundaries()), Ok(packet));
}

/// A segment of the subflow with the same number in the stream.
fn segment(number: u64, ack: Option<Ack>) -> Packet {
    Packet::Segment(TcpSegment {
        data: Data { segment: number, bytes: PAYLOAD.len() as u32 },
        number,
        offset: number * BYTES,
        timestamp: 70 + number as u32,
        echo: ack.map_or(0, |ack| ack.echo),
        push: number.is_multiple_of(2),
        ack,
        ecn: SegmentEcn { capable: true, congested: true, reduced: number == 3 },
    })
}

fn ack(config: &Config, cumulative: u64) -> Ack {
    let mut ack = Ack::new(cumulative, cumulative, 90, 70).with_window(cumulative * BYTES, 40_000);
    ack.plain = !config.multipath;
    ack
}

#[test]
fn every_packet_comes_back_as_it_was_sent() {
    for (name, config) in configs() {
        println!("{name}");
        let [mut client, mut server] = images(&config);
        comes_back(&mut client, &mut server, Packet::Syn { timestamp: 7 });
        comes_back(&mut server, &mut client, Packet::SynAck { timestamp: 8, echo: 7, window: 65_535 });
        comes_back(&mut client, &mut server, Packet::Confirm { timestamp: 9 });
        for number in (0..8).filter(|number| number % 3 != 0) {
            // They leave in order; only these arrive.
            let before = segment(number - 1, None);
            encode(&mut client, &server, &before);
            comes_back(&mut client, &mut server, segment(number, None));
        }
        // A retransmission keeps its number; the endpoint no longer knows its offset.
        let Packet::Segment(first) = segment(0, None) else { unreachable!() };
        let bytes = encode(&mut client, &server, &Packet::Segment(TcpSegment { offset: 0, ..first }));
        assert_eq!(decode(&mut server, &bytes, client.boundaries()), Ok(segment(0, None)));
        let acknowledged =
            [(0, None, &[(4, 5)][..]), (3, None, &[(7, 7)]), (3, Some(1), &[]), (6, None, &[])];
        for (sent, (cumulative, again, runs)) in (0..).zip(acknowledged) {
            let mut ack = ack(&config, cumulative);
            (ack.duplicate, ack.congested) = (again, cumulative == 6);
            runs.iter().for_each(|&(first, last)| assert!(ack.push_block(first, last)));
            comes_back(&mut server, &mut client, Packet::Ack(ack));
            comes_back(&mut server, &mut client, riding(&config, sent, ack));
        }
    }
}

/// A segment with a piggybacked acknowledgement as sent by an endpoint. A segment with a mapping
/// has no space for blocks, an acknowledgement of nothing is not piggybacked, and a packet has one
/// echo and one clock.
fn riding(config: &Config, number: u64, mut ack: Ack) -> Packet {
    if config.multipath {
        let bare = Ack::new(ack.cumulative, ack.data, ack.timestamp, ack.echo);
        let congested = ack.congested;
        ack = bare.with_window(ack.data * BYTES, ack.window);
        ack.congested = congested;
    }
    let tells = ack.cumulative > 0 || ack.blocks().next().is_some();
    let Packet::Segment(segment) = segment(number, tells.then_some(ack)) else { unreachable!() };
    Packet::Segment(TcpSegment { timestamp: ack.timestamp, ..segment })
}

/// A duplicate beyond the acknowledgement is recognised by the block of its run, which follows.
#[test]
fn what_arrived_again_is_told_from_what_arrived() {
    let [_, _, (_, config)] = configs();
    let [mut client, mut server] = images(&config);
    for number in 0..9 {
        comes_back(&mut client, &mut server, segment(number, None));
    }
    let mut again = ack(&config, 2);
    again.duplicate = Some(5);
    assert!(again.push_block(4, 6) && again.push_block(8, 8));
    comes_back(&mut server, &mut client, Packet::Ack(again));
    let mut plain = ack(&config, 2);
    assert!(plain.push_block(5, 5) && plain.push_block(8, 8));
    comes_back(&mut server, &mut client, Packet::Ack(plain));
}

fn mappings(bytes: &[u8]) -> usize {
    let options = Segment::decode(bytes).expect("our own").options;
    let mapped = |option: &Result<TcpOption<'_>, DecodeError>| matches!(option, Ok(TcpOption::Mptcp(MptcpOption::DataSequence(sequence))) if sequence.mapping.is_some());
    options.filter(mapped).count()
}

#[test]
fn after_a_plain_acknowledgement_segments_have_no_mapping() {
    let [_, (_, config), _] = configs();
    let [mut client, mut server] = images(&config);
    let bytes = encode(&mut client, &server, &segment(0, None));
    assert_eq!(mappings(&bytes), 1);
    let mut plain = ack(&config, 1);
    plain.plain = true;
    comes_back(&mut server, &mut client, Packet::Ack(plain));
    let bytes = encode(&mut client, &server, &segment(1, None));
    assert_eq!(mappings(&bytes), 0);
    assert_eq!(decode(&mut server, &bytes, client.boundaries()), Ok(segment(1, None)));
}

#[test]
fn what_is_damaged_or_foreign_or_begins_where_no_segment_does_is_refused() {
    for (name, config) in configs() {
        let [mut client, mut server] = images(&config);
        let mut bytes = encode(&mut client, &server, &segment(0, None));
        let nowhere = Agreed::made_up(&config, 2, [0, 0]);
        let mut stranger = Image::new(&config, &nowhere, Side::Server);
        let refused = decode(&mut stranger, &bytes, client.boundaries());
        assert!(
            matches!(refused, Err(DecodeError::Value { field: "sequence number", .. })),
            "{name} {refused:?}"
        );
        *bytes.last_mut().expect("payload") ^= 1;
        let refused = decode(&mut server, &bytes, client.boundaries());
        assert!(matches!(refused, Err(DecodeError::Checksum { .. })), "{name} {refused:?}");
        let own = encode(&mut client, &server, &Packet::Syn { timestamp: 1 });
        let refused = decode(&mut client, &own, server.boundaries());
        assert!(matches!(refused, Err(DecodeError::Value { field: "TCP ports", .. })), "{name} {refused:?}");
    }
}

proptest! {
    #[test]
    fn whatever_the_bytes_nothing_panics(
        which in 0_usize..3,
        noise in prop::collection::vec(any::<u8>(), 0..80),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        mends in any::<bool>(),
    ) {
        let (_, config) = configs()[which].clone();
        let [mut client, mut server] = images(&config);
        let mut bytes = encode(&mut client, &server, &segment(0, None));
        bytes.extend(noise);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if mends {
            mend(&config, &mut bytes);
        }
        let arriving = Arriving { path: PATH, ecn: SegmentEcn::default(), bytes: &bytes };
        let _ = server.decode(&arriving, client.boundaries(), |_, _| {});
    }
}

/// Sets the correct checksum, so that the rest of the packet is decoded.
fn mend(config: &Config, bytes: &mut [u8]) {
    use plait_transport::wire::checksum::Addresses;
    let [source, destination] = Agreed::made_up(config, 2, [0, 0]).paths[PATH.index()].addresses;
    bytes[16..18].copy_from_slice(&[0, 0]);
    let sum = Addresses { source, destination }.pseudo_header(6, bytes.len() as u32).with(bytes).checksum();
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
}
