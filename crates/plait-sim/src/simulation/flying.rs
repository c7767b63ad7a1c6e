//! Packets inside links, in a compact form: frequent packets are five words, which their link holds
//! and nothing else. Rare and large ones are kept whole in a store.

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::quic::{self, OneRtt, Stream};
use plait_transport::packet::tcp::{self, Ack, TcpSegment};
use plait_transport::packet::{Data, Packet, PacketRef, SegmentEcn, sctp};
use plait_transport::ring::prefetch;

/// A packet inside a link, and its position on its route. With its times, a packet of a link fills
/// a cache line.
///
/// The words are assembled in registers and written whole. Counters have 40 bits, which is enough
/// for any run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flying {
    /// 40 bits, by the kind: the segment in the stream, an acknowledged number, the place in the
    /// store, or part of the sending time. 16 bits: the payload's size, at most 65,535 bytes. 8
    /// bits: the kind and the header's marks.
    what: u64,
    /// The packet's number, whose series depends on the kind (40 bits), and the packet's leg (24).
    number: u64,
    /// Other fields of the packet, by the kind. An array would be copied through memory.
    fields: (u64, u64, u64),
}

/// Bits of a counter.
const COUNTER: u32 = 40;
const MOST: u64 = (1 << COUNTER) - 1;

/// The values of a payload's size.
const SIZE: u64 = u16::MAX as u64;
/// Lower bits of an acknowledgement's window.
const WINDOW: u32 = u64::BITS - COUNTER;

/// Largest number of legs in a run.
pub(super) const MOST_LEGS: usize = 1 << (u64::BITS - COUNTER);

/// The positions, in a packet's first word, of the kind and of the header's marks, one bit each.
mod marks {
    pub(super) const KIND: u32 = 56;
    pub(super) const CAPABLE: u32 = 59;
    pub(super) const CONGESTED: u32 = 60;
    pub(super) const REDUCED: u32 = 61;
    /// A segment with PSH, or an acknowledgement without MPTCP options.
    pub(super) const PUSH_OR_PLAIN: u32 = 62;
    /// A packet that is stored whole.
    pub(super) const STORED: u32 = 63;
}

/// The kind of a packet inside a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A data packet of SCTP.
    Data,
    /// A data packet of a TCP subflow.
    Segment,
    /// A QUIC packet that carries only stream data.
    Stream,
    /// A TCP acknowledgement that reports no loss, duplicate or congestion.
    Ack,
    /// A packet without data that is stored whole, because it is larger or rare.
    Stored,
    /// A packet with data that is stored whole.
    StoredData,
    /// A datagram, which belongs to no connection.
    Datagram,
    /// A datagram of the carrier of the connection's packets.
    Carried,
}

