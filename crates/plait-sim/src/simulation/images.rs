//! The bytes of a run's own connection: both ends' views of the wire, which inform each other about
//! segment boundaries.

use super::setup;
use crate::scenario::{Direction, Scenario};
use plait_transport::Transmit;
use plait_transport::image::{Arriving, Boundaries, Image};
use plait_transport::packet::Packet;
use plait_transport::wire::DecodeError;

/// The stream's bytes.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Encodes packets as bytes and decodes them. Segment boundaries pass from image to image outside
/// the bytes ([`Boundaries`]).
#[derive(Clone, Debug)]
pub struct Images {
    /// The images of the near end and of the far end.
    ends: [Image; 2],
}

impl Images {
    /// Creates the images for runs of `scenario`. `initial` are the wire numbers of the first
    /// segments of the near end and of the far end.
    pub fn new(scenario: &Scenario, initial: [u32; 2]) -> Self {
        Self { ends: Image::pair(&setup::transport(scenario), scenario.paths.len(), initial) }
    }

    /// Appends the bytes of a packet that leaves an end in this direction.
    pub fn encode(&mut self, direction: Direction, transmit: &Transmit<'_>, out: &mut Vec<u8>) {
        let payload = &ZEROS[..transmit.packet.payload_bytes() as usize];
        let (own, peer) = self.end(direction == Direction::Backward);
        own.encode(transmit, payload, peer, out);
    }

    /// Decodes a packet that has come in this direction.
    ///
    /// # Errors
    /// If the bytes are not a packet of the peer.
    pub fn decode(
        &mut self,
        direction: Direction,
        arriving: &Arriving<'_>,
        mut take: impl FnMut(&Packet),
    ) -> Result<(), DecodeError> {
        let (own, peer) = self.end(direction == Direction::Forward);
        own.decode(arriving, peer, |packet, _payload| take(packet))
    }

    /// One of the ends, and the segment boundaries of the other.
    fn end(&mut self, far: bool) -> (&mut Image, &Boundaries) {
        let [near_image, far_image] = &mut self.ends;
        let (own, other) = if far { (far_image, near_image) } else { (near_image, far_image) };
        (own, other.boundaries())
    }
}
