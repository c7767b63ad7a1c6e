//! Packets inside links, small: what acknowledges is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::{Data, OneRtt, Packet, SegmentEcn, Stream, TcpSegment};
use plait_transport::ring::prefetch;

/// A packet inside a link, and where it is on its route. Of what many packets are this is all; others have more in a store.
///
/// Two words, which are put together in registers and written as they are: of counters 40 bits are enough for any run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flying {
    /// Its segment of the stream; where it is in its store, or when it was sent, where the kind says so (40 bits). Bytes of payload
    /// (16): packets have 65,535 at most. Its kind and what its headers say (8).
    what: u64,
    /// Its number, beside which the kind says of what (40 bits), and the leg that it is on (24).
    number: u64,
}

/// Bits of a counter.
const COUNTER: u32 = 40;
const MOST: u64 = (1 << COUNTER) - 1;

/// Legs of a run.
pub(super) const MOST_LEGS: usize = 1 << (u64::BITS - COUNTER);

/// Where a packet's first word says what it is, and what its headers say in a bit each.
mod marks {
    pub(super) const KIND: u32 = 56;
    pub(super) const CAPABLE: u32 = 59;
    pub(super) const CONGESTED: u32 = 60;
    pub(super) const REDUCED: u32 = 61;
    pub(super) const PUSH: u32 = 62;
}

/// What a data packet says beyond its payload's size, where that is more than one number.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    timestamp: u32,
    echo: u32,
    /// Its segment (40 bits), and of its offset in the stream the lowest 24.
    segment: u64,
    /// Its number in its packet number space, or on its subflow (40 bits), and the rest of its offset.
    number: u64,
}

impl Numbers {
    #[inline]
    fn new(segment: u64, number: u64, offset: u64) -> Self {
        debug_assert!(segment <= MOST && number <= MOST && offset >> 48 == 0, "{segment} {number} {offset}");
        let (segment, number) = (segment | offset << COUNTER, number | offset >> 24 << COUNTER);
        Self { timestamp: 0, echo: 0, segment, number }
    }

    #[inline]
    fn offset(&self) -> u64 {
        self.segment >> COUNTER | self.number >> COUNTER << 24
    }
}

/// The numbers of packets under way. Places are used again; the one that became free last is taken first.
#[derive(Clone, Debug)]
struct Store {
    places: Vec<Numbers>,
    /// The first free place; in it the next one is noted as its timestamp.
    free: u32,
}

/// No place is free.
const NONE: u32 = u32::MAX;

impl Default for Store {
    fn default() -> Self {
        Self { places: Vec::new(), free: NONE }
    }
}

impl Store {
    #[inline]
    fn put(&mut self, numbers: Numbers) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let place = self.free;
        let kept = &mut self.places[place as usize];
        self.free = kept.timestamp;
        *kept = numbers;
        place
    }

    #[inline]
    fn take(&mut self, place: u32) -> Numbers {
        let numbers = self.places[place as usize];
        self.places[place as usize].timestamp = self.free;
        self.free = place;
        numbers
    }

    /// A free place more.
    #[inline(never)]
    fn grow(&mut self) {
        if self.places.len() == self.places.capacity() {
            // By an eighth: long links have many.
            self.places.reserve_exact((self.places.len() / 8).max(64));
        }
        self.free = self.places.len() as u32;
        self.places.push(Numbers { timestamp: NONE, ..Numbers::default() });
    }
}

/// What a packet inside a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A data packet of SCTP.
    Data,
    /// One of a TCP subflow: its numbers are in a store.
    Segment,
    /// A QUIC packet that carries nothing but data, likewise.
    Stream,
    /// In a store as a whole: a packet without data that is larger, or rare.
    Kept,
    /// Likewise one with data.
    KeptData,
    /// Belongs to no connection.
    Datagram,
    /// Belongs to whoever carries the connection's packets.
    Carried,
}

impl Kind {
    /// By its number.
    const ALL: [Self; 8] = {
        use Kind::{Carried, Data, Datagram, Kept, KeptData, Segment, Stream};
        [Data, Segment, Stream, Kept, KeptData, Datagram, Carried, Carried]
    };
}

impl Payload for Flying {
    /// On a link each leg belongs to one path of one connection, in one direction.
    fn flow(&self) -> u64 {
        self.leg() as u64
    }