impl Kind {
    /// The kinds by their number.
    const ALL: [Self; 8] = {
        use Kind::{Ack, Carried, Data, Datagram, Segment, Stored, StoredData, Stream};
        [Data, Segment, Stream, Ack, Stored, StoredData, Datagram, Carried]
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

    /// The packet's number, or that of a carrier's datagram.
    #[inline]
    pub(super) fn counter(&self) -> u64 {
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
        let (capable, congested) = (self.has(CAPABLE), self.has(CONGESTED));
        SegmentEcn { capable, congested, reduced: self.has(REDUCED) }
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
        own.then_some((self.counter(), !matches!(self.kind(), Kind::Ack | Kind::Stored)))
    }

    /// The place in the store of whole packets, if it is there.
    #[inline]
    pub(super) fn place(&self) -> Option<u32> {
        self.has(marks::STORED).then_some(self.what as u32)
    }

    #[inline]
    fn new(number: u64, kind: Kind) -> Self {
        debug_assert!(number <= MOST, "packet {number}");
        Self { what: (kind as u64) << marks::KIND, number, fields: (0, 0, 0) }
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
        use marks::{CAPABLE, CONGESTED, PUSH_OR_PLAIN, REDUCED};
        let ecn = u64::from(capable) << CAPABLE | u64::from(congested) << CONGESTED;
        let tcp = u64::from(reduced) << REDUCED | u64::from(push) << PUSH_OR_PLAIN;
        Self { what: self.what | ecn | tcp, ..self }
    }

    #[inline]
    fn of_ack(number: u64, ack: &Ack) -> Self {
        let &Ack { cumulative, data, window_end, window, timestamp, echo, plain, .. } = ack;
        debug_assert!(data <= MOST, "segment {data}");
        // The window's upper bits take the place of the payload's size.
        let (upper, lower) = (window >> WINDOW << COUNTER, window << COUNTER);
        let flying = Self::new(number, Kind::Ack).of(cumulative);
        let what = flying.what | upper | u64::from(plain) << marks::PUSH_OR_PLAIN;
        Self { what, fields: (data | lower, window_end, pair(timestamp, echo)), ..flying }
    }

    /// Writes a packed packet that arrives to `place`, which keeps its content for other packets.
    #[inline(never)]
    fn unpack(&self, place: &mut Packet) {
        let (segment, size) = (self.what & MOST, self.what >> COUNTER & SIZE);
        let data = Data { segment, bytes: size as u32 };
        let (first, second, third) = self.fields;
        let (timestamp, echo) = (third as u32, (third >> 32) as u32);
        match self.kind() {
            Kind::Data => *place = sctp::Packet::Data(data).into(),
            Kind::Segment => {
                let (number, offset, push, ecn) = (first, second, self.has(marks::PUSH_OR_PLAIN), self.ecn());
                let segment = TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn };
                *place = tcp::Packet::Segment(segment).into();
            }
            Kind::Stream => {
                // Its other fields are empty, as in the last packet of this kind.
                let Packet::Quic(quic::Packet::OneRtt(packet)) = place else {
                    *place = quic::Packet::OneRtt(OneRtt::new(first)).into();
                    return self.unpack(place);
                };
                packet.stream = Some(Stream { data, offset: second });
                (packet.number, packet.ecn) = (first, self.ecn());
            }
            Kind::Ack => {
                let window = size << WINDOW | first >> COUNTER;
                let mut ack = Ack::new(segment, first & MOST, timestamp, echo);
                (ack.window_end, ack.window, ack.plain) = (second, window, self.has(marks::PUSH_OR_PLAIN));
                *place = tcp::Packet::Ack(ack).into();
            }
            Kind::Stored | Kind::StoredData | Kind::Datagram | Kind::Carried => {}
        }
    }
}

/// Two timestamps in a word.
#[inline]
fn pair(timestamp: u32, echo: u32) -> u64 {
    u64::from(timestamp) | u64::from(echo) << 32
}

/// Packets that do not fit into `Flying`. Places are reused.
#[derive(Clone, Debug)]
pub(super) struct PacketStore {
    /// Boxed: an arriving packet is read in place, without a copy, while its receiver launches
    /// other packets.
    places: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
    /// The place of a packed packet that is read.
    unpacked: Option<Box<Packet>>,
}

impl Default for PacketStore {
    fn default() -> Self {
        let unpacked = sctp::Packet::Data(Data { segment: 0, bytes: 0 }).into();
        Self { places: Vec::new(), free: Vec::new(), unpacked: Some(Box::new(unpacked)) }
    }
}

impl PacketStore {
    /// Packs a packet on its leg.
    #[inline(never)]
    pub(super) fn pack(&mut self, packet: PacketRef<'_>, number: u64, leg: usize) -> Flying {
        self.pack_here(packet, number, leg)
    }

