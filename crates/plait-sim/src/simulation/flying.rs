//! Packets inside links, small: what acknowledges is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::{Data, OneRtt, Packet, SegmentEcn, Stream, TcpSegment};
use plait_transport::ring::prefetch;

/// A packet inside a link, and where it is on its route. What the frequent kinds say lies in fields that they share: such a
/// packet is written once, where it waits, and read there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flying {
    /// Its segment of the stream; where it is in its store, or when it was sent, where the kind says so.
    segment: u64,
    /// Its number, beside which the kind says of what.
    transmission: u64,
    /// The number in its packet number space, or on its subflow.
    number: u64,
    offset: u64,
    timestamp: u32,
    echo: u32,
    /// The leg that it is on; its route, and so its owner, follows from it.
    pub(super) leg: u32,
    /// On the wire.
    pub(super) bytes: u32,
    /// Bytes of payload: packets have 65,535 bytes at most.
    payload: u16,
    push: bool,
    /// What its headers say of congestion by now.
    ecn: SegmentEcn,
    kind: Kind,
}

const _: () = assert!(size_of::<Flying>() <= 56, "packets under way are many");

/// What a packet inside a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Kind {
    /// A data packet of SCTP.
    #[default]
    Data,
    /// One of a TCP subflow.
    Segment,
    /// A QUIC packet that carries nothing but data.
    Stream,
    /// In a store: a packet without data that is larger, or rare.
    Kept,
    /// Likewise one with data.
    KeptData,
    /// Belongs to no connection.
    Datagram,
    /// Belongs to whoever carries the connection's packets.
    Carried,
}

impl Payload for Flying {
    /// On a link each leg belongs to one path of one connection, in one direction.
    fn flow(&self) -> u64 {
        u64::from(self.leg)
    }

    fn mark(&mut self) -> bool {
        self.ecn.congested |= self.ecn.capable;
        self.ecn.capable
    }
}

impl Flying {
    /// A datagram, sent at this moment.
    pub(super) fn datagram(sent: Time) -> Self {
        Self { segment: sent.as_nanos(), kind: Kind::Datagram, ..Self::default() }
    }

    /// A carrier's datagram of this number.
    pub(super) fn carried(number: u64) -> Self {
        Self { transmission: number, kind: Kind::Carried, ..Self::default() }
    }

    /// The number of a carrier's datagram; `None` if it is none.
    pub(super) fn carried_number(&self) -> Option<u64> {
        (self.kind == Kind::Carried).then_some(self.transmission)
    }

    /// The same packet on a leg, with its size on the wire.
    #[inline]
    pub(super) fn on(self, leg: u32, bytes: u32) -> Self {
        Self { leg, bytes, ..self }
    }

    /// When a datagram was sent; `None` if it is none.
    pub(super) fn sent(&self) -> Option<Time> {
        (self.kind == Kind::Datagram).then_some(Time::from_nanos(self.segment))
    }

    /// The packet's number and whether it carries data, which is numbered by itself; `None` for what is no packet of a connection.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        let own = !matches!(self.kind, Kind::Datagram | Kind::Carried);
        own.then_some((self.transmission, self.kind != Kind::Kept))
    }

    /// Where it is in the store, if it is there, and what its headers say of congestion by now.
    #[inline]
    pub(super) fn place(&self) -> Option<(u32, SegmentEcn)> {
        matches!(self.kind, Kind::Kept | Kind::KeptData).then_some((self.segment as u32, self.ecn))
    }

    /// The packet as it was sent; `None` if it is in the store, and for what is no packet of a connection.
    #[inline]
    pub(super) fn packet(&self) -> Option<Packet> {
        let &Self { segment, number, offset, timestamp, echo, push, ecn, .. } = self;
        let data = Data { segment, bytes: u32::from(self.payload) };
        Some(match self.kind {
            Kind::Data => Packet::Data(data),
            Kind::Segment => {
                Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn })
            }
            Kind::Stream => {
                Packet::OneRtt(OneRtt { stream: Some(Stream { data, offset }), ecn, ..OneRtt::new(number) })
            }
            Kind::Kept | Kind::KeptData | Kind::Datagram | Kind::Carried => return None,
        })
    }

    fn of_data(Data { segment, bytes }: Data, transmission: u64, kind: Kind) -> Self {
        debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
        Self { segment, transmission, payload: bytes as u16, kind, ..Self::default() }
    }
}

/// The large packets under way; places are used again.
///
/// Each is boxed: one that arrives is read where it lies, without a copy, while whoever reads it launches others.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    places: Vec<Option<Box<Packet>>>,
    free: Vec<u32>,
}

impl Kept {
    #[inline]
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Flying {
        match *packet {
            Packet::Data(data) => Flying::of_data(data, transmission, Kind::Data),
            Packet::Segment(TcpSegment { data, number, offset, timestamp, echo, push, ack: None, ecn }) => {
                let flying = Flying::of_data(data, transmission, Kind::Segment);
                Flying { number, offset, timestamp, echo, push, ecn, ..flying }
            }
            Packet::OneRtt(ref one_rtt) => match one_rtt.plain_stream() {
                Some(Stream { data, offset }) => {
                    let &OneRtt { number, ecn, .. } = one_rtt;
                    let flying = Flying::of_data(data, transmission, Kind::Stream);
                    Flying { number, offset, ecn, ..flying }
                }
                None => self.keep_as_it_is(packet, transmission),
            },
            _ => self.keep_as_it_is(packet, transmission),
        }
    }

    #[inline]
    fn keep_as_it_is(&mut self, packet: &Packet, transmission: u64) -> Flying {
        let kind = if packet.carries_data() { Kind::KeptData } else { Kind::Kept };
        let (segment, ecn) = (u64::from(self.keep(packet)), packet.ecn().unwrap_or_default());
        Flying { segment, transmission, ecn, kind, ..Flying::default() }
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
        }
    }
}
