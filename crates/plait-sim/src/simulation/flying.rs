//! Packets inside links, small: an acknowledgement is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use plait_sched::Time;
use plait_transport::packet::{Data, Packet, Sack};

/// A packet inside a link.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flying {
    Data {
        data: Data,
        transmission: u64,
    },
    /// The acknowledgement's place in the store.
    Sack(u32),
    Heartbeat(Time),
    HeartbeatAck(Time),
}

/// The acknowledgements under way; places are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Sacks {
    places: Vec<Sack>,
    free: Vec<u32>,
}

impl Sacks {
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Flying {
        match *packet {
            Packet::Data(data) => Flying::Data { data, transmission },
            Packet::Sack(ref sack) => Flying::Sack(self.keep(sack)),
            Packet::Heartbeat { sent_at } => Flying::Heartbeat(sent_at),
            Packet::HeartbeatAck { sent_at } => Flying::HeartbeatAck(sent_at),
        }
    }

    fn keep(&mut self, sack: &Sack) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = *sack;
            return place;
        }
        self.places.push(*sack);
        (self.places.len() - 1) as u32
    }

    /// The packet as it arrives, and its transmission's number if it is data.
    pub(super) fn land(&mut self, flying: Flying) -> (Packet, u64) {
        match flying {
            Flying::Data { data, transmission } => (Packet::Data(data), transmission),
            Flying::Sack(place) => {
                self.free.push(place);
                (Packet::Sack(self.places[place as usize]), 0)
            }
            Flying::Heartbeat(sent_at) => (Packet::Heartbeat { sent_at }, 0),
            Flying::HeartbeatAck(sent_at) => (Packet::HeartbeatAck { sent_at }, 0),
        }
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, flying: Flying) {
        if let Flying::Sack(place) = flying {
            self.free.push(place);
        }
    }
}
