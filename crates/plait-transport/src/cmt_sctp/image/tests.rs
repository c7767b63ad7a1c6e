//! Encodes packets of one end and decodes them at the other, without a network.

use super::*;
use plait_sched::PathId;

const PATH: PathId = PathId(3);

fn chosen(port: u16, initial_tsn: u32) -> Chosen {
    Chosen { port, tag: u32::from(port) << 8, initial_tsn }
}

/// Returns the images of two ends whose numbers wrap after a few segments.
fn images(telling: Telling) -> [Image; 2] {
    let (one, other) = (chosen(1, u32::MAX - 2), chosen(2, u32::MAX));
    [Image::new(one, other, 1500, telling), Image::new(other, one, 1500, telling)]
}

fn encode(image: &Image, packet: &Packet, origin: Origin<'_>, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    image.encode(&Transmit { path: PATH, packet, transmission: 0, origin }, payload, &mut bytes);
    bytes
}

fn decode(image: &mut Image, bytes: &[u8]) -> Result<Vec<(Packet, Vec<u8>)>, DecodeError> {
    let mut taken = Vec::new();
    image.decode(bytes, |packet, payload| taken.push((packet, payload.to_vec())))?;
    Ok(taken)
}

/// Returns a receiver's buffer with these segments, and a SACK of it that reports all runs as
/// changes.
fn received(segments: impl IntoIterator<Item = u64>) -> (Reassembly, Sack) {
    let mut reassembly = Reassembly::new(1 << 30, 0, false);
    for segment in segments {
        reassembly.accept(Time::ZERO, PATH, &Data { segment, bytes: 1 }, &mut ());
    }
    let mut sack = Sack::new(reassembly.next_expected(), 70_000, 2);
    sack.gap_blocks = reassembly.waiting().runs() as u16;
    for (first, last) in reassembly.waiting().iter() {
        sack.push_block(first, last);
    }
    (reassembly, sack)
}

#[test]
fn segments_keep_their_numbers_and_bytes_across_the_wrap() {
    let [one, mut other] = images(Telling::ALL);
    for segment in (0..10).chain([7, 1 << 30, (1 << 31) + 5, 3 << 30, (1 << 32) + 9, (1 << 32) - 9]) {
        let data = Data { segment, bytes: 5 };
        for packet in [Packet::Data(data), Packet::Bundle(data, 32)] {
            let bytes = encode(&one, &packet, Origin::Sender { offset: None }, b"hello");
            assert_eq!(decode(&mut other, &bytes), Ok(vec![(packet, b"hello".to_vec())]), "{segment}");
        }
    }
}

#[test]
fn heartbeats_carry_their_time() {
    let [one, mut other] = images(Telling::ALL);
    let sent_at = Time::from_nanos(123_456_789_012_345);
    for packet in [Packet::Heartbeat { sent_at }, Packet::HeartbeatAck { sent_at }] {
        let bytes = encode(&one, &packet, Origin::Sender { offset: None }, &[]);
        assert_eq!(decode(&mut other, &bytes), Ok(vec![(packet, Vec::new())]));
    }
}

#[test]
fn acknowledgements_come_back_as_they_were_sent() {
    for arrived in [vec![], vec![1], vec![0, 1, 2, 5, 6, 9], vec![0, 1, 2, 3, 4, 7]] {
        let (reassembly, mut sack) = received(arrived);
        (sack.changes_from, sack.changes_end) = (3, 9);
        sack.push_duplicate(0);
        let [one, mut other] = images(Telling::ALL);
        let packet = Packet::Sack(sack);
        let bytes = encode(&one, &packet, Origin::Receiver(&reassembly), &[]);
        assert_eq!(decode(&mut other, &bytes), Ok(vec![(packet, Vec::new())]));
    }
}

#[test]
fn a_peer_that_tells_no_changes_is_read_by_its_gap_blocks() {
    let (reassembly, sack) = received([0, 1, 2, 5, 6, 9]);
    let [one, mut other] = images(Telling { packets: true, changes: false });
    let packet = Packet::Sack(sack);
    let bytes = encode(&one, &packet, Origin::Receiver(&reassembly), &[]);
    assert_eq!(decode(&mut other, &bytes), Ok(vec![(packet, Vec::new())]));
}

#[test]
fn what_tells_changes_fits_the_packet_too() {
    let (reassembly, mut sack) = received((0..1_000).map(|number| 2 * number + 1));
    (sack.changes_from, sack.changes_end) = (0, 1_000);
    let [one, mut other] = images(Telling::ALL);
    let bytes = encode(&one, &Packet::Sack(sack), Origin::Receiver(&reassembly), &[]);
    assert!((1480 - 8..=1480).contains(&bytes.len()), "{}", bytes.len());
    let taken = decode(&mut other, &bytes).unwrap();
    let Packet::Sack(read) = taken[0].0 else { panic!("{taken:?}") };
    assert_eq!(read.blocks(), sack.blocks());
}

#[test]
fn what_is_of_another_association_or_from_before_the_start_is_refused() {
    let [one, mut other] = images(Telling::ALL);
    let packet = Packet::Data(Data { segment: 0, bytes: 1 });
    let bytes = encode(&one, &packet, Origin::Sender { offset: None }, b"x");
    let mut stranger = Image::new(chosen(9, 0), chosen(1, 0), 1500, Telling::ALL);
    assert!(matches!(decode(&mut stranger, &bytes), Err(DecodeError::Value { at: 4, .. })));
    let early = Image { own: Chosen { initial_tsn: u32::MAX - 3, ..one.own }, ..one };
    let bytes = encode(&early, &packet, Origin::Sender { offset: None }, b"x");
    assert!(matches!(decode(&mut other, &bytes), Err(DecodeError::Value { field: "DATA's TSN", .. })));
}
