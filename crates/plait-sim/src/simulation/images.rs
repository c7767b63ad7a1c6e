//! The bytes of a run's own connection: both ends' views of the wire, which tell each other where segments begin.

use super::setup;
use crate::scenario::{Scenario, Way};
use plait_transport::Transmit;
use plait_transport::image::{Arriving, Boundaries, Image};
use plait_transport::packet::Packet;
use plait_transport::wire::DecodeError;

/// The stream's bytes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Writes packets as bytes and reads them again. Where segments begin is handed from image to image beside the bytes ([`Boundaries`]).
#[derive(Clone, Debug)]
pub struct Images {
    /// Of the near end and of the far one.
    ends: [Image; 2],
}

impl Images {
    /// For runs of `scenario`, with the numbers that stand for the first segment of the near end and of the far one.
    pub fn new(scenario: &Scenario, initial: [u32; 2]) -> Self {
        Self { ends: Image::pair(&setup::transport(scenario), scenario.paths.len(), initial) }
    }

    /// Appends a packet that leaves an end on this way.
    pub fn encode(&mut self, way: Way, transmit: &Transmit<'_>, out: &mut Vec<u8>) {
        let payload = &ZEROS[..transmit.packet.payload_bytes() as usize];
        let (own, peer) = self.end(way == Way::Backward);
        own.encode(transmit, payload, peer, out);
    }

    /// Reads a packet that has come on this way.
    ///
    /// # Errors
    /// If the bytes are none of the peer's.
    pub fn decode(
        &mut self,
        way: Way,
        arriving: &Arriving<'_>,
        mut take: impl FnMut(&Packet),
    ) -> Result<(), DecodeError> {
        let (own, peer) = self.end(way == Way::Forward);
        own.decode(arriving, peer, |packet, _payload| take(packet))
    }

    /// One of the ends, and what is known of the other's segments.
    fn end(&mut self, far: bool) -> (&mut Image, &Boundaries) {
        let [near_image, far_image] = &mut self.ends;
        let (own, other) = if far { (far_image, near_image) } else { (near_image, far_image) };
        (own, other.boundaries())
    }
}