    fn mark(&mut self) -> bool {
        let capable = self.has(marks::CAPABLE);
        self.what |= u64::from(capable) << marks::CONGESTED;
        capable
    }
}

impl Flying {
    /// A datagram, sent at this moment.
    pub(super) fn datagram(sent: Time) -> Self {
        let nanos = sent.as_nanos();
        Self::new(nanos >> COUNTER, Kind::Datagram).of(nanos & MOST)
    }

    /// A carrier's datagram of this number.
    pub(super) fn carried(number: u64) -> Self {
        Self::new(number, Kind::Carried)
    }

    /// The number of a carrier's datagram; `None` if it is none.
    pub(super) fn carried_number(&self) -> Option<u64> {
        (self.kind() == Kind::Carried).then_some(self.counter())
    }

    /// The same packet on a leg.
    #[inline]
    pub(super) fn on(self, leg: usize) -> Self {
        Self { number: self.counter() | (leg as u64) << COUNTER, ..self }
    }

    /// The leg that it is on; its route, and so its owner, follows from it.
    #[inline]
    pub(super) fn leg(&self) -> usize {
        (self.number >> COUNTER) as usize
    }

    #[inline]
    fn counter(&self) -> u64 {
        self.number & MOST
    }

    #[inline]
    fn kind(&self) -> Kind {
        Kind::ALL[(self.what >> marks::KIND) as usize & 7]
    }

    #[inline]
    fn has(&self, mark: u32) -> bool {
        self.what >> mark & 1 != 0
    }

    /// What its headers say of congestion by now.
    #[inline]
    fn ecn(&self) -> SegmentEcn {
        use marks::{CAPABLE, CONGESTED, REDUCED};
        let [capable, congested, reduced] = [CAPABLE, CONGESTED, REDUCED].map(|mark| self.has(mark));
        SegmentEcn { capable, congested, reduced }
    }

    /// When a datagram was sent; `None` if it is none.
    pub(super) fn sent(&self) -> Option<Time> {
        let nanos = self.what & MOST | self.counter() << COUNTER;
        (self.kind() == Kind::Datagram).then_some(Time::from_nanos(nanos))
    }

    /// The packet's number and whether it carries data, which is numbered by itself; `None` for what is no packet of a connection.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        let own = !matches!(self.kind(), Kind::Datagram | Kind::Carried);
        own.then_some((self.counter(), self.kind() != Kind::Kept))
    }

    /// Where it is in the store of whole packets, if it is there, and what its headers say of congestion by now.
    #[inline]
    pub(super) fn place(&self) -> Option<(u32, SegmentEcn)> {
        matches!(self.kind(), Kind::Kept | Kind::KeptData).then_some((self.what as u32, self.ecn()))
    }

    #[inline]
    fn new(number: u64, kind: Kind) -> Self {
        debug_assert!(number <= MOST, "packet {number}");
        Self { what: (kind as u64) << marks::KIND, number }
    }

    #[inline]
    fn of(self, what: u64) -> Self {
        debug_assert!(what <= MOST, "segment {what}");
        Self { what: self.what | what, ..self }
    }

    #[inline]
    fn of_data(self, what: u64, bytes: u32) -> Self {
        debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
        let flying = self.of(what);
        Self { what: flying.what | u64::from(bytes) << COUNTER, ..flying }
    }

    #[inline]
    fn saying(self, SegmentEcn { capable, congested, reduced }: SegmentEcn, push: bool) -> Self {
        use marks::{CAPABLE, CONGESTED, PUSH, REDUCED};
        let said = [(capable, CAPABLE), (congested, CONGESTED), (reduced, REDUCED), (push, PUSH)];
        Self {
            what: said.iter().fold(self.what, |what, &(said, mark)| what | u64::from(said) << mark),
            ..self
        }
    }
}

/// What the packets under way say beyond what is in the links; places are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Each is boxed: one that arrives is read where it lies, without a copy, while whoever reads it launches others.
    places: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
    numbers: Store,
}

