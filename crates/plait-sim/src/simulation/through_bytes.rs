//! Runs whose packets go through the wire's bytes. They show that the ends use only data that a
//! real network would carry.

use super::images::Images;
use super::tap::{Origin, PacketId, Sighting, Tap};
use crate::scenario::{Direction, Scenario};
use plait_transport::Transmit;
use plait_transport::image::Arriving;
use plait_transport::packet::Packet;
use plait_transport::wire::DecodeError;
use std::collections::BTreeMap;

/// Encodes every packet of the scenario's own connection when it leaves an end, and hands the
/// decoded packet to the other end when it arrives. Sizes on the links stay those of the scenario.
/// The result is therefore identical to the last bit, unless an end needs data that is not on the
/// wire. Two things pass outside the bytes: segment boundaries, from image to image ([`Images`]),
/// and the congestion marks of the IP header. Competing flows do not change.
#[derive(Clone, Debug)]
pub struct ThroughBytes {
    images: Images,
    /// The bytes of each packet in flight, and the number of its additional copies.
    under_way: BTreeMap<(bool, bool, u64), (Vec<u8>, u32)>,
    packets: u64,
    failure: Option<DecodeError>,
}

impl ThroughBytes {
    /// Creates a tap for runs of `scenario`. `initial` are the wire numbers of the first segments
    /// of the near end and of the far end.
    pub fn new(scenario: &Scenario, initial: [u32; 2]) -> Self {
        Self { images: Images::new(scenario, initial), under_way: BTreeMap::new(), packets: 0, failure: None }
    }

    /// Takes the bytes of a packet, or of one of its copies, that arrives or is gone.
    fn take(&mut self, id: PacketId) -> Option<Vec<u8>> {
        match self.under_way.get_mut(&key(id))? {
            (_, 0) => self.under_way.remove(&key(id)).map(|(bytes, _)| bytes),
            (bytes, copies) => {
                *copies -= 1;
                Some(bytes.clone())
            }
        }
    }

    /// Number of packets that were encoded and decoded.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The reason why bytes could not be decoded, which ended the run.
    pub const fn failure(&self) -> Option<DecodeError> {
        self.failure
    }
}

const fn key(id: PacketId) -> (bool, bool, u64) {
    (matches!(id.direction, Direction::Backward), id.data, id.number)
}

impl Tap for ThroughBytes {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let &Sighting { id, packet, .. } = seen;
        let transmit = Transmit { path: id.path, packet, transmission: id.number, origin };
        let mut bytes = Vec::new();
        self.images.encode(id.direction, &transmit, &mut bytes);
        let before = self.under_way.insert(key(id), (bytes, 0));
        debug_assert!(before.is_none(), "a packet is sent once: {id:?}");
    }

    fn instead(&mut self, seen: &Sighting<'_>) -> Option<Packet> {
        let bytes = self.take(seen.id)?;
        let arriving =
            Arriving { path: seen.id.path, ecn: seen.packet.ecn().unwrap_or_default(), bytes: &bytes };
        let mut read = None;
        let decoded = self.images.decode(seen.id.direction, &arriving, |packet| read = Some(*packet));
        self.failure = self.failure.or(decoded.err());
        self.packets += 1;
        assert!(read.is_some() || self.failure.is_some(), "bytes that hold a packet: {:?}", seen.packet);
        read
    }

    fn copied(&mut self, id: PacketId) {
        if let Some((_, copies)) = self.under_way.get_mut(&key(id)) {
            *copies += 1;
        }
    }

    fn gone(&mut self, id: PacketId) {
        self.take(id);
    }

    fn gives_up(&self) -> bool {
        self.failure.is_some()
    }
}
