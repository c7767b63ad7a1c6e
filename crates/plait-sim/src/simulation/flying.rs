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
    Data {
        segment: u64,
        transmission: u64,
        bytes: u32,
    },
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
    Stream {
        segment: u64,
        transmission: u64,
        number: u64,
        offset: u64,
        bytes: u16,
        ecn: SegmentEcn,
    },
    Initial {
        sent_at: Time,
        number: u64,
    },
    InitialReply {
        sent_at: Time,
        number: u64,
    },
    /// A larger packet's place in its store.
    Kept {
        place: u32,
        data: bool,
        /// What its headers say now, if it is data of a TCP subflow or of QUIC.
        ecn: SegmentEcn,
        number: u64,
    },
    Heartbeat {
        sent_at: Time,
        number: u64,
    },
    HeartbeatAck {
        sent_at: Time,
        number: u64,
    },
    Syn {
        timestamp: u32,
        number: u64,
    },
    SynAck {
        timestamp: u32,
        echo: u32,
        window: u64,
        number: u64,
    },
    Confirm {
        timestamp: u32,
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
            Self::Initial { number, .. }
            | Self::InitialReply { number, .. }
            | Self::Heartbeat { number, .. }
            | Self::HeartbeatAck { number, .. }
            | Self::Syn { number, .. }
            | Self::SynAck { number, .. }
            | Self::Confirm { number, .. } => (number, false),
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
            Packet::Sack(_) | Packet::Ack(_) => {
                let ecn = SegmentEcn::default();
                Content::Kept { place: self.keep(packet), data: false, ecn, number: transmission }
            }
            Packet::Segment(TcpSegment { ecn, .. }) => {
                Content::Kept { place: self.keep(packet), data: true, ecn, number: transmission }
            }
            Packet::OneRtt(packet) => match packet.plain_stream() {
                Some(Stream { data: Data { segment, bytes }, offset }) => {
                    debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
                    let bytes = bytes as u16;
                    let OneRtt { number, ecn, .. } = packet;
                    Content::Stream { segment, transmission, number, offset, bytes, ecn }
                }
                None => {
                    let (data, ecn) = (packet.stream.is_some(), packet.ecn);
                    Content::Kept {
                        place: self.keep(&Packet::OneRtt(packet)),
                        data,
                        ecn,
                        number: transmission,
                    }
                }
            },
            Packet::Initial { sent_at } => Content::Initial { sent_at, number: transmission },
            Packet::InitialReply { sent_at } => Content::InitialReply { sent_at, number: transmission },
            Packet::Heartbeat { sent_at } => Content::Heartbeat { sent_at, number: transmission },
            Packet::HeartbeatAck { sent_at } => Content::HeartbeatAck { sent_at, number: transmission },
            Packet::Syn { timestamp } => Content::Syn { timestamp, number: transmission },
            Packet::SynAck { timestamp, echo, window } => {
                Content::SynAck { timestamp, echo, window, number: transmission }
            }
            Packet::Confirm { timestamp } => Content::Confirm { timestamp, number: transmission },
        }
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
