//! Packets inside links, small: an acknowledgement is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use plait_sched::Time;
use plait_transport::packet::{Ack, Data, Packet, Sack, Segment};

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
        subflow: u64,
        offset: u64,
        /// Of payload: packets have 65,535 bytes at most.
        bytes: u16,
        timestamp: u32,
        echo: u32,
    },
    /// The acknowledgement's place in its store.
    Sack {
        place: u32,
        number: u64,
    },
    /// Likewise.
    Ack {
        place: u32,
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
    /// Belongs to no connection; the moment of its sending.
    Datagram(Time),
}

impl Content {
    /// The packet's number and whether it carries data, which is numbered by itself; `None` for a datagram.
    pub(super) fn number(&self) -> Option<(u64, bool)> {
        Some(match *self {
            Self::Data { transmission, .. } | Self::Segment { transmission, .. } => (transmission, true),
            Self::Sack { number, .. }
            | Self::Ack { number, .. }
            | Self::Heartbeat { number, .. }
            | Self::HeartbeatAck { number, .. }
            | Self::Syn { number, .. }
            | Self::SynAck { number, .. } => (number, false),
            Self::Datagram(_) => return None,
        })
    }
}

/// Values under way; places are used again.
#[derive(Clone, Debug)]
struct Store<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Store<T> {
    #[inline]
    fn keep(&mut self, value: &T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = *value;
            return place;
        }
        self.places.push(*value);
        (self.places.len() - 1) as u32
    }

    #[inline]
    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.places[place as usize]
    }
}

/// The acknowledgements under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledgements {
    sacks: Store<Sack>,
    acks: Store<Ack>,
}

impl Acknowledgements {
    #[inline]
    pub(super) fn launch(&mut self, packet: &Packet, number: u64) -> Content {
        match *packet {
            Packet::Data(Data { segment, bytes }) => Content::Data { segment, transmission: number, bytes },
            Packet::Segment(Segment { data: Data { segment, bytes }, subflow, offset, timestamp, echo }) => {
                debug_assert!(bytes <= u32::from(u16::MAX), "no packet holds {bytes} bytes");
                let bytes = bytes as u16;
                Content::Segment { segment, transmission: number, subflow, offset, bytes, timestamp, echo }
            }
            Packet::Sack(ref sack) => Content::Sack { place: self.sacks.keep(sack), number },
            Packet::Ack(ref ack) => Content::Ack { place: self.acks.keep(ack), number },
            Packet::Heartbeat { sent_at } => Content::Heartbeat { sent_at, number },
            Packet::HeartbeatAck { sent_at } => Content::HeartbeatAck { sent_at, number },
            Packet::Syn { timestamp } => Content::Syn { timestamp, number },
            Packet::SynAck { timestamp, echo, window } => Content::SynAck { timestamp, echo, window, number },
        }
    }

    /// The packet as it arrives, and its number; `None` for a datagram.
    #[inline]
    pub(super) fn land(&mut self, content: Content) -> Option<(Packet, u64)> {
        Some(match content {
            Content::Data { segment, transmission, bytes } => {
                (Packet::Data(Data { segment, bytes }), transmission)
            }
            Content::Segment { segment, transmission, subflow, offset, bytes, timestamp, echo } => {
                let data = Data { segment, bytes: u32::from(bytes) };
                (Packet::Segment(Segment { data, subflow, offset, timestamp, echo }), transmission)
            }
            Content::Sack { place, number } => (Packet::Sack(self.sacks.take(place)), number),
            Content::Ack { place, number } => (Packet::Ack(self.acks.take(place)), number),
            Content::Heartbeat { sent_at, number } => (Packet::Heartbeat { sent_at }, number),
            Content::HeartbeatAck { sent_at, number } => (Packet::HeartbeatAck { sent_at }, number),
            Content::Syn { timestamp, number } => (Packet::Syn { timestamp }, number),
            Content::SynAck { timestamp, echo, window, number } => {
                (Packet::SynAck { timestamp, echo, window }, number)
            }
            Content::Datagram(_) => return None,
        })
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, content: Content) {
        match content {
            Content::Sack { place, .. } => self.sacks.free.push(place),
            Content::Ack { place, .. } => self.acks.free.push(place),
            _ => {}
        }
    }
}