impl Kept {
    #[inline]
    pub(super) fn launch(&mut self, packet: &Packet, number: u64) -> Flying {
        match *packet {
            Packet::Data(Data { segment, bytes }) => Flying::new(number, Kind::Data).of_data(segment, bytes),
            Packet::Segment(TcpSegment {
                data,
                number: own,
                offset,
                timestamp,
                echo,
                push,
                ack: None,
                ecn,
            }) => {
                let place =
                    self.numbers.put(Numbers { timestamp, echo, ..Numbers::new(data.segment, own, offset) });
                let flying = Flying::new(number, Kind::Segment).of_data(u64::from(place), data.bytes);
                flying.saying(ecn, push)
            }
            Packet::OneRtt(ref one_rtt) => match one_rtt.plain_stream() {
                Some(Stream { data, offset }) => {
                    let place = self.numbers.put(Numbers::new(data.segment, one_rtt.number, offset));
                    let flying = Flying::new(number, Kind::Stream).of_data(u64::from(place), data.bytes);
                    flying.saying(one_rtt.ecn, false)
                }
                None => self.keep_as_it_is(packet, number),
            },
            _ => self.keep_as_it_is(packet, number),
        }
    }

    /// A data packet as it was sent, which arrives; `None` if the whole is in the store, and for what is no packet of a connection.
    #[inline]
    pub(super) fn land(&mut self, flying: &Flying) -> Option<Packet> {
        let (kind, bytes) = (flying.kind(), u32::from((flying.what >> COUNTER) as u16));
        if kind == Kind::Data {
            return Some(Packet::Data(Data { segment: flying.what & MOST, bytes }));
        }
        let place = self.numbers_of(flying)?;
        let numbers = self.numbers.take(place);
        let Numbers { timestamp, echo, segment, number } = numbers;
        let (number, offset) = (number & MOST, numbers.offset());
        let (data, ecn) = (Data { segment: segment & MOST, bytes }, flying.ecn());
        Some(if kind == Kind::Segment {
            let push = flying.has(marks::PUSH);
            Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn })
        } else {
            Packet::OneRtt(OneRtt { stream: Some(Stream { data, offset }), ecn, ..OneRtt::new(number) })
        })
    }

    #[inline]
    fn numbers_of(&self, flying: &Flying) -> Option<u32> {
        matches!(flying.kind(), Kind::Segment | Kind::Stream).then_some(flying.what as u32)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn keep_as_it_is(&mut self, packet: &Packet, number: u64) -> Flying {
        let kind = if packet.carries_data() { Kind::KeptData } else { Kind::Kept };
        let flying = Flying::new(number, kind).of(u64::from(self.keep(packet)));
        flying.saying(packet.ecn().unwrap_or_default(), false)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn keep(&mut self, packet: &Packet) -> u32 {
        let Some(place) = self.free.pop() else {
            self.places.push(Some(Box::new(*packet)));
            return (self.places.len() - 1) as u32;
        };
        if let Some(kept) = &mut self.places[place as usize] {
            // By kind: an assignment of the whole would copy as much as the largest kind takes.
            match (packet, &mut **kept) {
                (Packet::Sack(sack), Packet::Sack(kept)) => kept.overwrite(sack),
                (Packet::Ack(ack), kept) => *kept = Packet::Ack(*ack),
                (_, kept) => *kept = *packet,
            }
        }
        place
    }

    /// A packet will arrive next on some link: if it is here, it is fetched into the cache.
    #[inline]
    pub(super) fn announce(&self, flying: &Flying) {
        if let Some((place, _)) = flying.place()
            && let Some(Some(packet)) = self.places.get(place as usize)
        {
            let address: *const Packet = &raw const **packet;
            prefetch(address);
            prefetch(address.wrapping_byte_add(64));
        } else if let Some(place) = self.numbers_of(flying)
            && let Some(numbers) = self.numbers.places.get(place as usize)
        {
            prefetch(&raw const *numbers);
        }
    }

    /// A packet as it arrives; afterwards it is to be put back.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Option<Box<Packet>> {
        self.places[place as usize].take()
    }

    /// It was read: its place is free.
    #[inline]
    pub(super) fn put_back(&mut self, place: u32, packet: Box<Packet>) {
        self.places[place as usize] = Some(packet);
        self.free.push(place);
    }

    /// A copy of the packet, with the marks of congestion that it has by now.
    pub(super) fn copy(&mut self, flying: &Flying) -> Flying {
        let with_place = |place: u32| Flying { what: flying.what & !MOST | u64::from(place), ..*flying };
        if let Some((place, _)) = flying.place() {
            let copied = self.places[place as usize].as_deref().copied();
            return copied.map_or(*flying, |packet| with_place(self.keep(&packet)));
        }
        match self.numbers_of(flying) {
            Some(place) => {
                let numbers = self.numbers.places[place as usize];
                with_place(self.numbers.put(numbers))
            }
            None => *flying,
        }
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, flying: &Flying) {
        if let Some((place, _)) = flying.place() {
            self.free.push(place);
        } else if let Some(place) = self.numbers_of(flying) {
            self.numbers.take(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ecn() -> impl Strategy<Value = SegmentEcn> {
        any::<[bool; 3]>().prop_map(|[capable, congested, reduced]| SegmentEcn {
            capable,
            congested,
            reduced,
        })
    }

    /// Packets of the kinds that are many, and one that is kept as it is.
    fn packet() -> impl Strategy<Value = Packet> {
        let data = (0..=MOST, 0..=u32::from(u16::MAX)).prop_map(|(segment, bytes)| Data { segment, bytes });
        let numbers = (0..=MOST, 0..1_u64 << 48, any::<(u32, u32, bool)>(), ecn());
        let segment = (data.clone(), numbers).prop_map(|(data, (number, offset, rest, ecn))| {
            let (timestamp, echo, push) = rest;
            Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn })
        });
        let stream = (data.clone(), 0..=MOST, 0..1_u64 << 48, any::<[bool; 2]>());
        let stream = stream.prop_map(|(data, number, offset, [capable, congested])| {
            let ecn = SegmentEcn { capable, congested, reduced: false };
            Packet::OneRtt(OneRtt { stream: Some(Stream { data, offset }), ecn, ..OneRtt::new(number) })
        });
        let heartbeat = any::<u64>().prop_map(|nanos| Packet::Heartbeat { sent_at: Time::from_nanos(nanos) });
        prop_oneof![data.prop_map(Packet::Data), segment, stream, heartbeat]
    }

    proptest! {
        /// What leaves is what arrives, whatever else is under way and got lost, and what was marked on its way says so.
        #[test]
        fn packets_arrive_as_they_were_sent(
            sent in prop::collection::vec((packet(), 0..=MOST, 0..MOST_LEGS, any::<[bool; 2]>()), 1..60),
            order in any::<prop::sample::Index>(),
        ) {
            let mut kept = Kept::default();
            for round in 0..3 {
                let mut under_way: Vec<_> =
                    sent.iter().map(|(packet, number, leg, _)| kept.launch(packet, *number).on(*leg)).collect();
                let turn = order.index(sent.len());
                under_way.rotate_left(turn);
                for (flying, index) in under_way.iter_mut().zip((0..sent.len()).cycle().skip(turn)) {
                    let (packet, number, leg, [lost, marked]) = &sent[index];
                    prop_assert_eq!((flying.leg(), flying.number()), (*leg, Some((*number, packet.carries_data()))));
                    // A copy that is lost, or arrives, leaves the packet as it is.
                    let copy = kept.copy(flying);
                    if *lost {
                        kept.forget(flying);
                        *flying = copy;
                    } else {
                        kept.forget(&copy);
                    }
                    let marked = *marked && flying.mark();
                    let mut expected = *packet;
                    if let Some(ecn) = expected.ecn_mut() {
                        ecn.congested |= marked;
                    }
                    if let Some((place, ecn)) = flying.place() {
                        let packet = kept.take(place).expect("it is there");
                        prop_assert_eq!((*packet, ecn), (expected, SegmentEcn::default()), "round {}", round);
                        kept.put_back(place, packet);
                    } else {
                        prop_assert_eq!(kept.land(flying), Some(expected), "round {}", round);
                    }
                }
            }
            // Beside the packets under way there is one copy at most.
            prop_assert!(kept.numbers.places.len() <= sent.len() + 1 && kept.places.len() <= sent.len() + 1);
        }
    }

    #[test]
    fn a_datagram_says_when_it_was_sent_however_late_that_was() {
        for nanos in [0, 1, MOST, MOST + 1, u64::MAX] {
            let datagram = Flying::datagram(Time::from_nanos(nanos)).on(7);
            assert_eq!((datagram.sent(), datagram.number()), (Some(Time::from_nanos(nanos)), None));
        }
        assert_eq!(Flying::carried(9).on(3).carried_number(), Some(9));
    }
}
