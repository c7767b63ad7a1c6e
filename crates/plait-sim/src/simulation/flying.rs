//! Packets inside links, small: what acknowledges is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use crate::link::Payload;
use plait_sched::Time;
use plait_transport::packet::{Data, OneRtt, Packet, SegmentEcn, Stream, TcpSegment};

/// A packet inside a link, and where it is on its route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying {
    pub(super) content: Content,
    /// The leg that it is on; its route, and so its owner, follows from it.
    pub(super) leg: u32,
    /// On the wire.
    pub(super) bytes: u32,
}

const _: () = assert!(size_of::<Flying>() <= 56, "packets under way are many");

impl Payload for Flying {
    /// On a link each leg belongs to one path of one connection, in one direction.
    fn flow(&self) -> u64 {
        u64::from(self.leg)
    }

    fn mark(&mut self) -> bool {
        let (Content::Segment { ecn, .. } | Content::Stream { ecn, .. } | Content::Kept { ecn, .. }) =
            &mut self.content
        else {
            return false;
        };
        ecn.congested |= ecn.capable;
        ecn.capable
    }
}

/// What a packet holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    /// A data packet, field by field: that takes less room than as it comes.
    Data { segment: u64, transmission: u64, bytes: u32 },
    /// Likewise of a TCP subflow.
    Segment {
        segment: u64,
        transmission: u64,
        number: u64,
        offset: u64,
        /// Of payload: packets have 65,535 bytes at most.
        bytes: u16,
        timestamp: u32,
        echo: u32,
        push: bool,
        ecn: SegmentEcn,
    },
    /// Likewise a QUIC packet that carries nothing else.
    Stream { segment: u64, transmission: u64, number: u64, offset: u64, bytes: u16, ecn: SegmentEcn },
    /// The place in its store of a packet that is larger, or rare.
    Kept {
        place: u32,
        data: bool,
        /// What its headers say of congestion by now.
        ecn: SegmentEcn,
        number: u64,
    },
    /// Belongs to no connection; the moment of its sending.
    Datagram(Time),
}

impl Content {
    /// The packet's number and whether it carries data, which is numbered by itself; `None` for a datagram.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        Some(match *self {
            Self::Data { transmission, .. }
            | Self::Segment { transmission, .. }
            | Self::Stream { transmission, .. } => (transmission, true),
            Self::Kept { number, data, .. } => (number, data),
            Self::Datagram(_) => return None,
        })
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
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Content {
        match *packet {
            Packet::Data(Data { segment, bytes }) => Content::Data { segment, transmission, bytes },
            Packet::Segment(TcpSegment {
                data: Data { segment, bytes },
                number,
                offset,
                timestamp,
                echo,
                push,
                ack: None,
                ecn,
            }) => {
                debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
                let bytes = bytes as u16;
                Content::Segment { segment, transmission, number, offset, bytes, timestamp, echo, push, ecn }
            }
            Packet::OneRtt(ref one_rtt) => match one_rtt.plain_stream() {
                Some(Stream { data: Data { segment, bytes }, offset }) => {
                    debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
                    let bytes = bytes as u16;
                    let &OneRtt { number, ecn, .. } = one_rtt;
                    Content::Stream { segment, transmission, number, offset, bytes, ecn }
                }
                None => self.keep_as_it_is(packet, transmission),
            },
            _ => self.keep_as_it_is(packet, transmission),
        }
    }

    #[inline]
    fn keep_as_it_is(&mut self, packet: &Packet, number: u64) -> Content {
        let (data, ecn) = (packet.carries_data(), packet.ecn().unwrap_or_default());
        Content::Kept { place: self.keep(packet), data, ecn, number }
    }

    #[inline]
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
    pub(super) fn forget(&mut self, content: Content) {
        if let Content::Kept { place, .. } = content {
            self.free.push(place);
        }
    }
}
