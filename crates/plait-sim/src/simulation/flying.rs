//! Packets inside links, in a compact form. An acknowledgement is many times larger than the
//! description of a data packet and is kept in a separate store. Long links full of data then stay
//! in the cache.

mod store;

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::quic::{self, OneRtt, Stream};
use plait_transport::packet::tcp::{self, TcpSegment};
use plait_transport::packet::{Data, Packet, PacketRef, SegmentEcn, sctp};
use plait_transport::ring::prefetch;
use store::{Numbers, Store};

/// A packet inside a link, and its position on its route. For many packets this is all; other
/// packets have more in a store.
///
/// Two words, which are assembled in registers and written whole. Counters have 40 bits, which is
/// enough for any run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flying {
    /// 40 bits, by the kind: the segment in the stream, the place in a store, or part of the
    /// sending time. 16 bits: the payload's size, at most 65,535 bytes. 8 bits: the kind and the
    /// header's marks.
    what: u64,
    /// The packet's number, whose series depends on the kind (40 bits), and the packet's leg (24).
    number: u64,
}

/// Bits of a counter.
const COUNTER: u32 = 40;
const MOST: u64 = (1 << COUNTER) - 1;

/// Largest number of legs in a run.
pub(super) const MOST_LEGS: usize = 1 << (u64::BITS - COUNTER);

/// The positions, in a packet's first word, of the kind and of the header's marks, one bit each.
mod marks {
    pub(super) const KIND: u32 = 56;
    pub(super) const CAPABLE: u32 = 59;
    pub(super) const CONGESTED: u32 = 60;
    pub(super) const REDUCED: u32 = 61;
    pub(super) const PUSH: u32 = 62;
}

/// The kind of a packet inside a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A data packet of SCTP.
    Data,
    /// A data packet of a TCP subflow, whose numbers are in a store.
    Segment,
    /// A QUIC packet that carries only stream data, whose numbers are in a store.
    Stream,
    /// A packet without data that is stored whole, because it is larger or rare.
    Kept,
    /// A packet with data that is stored whole.
    KeptData,
    /// A datagram, which belongs to no connection.
    Datagram,
    /// A datagram of the carrier of the connection's packets.
    Carried,
}

impl Kind {
    /// The kinds by their number.
    const ALL: [Self; 8] = {
        use Kind::{Carried, Data, Datagram, Kept, KeptData, Segment, Stream};
        [Data, Segment, Stream, Kept, KeptData, Datagram, Carried, Carried]
    };
}

impl Payload for Flying {
    /// On a link, each leg belongs to one path of one connection, in one direction.
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
    /// A datagram that was sent at `sent`.
    pub(super) fn datagram(sent: Time) -> Self {
        let nanos = sent.as_nanos();
        Self::new(nanos >> COUNTER, Kind::Datagram).of(nanos & MOST)
    }

    /// A carrier's datagram.
    pub(super) fn carried(number: u64) -> Self {
        Self::new(number, Kind::Carried)
    }

    /// The number of a carrier's datagram; `None` for other packets.
    pub(super) fn carried_number(&self) -> Option<u64> {
        (self.kind() == Kind::Carried).then_some(self.counter())
    }

    /// The same packet on another leg.
    #[inline]
    pub(super) fn on(self, leg: usize) -> Self {
        Self { number: self.counter() | (leg as u64) << COUNTER, ..self }
    }

    /// The packet's leg, which determines its route and its owner.
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

    /// The current congestion marks of its headers.
    #[inline]
    fn ecn(&self) -> SegmentEcn {
        use marks::{CAPABLE, CONGESTED, REDUCED};
        let [capable, congested, reduced] = [CAPABLE, CONGESTED, REDUCED].map(|mark| self.has(mark));
        SegmentEcn { capable, congested, reduced }
    }

    /// The sending time of a datagram; `None` for other packets.
    pub(super) fn sent(&self) -> Option<Time> {
        let nanos = self.what & MOST | self.counter() << COUNTER;
        (self.kind() == Kind::Datagram).then_some(Time::from_nanos(nanos))
    }

    /// The packet's number and whether it carries data. Data packets have their own series of
    /// numbers. `None` for datagrams.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        let own = !matches!(self.kind(), Kind::Datagram | Kind::Carried);
        own.then_some((self.counter(), self.kind() != Kind::Kept))
    }

    /// The place in the store of whole packets, if it is there, and its current congestion marks.
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

/// The contents of packets that do not fit into `Flying`. Places are reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    /// Boxed: an arriving packet is read in place, without a copy, while its receiver launches
    /// other packets.
    places: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
    numbers: Store,
}

