//! Packets inside links, small: what acknowledges is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::{Data, OneRtt, Packet, SegmentEcn, Stream, TcpSegment};
use plait_transport::ring::prefetch;

/// A packet inside a link, and where it is on its route. Of what many packets are this is all; others have more in a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flying {
    /// Its segment of the stream; where it is in its store, or when it was sent, where the kind says so.
    what: U40,
    /// Its number, beside which the kind says of what.
    number: U40,
    /// Bytes of payload: packets have 65,535 bytes at most.
    payload: [u8; 2],
    leg: [u8; 3],
    /// Its kind, and above that what its headers say.
    marks: u8,
}

const _: () = assert!(size_of::<Flying>() <= 16, "packets under way are many");

/// Legs of a run: a packet says in three bytes on which one it is.
pub(super) const MOST_LEGS: usize = 1 << 24;

/// A number in a few bytes: of what is counted in a run there are a million million at most, and of bytes some hundred times as many.
#[derive(Clone, Copy, Debug)]
struct Short<const BYTES: usize>([u8; BYTES]);

type U40 = Short<5>;
type U48 = Short<6>;

impl<const BYTES: usize> Short<BYTES> {
    const BITS: u32 = 8 * BYTES as u32;
    const MOST: u64 = (1 << Self::BITS) - 1;

    #[inline]
    fn new(number: u64) -> Self {
        debug_assert!(number <= Self::MOST, "{number} has more than {BYTES} bytes");
        let mut short = [0; BYTES];
        short.copy_from_slice(&number.to_le_bytes()[..BYTES]);
        Self(short)
    }

    #[inline]
    fn get(self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..BYTES].copy_from_slice(&self.0);
        u64::from_le_bytes(bytes)
    }
}

impl<const BYTES: usize> Default for Short<BYTES> {
    fn default() -> Self {
        Self([0; BYTES])
    }
}

/// Marks of a packet: what it is, and what its headers say in a bit each.
mod marks {
    pub(super) const KIND: u8 = 7;
    pub(super) const CAPABLE: u8 = 8;
    pub(super) const CONGESTED: u8 = 16;
    pub(super) const REDUCED: u8 = 32;
    pub(super) const PUSH: u8 = 64;
}

/// What a data packet says beyond its payload's size, where that is more than one number.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    timestamp: u32,
    echo: u32,
    segment: U40,
    /// In its packet number space, or on its subflow.
    number: U40,
    offset: U48,
}

const _: () = assert!(size_of::<Numbers>() <= 24, "packets under way are many");

impl Numbers {
    #[inline]
    fn new(segment: u64, number: u64, offset: u64) -> Self {
        let (segment, number, offset) = (U40::new(segment), U40::new(number), U48::new(offset));
        Self { timestamp: 0, echo: 0, segment, number, offset }
    }
}

/// The numbers of packets under way; places are used again, the one first that was left last.
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
        self.marks |= if capable { marks::CONGESTED } else { 0 };
        capable
    }
}

impl Flying {
    /// A datagram, sent at this moment.
    pub(super) fn datagram(sent: Time) -> Self {
        let nanos = sent.as_nanos();
        Self { what: U40::new(nanos & U40::MOST), ..Self::new(nanos >> U40::BITS, Kind::Datagram) }
    }

    /// A carrier's datagram of this number.
    pub(super) fn carried(number: u64) -> Self {
        Self::new(number, Kind::Carried)
    }

    /// The number of a carrier's datagram; `None` if it is none.
    pub(super) fn carried_number(&self) -> Option<u64> {
        (self.kind() == Kind::Carried).then_some(self.number.get())
    }

    /// The same packet on a leg.
    #[inline]
    pub(super) fn on(self, leg: usize) -> Self {
        let [first, second, third, ..] = (leg as u32).to_le_bytes();
        Self { leg: [first, second, third], ..self }
    }

    /// The leg that it is on; its route, and so its owner, follows from it.
    #[inline]
    pub(super) fn leg(&self) -> usize {
        let [first, second, third] = self.leg;
        u32::from_le_bytes([first, second, third, 0]) as usize
    }

    #[inline]
    fn kind(&self) -> Kind {
        Kind::ALL[usize::from(self.marks & marks::KIND)]
    }

    #[inline]
    fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
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
        let nanos = self.what.get() | self.number.get() << U40::BITS;
        (self.kind() == Kind::Datagram).then_some(Time::from_nanos(nanos))
    }

    /// The packet's number and whether it carries data, which is numbered by itself; `None` for what is no packet of a connection.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        let own = !matches!(self.kind(), Kind::Datagram | Kind::Carried);
        own.then_some((self.number.get(), self.kind() != Kind::Kept))
    }

    /// Where it is in the store of whole packets, if it is there, and what its headers say of congestion by now.
    #[inline]
    pub(super) fn place(&self) -> Option<(u32, SegmentEcn)> {
        matches!(self.kind(), Kind::Kept | Kind::KeptData).then_some((self.what.get() as u32, self.ecn()))
    }

    fn new(number: u64, kind: Kind) -> Self {
        Self { number: U40::new(number), marks: kind as u8, ..Self::default() }
    }

    fn of_data(self, what: u64, bytes: u32) -> Self {
        debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
        Self { what: U40::new(what), payload: (bytes as u16).to_le_bytes(), ..self }
    }

    fn saying(self, SegmentEcn { capable, congested, reduced }: SegmentEcn, push: bool) -> Self {
        use marks::{CAPABLE, CONGESTED, PUSH, REDUCED};
        let said = [(capable, CAPABLE), (congested, CONGESTED), (reduced, REDUCED), (push, PUSH)];
        let marks = said.iter().fold(self.marks, |marks, &(said, mark)| marks | if said { mark } else { 0 });
        Self { marks, ..self }
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
        let (kind, bytes) = (flying.kind(), u32::from(u16::from_le_bytes(flying.payload)));
        if kind == Kind::Data {
            return Some(Packet::Data(Data { segment: flying.what.get(), bytes }));
        }
        let place = self.numbers_of(flying)?;
        let Numbers { timestamp, echo, segment, number, offset } = self.numbers.take(place);
        let (number, offset) = (number.get(), offset.get());
        let (data, ecn) = (Data { segment: segment.get(), bytes }, flying.ecn());
        Some(if kind == Kind::Segment {
            let push = flying.has(marks::PUSH);
            Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn })
        } else {
            Packet::OneRtt(OneRtt { stream: Some(Stream { data, offset }), ecn, ..OneRtt::new(number) })
        })
    }

    #[inline]
    fn numbers_of(&self, flying: &Flying) -> Option<u32> {
        matches!(flying.kind(), Kind::Segment | Kind::Stream).then_some(flying.what.get() as u32)
    }

    #[inline]
    fn keep_as_it_is(&mut self, packet: &Packet, number: u64) -> Flying {
        let kind = if packet.carries_data() { Kind::KeptData } else { Kind::Kept };
        let what = U40::new(u64::from(self.keep(packet)));
        Flying { what, ..Flying::new(number, kind) }.saying(packet.ecn().unwrap_or_default(), false)
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

    /// The packet never arrives.
    pub(super) fn forget(&mut self, flying: &Flying) {
        if let Some((place, _)) = flying.place() {
            self.free.push(place);
        } else if let Some(place) = self.numbers_of(flying) {
            self.numbers.take(place);
        }
    }
}