    /// [`PacketStore::pack`] where the packet stays.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn pack_here(&mut self, packet: PacketRef<'_>, number: u64, leg: usize) -> Flying {
        let flying = match packet {
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
                let flying = Flying::new(number, Kind::Segment).of_data(data.segment, data.bytes);
                Flying { fields: (own, offset, pair(timestamp, echo)), ..flying.saying(ecn, push) }
            }
            PacketRef::Tcp(tcp::Packet::Ack(ack)) if ack.is_bare() && ack.window <= MOST => {
                Flying::of_ack(number, ack)
            }
            PacketRef::Quic(quic::Packet::OneRtt(one_rtt)) => match one_rtt.plain_stream() {
                Some(Stream { data, offset }) => {
                    let flying = Flying::new(number, Kind::Stream).of_data(data.segment, data.bytes);
                    Flying { fields: (one_rtt.number, offset, 0), ..flying.saying(one_rtt.ecn, false) }
                }
                None => Flying { what: self.put_whole(packet), ..Flying::new(number, Kind::Stored) },
            },
            _ => Flying { what: self.put_whole(packet), ..Flying::new(number, Kind::Stored) },
        };
        Flying { number: number | (leg as u64) << COUNTER, ..flying }
    }

    /// Stores a packet, and returns its first word. More words would be copied through memory.
    #[inline(never)]
    fn put_whole(&mut self, packet: PacketRef<'_>) -> u64 {
        let kind = if packet.carries_data() { Kind::StoredData } else { Kind::Stored };
        let flying = Flying::new(0, kind).of(u64::from(self.keep(packet)));
        flying.saying(packet.ecn().unwrap_or_default(), false).what | 1 << marks::STORED
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn keep(&mut self, packet: PacketRef<'_>) -> u32 {
        let Some(place) = self.free.pop() else {
            self.places.push(Some(Box::new(packet.to_packet())));
            return (self.places.len() - 1) as u32;
        };
        // The next packet will be written there.
        self.fetch(self.free.last().copied());
        if let Some(kept) = &mut self.places[place as usize] {
            // Overwrites by protocol: an assignment of the enum would copy the size of its largest
            // variant.
            match (packet, &mut **kept) {
                (PacketRef::Sctp(sctp::Packet::Sack(sack)), Packet::Sctp(sctp::Packet::Sack(kept))) => {
                    kept.overwrite(sack);
                }
                (PacketRef::Tcp(packet), Packet::Tcp(kept)) => *kept = *packet,
                (PacketRef::Quic(packet), Packet::Quic(kept)) => *kept = *packet,
                (_, kept) => *kept = packet.to_packet(),
            }
        }
        place
    }

    /// Prefetches the stored content of the packet that arrives next on some link.
    #[inline]
    pub(super) fn announce(&self, flying: &Flying) {
        self.fetch(flying.place());
    }

    #[inline]
    fn fetch(&self, place: Option<u32>) {
        if let Some(Some(packet)) = place.and_then(|place| self.places.get(place as usize)) {
            let address: *const Packet = &raw const **packet;
            prefetch(address);
            prefetch(address.wrapping_byte_add(64));
        }
    }

    /// Takes a packet that arrives, with its current congestion marks. `place` is its place. The
    /// caller returns it with `put_back`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take(&mut self, flying: &Flying, place: Option<u32>) -> Option<Box<Packet>> {
        let Some(place) = place else {
            let mut packet = self.unpacked.take()?;
            flying.unpack(&mut packet);
            return Some(packet);
        };
        let mut packet = self.places[place as usize].take()?;
        if let Some(ecn) = packet.ecn_mut() {
            *ecn = flying.ecn();
        }
        Some(packet)
    }

    /// Returns a packet that was read, and frees its place.
    #[inline]
    pub(super) fn put_back(&mut self, place: Option<u32>, packet: Box<Packet>) {
        match place {
            None => self.unpacked = Some(packet),
            Some(place) => {
                self.places[place as usize] = Some(packet);
                self.free.push(place);
            }
        }
    }

    /// Copies the packet, with its current congestion marks.
    pub(super) fn copy(&mut self, flying: &Flying) -> Flying {
        let Some(place) = flying.place() else { return *flying };
        let copied = self.places[place as usize].as_deref().copied();
        copied.map_or(*flying, |packet| {
            let place = u64::from(self.keep(packet.by_ref()));
            Flying { what: flying.what & !MOST | place, ..*flying }
        })
    }

    /// Frees the content of a packet that never arrives.
    pub(super) fn forget(&mut self, flying: &Flying) {
        if let Some(place) = flying.place() {
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests;
