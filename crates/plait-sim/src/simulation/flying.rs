//! Packets inside links, small: an acknowledgement is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use plait_sched::Time;
use plait_transport::packet::{Ack, Data, Packet, Sack, Segment};

/// A packet inside a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flying {
    Data {
        data: Data,
        transmission: u64,
    },
    Segment {
        segment: Segment,
        transmission: u64,
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
    fn keep(&mut self, value: &T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = *value;
            return place;
        }
        self.places.push(*value);
        (self.places.len() - 1) as u32
    }

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
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Flying {
        match *packet {
            Packet::Data(data) => Flying::Data { data, transmission },
            Packet::Segment(segment) => Flying::Segment { segment, transmission },
            Packet::Sack(ref sack) => Flying::Sack(self.sacks.keep(sack)),
            Packet::Ack(ref ack) => Flying::Ack(self.acks.keep(ack)),
            Packet::Heartbeat { sent_at } => Flying::Heartbeat(sent_at),
            Packet::HeartbeatAck { sent_at } => Flying::HeartbeatAck(sent_at),
            Packet::Syn { timestamp } => Flying::Syn { timestamp },
            Packet::SynAck { timestamp, echo } => Flying::SynAck { timestamp, echo },
        }
    }

    /// The packet as it arrives, and its transmission's number if it is data.
    pub(super) fn land(&mut self, flying: Flying) -> (Packet, u64) {
        match flying {
            Flying::Data { data, transmission } => (Packet::Data(data), transmission),
            Flying::Segment { segment, transmission } => (Packet::Segment(segment), transmission),
            Flying::Sack(place) => (Packet::Sack(self.sacks.take(place)), 0),
            Flying::Ack(place) => (Packet::Ack(self.acks.take(place)), 0),
            Flying::Heartbeat(sent_at) => (Packet::Heartbeat { sent_at }, 0),
            Flying::HeartbeatAck(sent_at) => (Packet::HeartbeatAck { sent_at }, 0),
            Flying::Syn { timestamp } => (Packet::Syn { timestamp }, 0),
            Flying::SynAck { timestamp, echo } => (Packet::SynAck { timestamp, echo }, 0),
        }
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, flying: Flying) {
        match flying {
            Flying::Sack(place) => self.sacks.free.push(place),
            Flying::Ack(place) => self.acks.free.push(place),
            _ => {}
        }
    }
}
