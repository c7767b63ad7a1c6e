//! Encodes an endpoint's packets as the bytes of its protocol, and decodes them: the connection
//! between an endpoint and a real network.
//!
//! ```text
//! endpoint.transmit ─► Image::encode ─► network ─► Image::decode ─► endpoint.handle_packet
//! ```
//!
//! # Segments and bytes
//! Endpoints identify data by segment numbers, and so do SCTP's TSNs. TCP and QUIC identify data by
//! its offset in a byte stream, and their wire formats do not contain segment boundaries. A real
//! receiver works with bytes; ours work with segments. An image therefore takes the peer's
//! [`Boundaries`] in addition to the bytes: the starts of the segments that the peer has sent. No
//! other information bypasses the bytes. An image takes the starts of its own segments from its own
//! boundaries.
//!
//! # Completeness
//! An image holds the results of the handshake (ports, tags, initial numbers) and the last received
//! values. It is the only step between `transmit` and the network, and between the network and
//! `handle_packet`; captures use the same images. `plait_sim::simulation::ThroughBytes` shows that
//! an end needs no other information: in golden and random scenarios, metrics, tables and decisions
//! are the same if every packet is encoded and decoded. The numbers on the wire wrap early in these
//! runs.
//!
//! Endpoints use nothing that the wire cannot express:
//!
//! - A SACK tells in two bits how many packets it answers, so the receiver counts to three.
//! - QUIC's delay of an acknowledgement is in microseconds, so the endpoint counts whole ones.
//! - SCTP reports windows of 4 GiB and more as 4 GiB − 1.
//! - MPTCP and TCP name data by bytes twice, on the subflow and in the stream, so [`Boundaries`]
//!   cover both. A window fits a scaled field of 16 bits, and a packet echoes one timestamp. The
//!   third packet of TCP's handshake looks like an acknowledgement without new data. It counts as
//!   the handshake's as long as the receiving end has sent nothing.

pub use crate::boundaries::{Arriving, Boundaries, Segmentation};

use crate::endpoint::Config;
use crate::packet::{Packet, PacketRef};
use crate::protocol::Side;
use crate::sink::Transmit;
use crate::wire::DecodeError;
use crate::{cmt_sctp, mpquic, mptcp};

/// Boundaries of a protocol that identifies segments by their numbers.
static NONE: Boundaries = Boundaries::NONE;

/// One end's codec: encodes the packets of this end, and decodes those of its peer.
#[derive(Clone, Debug)]
pub enum Image {
    /// Image of CMT-SCTP.
    CmtSctp(cmt_sctp::Image),
    /// Image of Multipath QUIC.
    Mpquic(mpquic::Image),
    /// Image of MPTCP and TCP.
    Mptcp(mptcp::Image),
}

impl Image {
    /// Creates the images of both ends of a connection over `paths` paths. `initial` holds the
    /// numbers of each end's first byte or segment.
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
                // The ranges of connection IDs of both ends, with one ID per path, do not overlap.
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

    /// Appends a packet that leaves this end. `payload`: the bytes of its segment, if it carries
    /// one.
    ///
    /// # Panics
    /// If the packet is of another protocol: no end of this one sends it.
    pub fn encode(&mut self, transmit: &Transmit<'_>, payload: &[u8], peer: &Boundaries, out: &mut Vec<u8>) {
        match (self, transmit.packet) {
            (Self::CmtSctp(image), PacketRef::Sctp(packet)) => {
                image.encode(&transmit.with(packet), payload, out);
            }
            (Self::Mpquic(image), PacketRef::Quic(packet)) => {
                image.encode(&transmit.with(packet), payload, out);
            }
            (Self::Mptcp(image), PacketRef::Tcp(packet)) => {
                image.encode(&transmit.with(packet), payload, peer, out);
            }
            (_, PacketRef::Sctp(_) | PacketRef::Tcp(_) | PacketRef::Quic(_)) => {
                unreachable!("the end sends no {:?}", transmit.packet)
            }
        }
    }

    /// Decodes a packet of the peer, and passes the endpoint's packets to `take` with their
    /// payload.
    ///
    /// # Errors
    /// If the packet is damaged, of another connection, malformed, or begins at no segment's start.
    pub fn decode(
        &mut self,
        arriving: &Arriving<'_>,
        peer: &Boundaries,
        mut take: impl FnMut(&Packet, &[u8]),
    ) -> Result<(), DecodeError> {
        match self {
            Self::CmtSctp(image) => {
                image.decode(arriving.bytes, |packet, payload| take(&packet.into(), payload))
            }
            Self::Mpquic(image) => {
                image.decode(arriving, peer, |packet, payload| take(&packet.into(), payload))
            }
            Self::Mptcp(image) => {
                image.decode(arriving, peer, |packet, payload| take(&packet.into(), payload))
            }
        }
    }

    /// Returns the starts of the segments that this end has sent.
    pub fn boundaries(&self) -> &Boundaries {
        match self {
            Self::CmtSctp(_) => &NONE,
            Self::Mpquic(image) => image.boundaries(),
            Self::Mptcp(image) => image.boundaries(),
        }
    }
}
