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

const _: () = assert!(size_of::<Flying>() <= 48, "packets under way are many");

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
        bytes: u32,
        timestamp: u32,
    },
    /// The acknowledgement's place in its store.
    Sack(u32),
    /// Likewise.
    Ack(u32),
    Heartbeat(Time),
    HeartbeatAck(Time),
    Syn {
        timestamp: u32,
    },
    SynAck {
        timestamp: u32,
        echo: u32,
    },
    /// Belongs to no connection; the moment of its sending.
    Datagram(Time),
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
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Content {
        match *packet {
            Packet::Data(Data { segment, bytes }) => Content::Data { segment, transmission, bytes },
            Packet::Segment(Segment { data: Data { segment, bytes }, subflow, timestamp }) => {
                Content::Segment { segment, transmission, subflow, bytes, timestamp }
            }
            Packet::Sack(ref sack) => Content::Sack(self.sacks.keep(sack)),
            Packet::Ack(ref ack) => Content::Ack(self.acks.keep(ack)),
            Packet::Heartbeat { sent_at } => Content::Heartbeat(sent_at),
            Packet::HeartbeatAck { sent_at } => Content::HeartbeatAck(sent_at),
            Packet::Syn { timestamp } => Content::Syn { timestamp },
            Packet::SynAck { timestamp, echo } => Content::SynAck { timestamp, echo },
        }
    }

    /// The packet as it arrives, and its transmission's number if it is data; `None` for a datagram.
    #[inline]
    pub(super) fn land(&mut self, content: Content) -> Option<(Packet, u64)> {
        Some(match content {
            Content::Data { segment, transmission, bytes } => {
                (Packet::Data(Data { segment, bytes }), transmission)
            }
            Content::Segment { segment, transmission, subflow, bytes, timestamp } => {
                let data = Data { segment, bytes };
                (Packet::Segment(Segment { data, subflow, timestamp }), transmission)
            }
            Content::Sack(place) => (Packet::Sack(self.sacks.take(place)), 0),
            Content::Ack(place) => (Packet::Ack(self.acks.take(place)), 0),
            Content::Heartbeat(sent_at) => (Packet::Heartbeat { sent_at }, 0),
            Content::HeartbeatAck(sent_at) => (Packet::HeartbeatAck { sent_at }, 0),
            Content::Syn { timestamp } => (Packet::Syn { timestamp }, 0),
            Content::SynAck { timestamp, echo } => (Packet::SynAck { timestamp, echo }, 0),
            Content::Datagram(_) => return None,
        })
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, content: Content) {
        match content {
            Content::Sack(place) => self.sacks.free.push(place),
            Content::Ack(place) => self.acks.free.push(place),
            _ => {}
        }
    }
}
