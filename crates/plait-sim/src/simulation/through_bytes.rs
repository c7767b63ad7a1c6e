//! A run whose packets go through the wire's bytes: what shows that the ends live on what a real network would carry.

use super::tap::{Origin, PacketId, Sighting, Tap};
use crate::scenario::{Protocol, Scenario, Way};
use plait_transport::Transmit;
use plait_transport::cmt_sctp::{Chosen, Image, Telling};
use plait_transport::packet::Packet;
use plait_transport::wire::DecodeError;
use std::collections::BTreeMap;

/// The stream's bytes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Encodes every packet of the scenario's own connection as it leaves an end, and hands the other end what it decodes as the packet
/// arrives. Sizes on the links stay those of the scenario, so the result is the same to the last bit, or something that an end
/// needs is not on the wire. Competing flows stay as they are.
#[derive(Clone, Debug)]
pub struct ThroughBytes {
    /// Of the near end and of the far one.
    images: [Image; 2],
    under_way: BTreeMap<(bool, bool, u64), Vec<u8>>,
    packets: u64,
    failure: Option<DecodeError>,
}

impl ThroughBytes {
    /// For runs of `scenario`, with the numbers that stand for the first segment of the near end and of the far one. `None` where
    /// the protocol has no image in bytes yet: that of MPTCP, TCP and Multipath QUIC.
    pub fn new(scenario: &Scenario, initial: [u32; 2]) -> Option<Self> {
        if scenario.transport.protocol != Protocol::CmtSctp {
            return None;
        }
        let chosen = |end: usize| Chosen {
            port: 40_000 + end as u16,
            tag: 0x706c_6100 + end as u32,
            initial_tsn: initial[end],
        };
        let image =
            |own: usize| Image::new(chosen(own), chosen(1 - own), scenario.transport.packet, Telling::ALL);
        let images = [image(0), image(1)];
        Some(Self { images, under_way: BTreeMap::new(), packets: 0, failure: None })
    }

    /// How many packets were encoded and decoded again.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Why bytes could not be decoded; that ended the run.
    pub const fn failure(&self) -> Option<DecodeError> {
        self.failure
    }
}

const fn key(id: PacketId) -> (bool, bool, u64) {
    (matches!(id.way, Way::Backward), id.data, id.number)
}

impl Tap for ThroughBytes {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        let &Sighting { id, packet, .. } = seen;
        let payload = match packet {
            Packet::Data(data) => &ZEROS[..data.bytes as usize],
            _ => &[],
        };
        let transmit = Transmit { path: id.path, packet, transmission: id.number, origin };
        let mut bytes = Vec::new();
        self.images[usize::from(id.way == Way::Backward)].encode(&transmit, payload, &mut bytes);
        let before = self.under_way.insert(key(id), bytes);
        debug_assert!(before.is_none(), "a packet is sent once: {id:?}");
    }

    fn instead(&mut self, seen: &Sighting<'_>) -> Option<Packet> {
        let bytes = self.under_way.remove(&key(seen.id))?;
        let mut read = None;
        let reader = &mut self.images[usize::from(seen.id.way == Way::Forward)];
        let decoded = reader.decode(&bytes, |packet, _payload| read = Some(*packet));
        self.failure = self.failure.or(decoded.err());
        self.packets += 1;
        assert!(read.is_some() || self.failure.is_some(), "bytes that hold a packet: {:?}", seen.packet);
        read
    }

    fn gone(&mut self, id: PacketId) {
        self.under_way.remove(&key(id));
    }

    fn gives_up(&self) -> bool {
        self.failure.is_some()
    }
}