impl Kept {
    #[inline]
    pub(super) fn launch(&mut self, packet: PacketRef<'_>, number: u64) -> Flying {
        match packet {
            PacketRef::Sctp(&sctp::Packet::Data(Data { segment, bytes })) => {
                Flying::new(number, Kind::Data).of_data(segment, bytes)
            }
            PacketRef::Tcp(&tcp::Packet::Segment(TcpSegment {
                data,
                number: own,
                offset,
                timestamp,
                echo,
                push,
                ack: None,
                ecn,
            })) => {
                let place =
                    self.numbers.put(Numbers { timestamp, echo, ..Numbers::new(data.segment, own, offset) });
                let flying = Flying::new(number, Kind::Segment).of_data(u64::from(place), data.bytes);
                flying.saying(ecn, push)
            }
            PacketRef::Quic(quic::Packet::OneRtt(one_rtt)) => match one_rtt.plain_stream() {
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

    /// Rebuilds the data packet that `launch` packed, when it arrives.
    ///
    /// # Panics
    /// For packets stored whole and for datagrams.
    #[inline]
    pub(super) fn land(&mut self, flying: &Flying) -> Packet {
        let bytes = u32::from((flying.what >> COUNTER) as u16);
        if flying.kind() == Kind::Data {
            return sctp::Packet::Data(Data { segment: flying.what & MOST, bytes }).into();
        }
        let place = self.numbers_of(flying).expect("other data packets have their numbers in a store");
        let numbers = self.numbers.take(place);
        let Numbers { timestamp, echo, segment, number } = numbers;
        let (number, offset) = (number & MOST, numbers.offset());
        let (data, ecn) = (Data { segment: segment & MOST, bytes }, flying.ecn());
        if flying.kind() == Kind::Segment {
            let push = flying.has(marks::PUSH);
            let ack = None;
            tcp::Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack, ecn }).into()
        } else {
            let stream = Some(Stream { data, offset });
            quic::Packet::OneRtt(OneRtt { stream, ecn, ..OneRtt::new(number) }).into()
        }
    }

    #[inline]
    fn numbers_of(&self, flying: &Flying) -> Option<u32> {
        matches!(flying.kind(), Kind::Segment | Kind::Stream).then_some(flying.what as u32)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn keep_as_it_is(&mut self, packet: PacketRef<'_>, number: u64) -> Flying {
        let kind = if packet.carries_data() { Kind::KeptData } else { Kind::Kept };
        let flying = Flying::new(number, kind).of(u64::from(self.keep(packet)));
        flying.saying(packet.ecn().unwrap_or_default(), false)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn keep(&mut self, packet: PacketRef<'_>) -> u32 {
        let Some(place) = self.free.pop() else {
            self.places.push(Some(Box::new(packet.to_packet())));
            return (self.places.len() - 1) as u32;
        };
        if let Some(kept) = &mut self.places[place as usize] {
            // Overwrites by kind: an assignment of the enum would copy the size of its largest
            // variant.
            match (packet, &mut **kept) {
                (PacketRef::Sctp(sctp::Packet::Sack(sack)), Packet::Sctp(sctp::Packet::Sack(kept))) => {
                    kept.overwrite(sack);
                }
                (PacketRef::Tcp(tcp::Packet::Ack(ack)), kept) => *kept = tcp::Packet::Ack(*ack).into(),
                (_, kept) => *kept = packet.to_packet(),
            }
        }
        place
    }

    /// Prefetches the stored content of the packet that arrives next on some link.
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

    /// Takes a stored packet that arrives. The caller returns it with `put_back`.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Option<Box<Packet>> {
        self.places[place as usize].take()
    }

    /// Returns a packet that was read, and frees its place.
    #[inline]
    pub(super) fn put_back(&mut self, place: u32, packet: Box<Packet>) {
        self.places[place as usize] = Some(packet);
        self.free.push(place);
    }

    /// Copies the packet, with its current congestion marks.
    pub(super) fn copy(&mut self, flying: &Flying) -> Flying {
        let with_place = |place: u32| Flying { what: flying.what & !MOST | u64::from(place), ..*flying };
        if let Some((place, _)) = flying.place() {
            let copied = self.places[place as usize].as_deref().copied();
            return copied.map_or(*flying, |packet| with_place(self.keep(packet.by_ref())));
        }
        match self.numbers_of(flying) {
            Some(place) => {
                let numbers = self.numbers.places[place as usize];
                with_place(self.numbers.put(numbers))
            }
            None => *flying,
        }
    }

    /// Frees the content of a packet that never arrives.
    pub(super) fn forget(&mut self, flying: &Flying) {
        if let Some((place, _)) = flying.place() {
            self.free.push(place);
        } else if let Some(place) = self.numbers_of(flying) {
            self.numbers.take(place);
        }
    }
}

#[cfg(test)]
mod tests;
