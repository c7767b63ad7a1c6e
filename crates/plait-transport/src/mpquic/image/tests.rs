use super::*;
use crate::sink::Origin;
use proptest::prelude::*;

const PATH: PathId = PathId(1);
const WINDOW: u64 = 1 << 20;

fn images() -> [Image; 2] {
    [Image::new(1_000, 2_000, WINDOW, 2), Image::new(2_000, 1_000, WINDOW, 2)]
}

fn encode(image: &mut Image, packet: &Packet, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let origin = Origin::Sender { offset: None };
    image.encode(&Transmit { path: PATH, packet, transmission: 0, origin }, payload, &mut bytes);
    bytes
}

fn decode(image: &mut Image, bytes: &[u8], peer: &Boundaries) -> Result<Packet, DecodeError> {
    let mut taken = None;
    let arriving = Arriving { path: PATH, ecn: SegmentEcn::default(), bytes };
    image.decode(&arriving, peer, |packet, _| taken = Some(packet))?;
    Ok(taken.expect("a packet is handed on"))
}

fn data(number: u64, segment: u64) -> OneRtt {
    let data = Data { segment, bytes: 3 };
    OneRtt { stream: Some(Stream { data, offset: segment * 3 }), ..OneRtt::new(number) }
}

#[test]
fn every_frame_comes_back_as_it_was_sent() {
    let mut ack = PathAck::new(PathId(0), Duration::from_micros(1_234));
    assert!(ack.push_range(9, 12) && ack.push_range(2, 5));
    ack.marks = Some(EcnCounts { capable: 7, congested: 2 });
    let asked = Some(Challenge::Asked(Time::from_nanos(123_456_789_012)));
    let answered = Some(Challenge::Answered(Time::from_nanos(1)));
    let packets = [
        OneRtt { ping: true, ..OneRtt::new(0) },
        OneRtt { ack: Some(ack), max_data: Some(1 << 40), ..OneRtt::new(1) },
        OneRtt { challenge: asked, ..OneRtt::new(2) },
        OneRtt { challenge: answered, blocked: Some(77), ..OneRtt::new(3) },
        OneRtt { ack: Some(ack), ..data(4, 0) },
        OneRtt { backup: Some(PathBackup { path: PathId(0), sequence: 3 }), ..OneRtt::new(6) },
        data(5, 1),
    ];
    let [mut one, mut other] = images();
    for packet in packets.map(Packet::OneRtt) {
        let payload: &[u8] = if packet.data().is_some() { b"abc" } else { &[] };
        let bytes = encode(&mut one, &packet, payload);
        assert_eq!(decode(&mut other, &bytes, one.boundaries()), Ok(packet));
    }
    let sent_at = Time::from_nanos(9);
    for packet in [Packet::Initial { sent_at }, Packet::InitialReply { sent_at }] {
        let bytes = encode(&mut one, &packet, &[]);
        assert_eq!((bytes.len(), decode(&mut other, &bytes, one.boundaries())), (1_200, Ok(packet)));
    }
}

#[test]
fn truncated_numbers_are_recovered_beyond_32_bits() {
    let [mut one, mut other] = images();
    let first = (1 << 32) - 700;
    for (segment, number) in (0..).zip((0..1_400).map(|step| first + step)) {
        // A first number without predecessors would have to be sent whole. The test sets its
        // predecessor as read and acknowledged, so that low bytes are enough.
        if segment == 0 {
            other.paths[1].largest = Some(number - 1);
            one.paths[1].acknowledged = Some(number - 1);
        }
        let packet = Packet::OneRtt(data(number, segment));
        let bytes = encode(&mut one, &packet, b"abc");
        assert_eq!(decode(&mut other, &bytes, one.boundaries()), Ok(packet));
    }
}

#[test]
fn what_begins_where_no_segment_does_is_refused() {
    let [mut one, mut other] = images();
    let bytes = encode(&mut one, &Packet::OneRtt(data(0, 5)), b"abc");
    let refused = decode(&mut other, &bytes, &Boundaries::default());
    assert!(matches!(refused, Err(DecodeError::Value { field: "STREAM's offset", .. })), "{refused:?}");
}

#[test]
fn segments_of_any_length_are_known_by_their_numbers() {
    let [one, mut other] = images();
    let mut one = one.numbered();
    // The segments do not arrive in the order of sending, and their offsets in bytes carry no
    // information.
    for (number, segment, offset) in [(0, 5, 17), (1, 0, 0), (2, 1 << 40, 1 << 50)] {
        let stream = Some(Stream { data: Data { segment, bytes: 3 }, offset });
        let bytes = encode(&mut one, &Packet::OneRtt(OneRtt { stream, ..OneRtt::new(number) }), b"abc");
        let Ok(Packet::OneRtt(read)) = decode(&mut other, &bytes, &Boundaries::numbered()) else {
            panic!("it is read");
        };
        assert_eq!(read.stream.map(|stream| stream.data), Some(Data { segment, bytes: 3 }));
    }
}

#[test]
fn a_segment_that_is_over_has_its_size_and_nothing_else() {
    let [mut one, mut other] = images().map(Image::numbered);
    let stream = Some(Stream { data: Data { segment: 9, bytes: 1_100 }, offset: 70 });
    let bytes = encode(&mut one, &Packet::OneRtt(OneRtt { stream, ..OneRtt::new(0) }), &[]);
    assert!(bytes.len() < 50, "{} bytes", bytes.len());
    let arriving = Arriving { path: PATH, ecn: SegmentEcn::default(), bytes: &bytes };
    let mut read = None;
    let taken = other.decode(&arriving, &Boundaries::numbered(), |packet, payload| {
        if let Packet::OneRtt(packet) = packet {
            read = packet.stream.map(|stream| (stream.data, payload.len()));
        }
    });
    assert_eq!((taken, read), (Ok(()), Some((Data { segment: 9, bytes: 1_100 }, 0))));
}

/// An acknowledgement is limited to the space beside a full payload.
#[test]
fn an_acknowledgement_has_the_newest_ranges_that_fit() {
    for (length, left) in [(8_000, 8), (50_000, 4)] {
        let mut told = PathAck::new(PathId(0), Duration::ZERO);
        for last in (0..8).map(|range| 1_000_000 - range * 2 * length) {
            assert!(told.push_range(last - length, last));
        }
        let [mut one, mut other] = images();
        let packet = Packet::OneRtt(OneRtt { ack: Some(told), ..OneRtt::new(0) });
        let bytes = encode(&mut one, &packet, &[]);
        let Ok(Packet::OneRtt(read)) = decode(&mut other, &bytes, &Boundaries::default()) else {
            panic!("it is read");
        };
        assert_eq!(read.ack.expect("it is there").ranges(), &told.ranges()[..left]);
    }
}

#[test]
fn another_connection_is_refused() {
    let [mut one, _] = images();
    let bytes = encode(&mut one, &Packet::OneRtt(data(0, 0)), b"abc");
    let mut stranger = Image::new(7, 8, WINDOW, 2);
    let refused = decode(&mut stranger, &bytes, one.boundaries());
    assert!(matches!(refused, Err(DecodeError::Value { at: 1, .. })), "{refused:?}");
}

proptest! {
    #[test]
    fn whatever_the_bytes_nothing_panics(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let [mut one, mut other] = images();
        let mut bytes = encode(&mut one, &Packet::OneRtt(data(0, 0)), b"abc");
        bytes.extend(noise);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let arriving = Arriving { path: PATH, ecn: SegmentEcn::default(), bytes: &bytes };
        let _ = other.decode(&arriving, one.boundaries(), |_, _| {});
    }
}
