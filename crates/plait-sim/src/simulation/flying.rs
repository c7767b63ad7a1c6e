//! Packets inside links, small: an acknowledgement is many times larger than a data packet's description and waits in a
//! store of its own, so that long links full of data stay in the cache.

use plait_sched::Time;
use plait_transport::packet::{Data, Packet, Sack};

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
    /// The acknowledgement's place in the store.
    Sack(u32),
    Heartbeat(Time),
    HeartbeatAck(Time),
    /// Belongs to no connection; the moment of its sending.
    Datagram(Time),
}

/// The acknowledgements under way; places are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Sacks {
    places: Vec<Sack>,
    free: Vec<u32>,
}

impl Sacks {
    #[inline]
    pub(super) fn launch(&mut self, packet: &Packet, transmission: u64) -> Content {
        match *packet {
            Packet::Data(Data { segment, bytes }) => Content::Data { segment, transmission, bytes },
            Packet::Sack(ref sack) => Content::Sack(self.keep(sack)),
            Packet::Heartbeat { sent_at } => Content::Heartbeat(sent_at),
            Packet::HeartbeatAck { sent_at } => Content::HeartbeatAck(sent_at),
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

    /// The packet as it arrives, and its transmission's number if it is data; `None` for a datagram.
    #[inline]
    pub(super) fn land(&mut self, content: Content) -> Option<(Packet, u64)> {
        Some(match content {
            Content::Data { segment, transmission, bytes } => {
                (Packet::Data(Data { segment, bytes }), transmission)
            }
            Content::Sack(place) => {
                self.free.push(place);
                (Packet::Sack(self.places[place as usize]), 0)
            }
            Content::Heartbeat(sent_at) => (Packet::Heartbeat { sent_at }, 0),
            Content::HeartbeatAck(sent_at) => (Packet::HeartbeatAck { sent_at }, 0),
            Content::Datagram(_) => return None,
        })
    }

    /// The packet never arrives.
    pub(super) fn forget(&mut self, content: Content) {
        if let Content::Sack(place) = content {
            self.free.push(place);
        }
    }
}
