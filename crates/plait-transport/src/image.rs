//! Ends' packets as the bytes of their protocol, whichever that is: what leads from an endpoint to a real network and back.
//!
//! ```text
//! endpoint.transmit ─► Image::encode ─► network ─► Image::decode ─► endpoint.handle_packet
//! ```
//!
//! # Segments and bytes
//! Endpoints name data by the numbers of segments, and so do SCTP's TSNs. TCP and QUIC name it by its place in a stream of bytes, and
//! nothing on their wire says where segments begin. A real receiver goes by bytes; ours go by segments. So an image takes the
//! peer's [`Boundaries`] beside the bytes: where the segments begin that the peer has sent. They are all that does not go through
//! the bytes, and what an end knows of its own segments it takes from its own.

pub use crate::boundaries::{Arriving, Boundaries, Segmentation};

use crate::endpoint::Config;
use crate::packet::Packet;
use crate::protocol::Side;
use crate::sink::Transmit;
use crate::wire::DecodeError;
use crate::{cmt_sctp, mpquic, mptcp};

/// Of a protocol that names segments by their numbers.
static NONE: Boundaries = Boundaries::NONE;

/// One end's view of the bytes: it writes what the end sends, and reads what its peer sends.
#[derive(Clone, Debug)]
pub enum Image {
    /// Of CMT-SCTP.
    CmtSctp(cmt_sctp::Image),
    /// Of Multipath QUIC.
    Mpquic(mpquic::Image),
    /// Of MPTCP and TCP.
    Mptcp(mptcp::Image),
}

impl Image {
    /// Those of both ends of a connection over `paths`; `initial` are the numbers that stand for the first byte or segment of each.
    pub fn pair(config: &Config, paths: usize, initial: [u32; 2]) -> [Self; 2] {
        match config {
            Config::CmtSctp(config) => {
                let chosen = |end: usize| cmt_sctp::Chosen {
                    port: 40_000 + end as u16,
                    tag: 0x706c_6100 + end as u32,
                    initial_tsn: initial[end],
                };
                let packet = config.connection.segment_bytes + config.overhead().of_data();
                let image = |own: usize| {
                    cmt_sctp::Image::new(chosen(own), chosen(1 - own), packet, cmt_sctp::Telling::ALL)
                };
                [image(0), image(1)].map(Self::CmtSctp)
            }
            Config::Mpquic(config) => {
                // Connection IDs of one end, one per path, are none of the other's.
                let first_id = |end: usize| (u64::from(initial[end]) << 32) + 1_000 * end as u64;
                let window = config.connection.receive_window;
                let image = |own: usize| mpquic::Image::new(first_id(own), first_id(1 - own), window, paths);
                [image(0), image(1)].map(Self::Mpquic)
            }
            Config::Mptcp(config) => {
                let agreed = mptcp::Agreed::made_up(config, paths, initial);
                [Side::Client, Side::Server].map(|side| Self::Mptcp(mptcp::Image::new(config, &agreed, side)))
            }
        }
    }

    /// Appends a packet as it leaves the end. `payload`: the bytes of its segment, if it carries one.
    pub fn encode(&mut self, transmit: &Transmit<'_>, payload: &[u8], peer: &Boundaries, out: &mut Vec<u8>) {
        match self {
            Self::CmtSctp(image) => image.encode(transmit, payload, out),
            Self::Mpquic(image) => image.encode(transmit, payload, out),
            Self::Mptcp(image) => image.encode(transmit, payload, peer, out),
        }
    }

    /// Reads a packet of the peer's, and hands on what is for the endpoint, with its payload.
    ///
    /// # Errors
    /// If it is damaged, not of this connection, cannot be read, or begins where no segment does.
    pub fn decode(
        &mut self,
        arriving: &Arriving<'_>,
        peer: &Boundaries,
        take: impl FnMut(&Packet, &[u8]),
    ) -> Result<(), DecodeError> {
        match self {
            Self::CmtSctp(image) => image.decode(arriving.bytes, take),
            Self::Mpquic(image) => image.decode(arriving, peer, take),
            Self::Mptcp(image) => image.decode(arriving, peer, take),
        }
    }

    /// Where the segments begin that this end has sent.
    pub fn boundaries(&self) -> &Boundaries {
        match self {
            Self::CmtSctp(_) => &NONE,
            Self::Mpquic(image) => image.boundaries(),
            Self::Mptcp(image) => image.boundaries(),
        }
    }
}
