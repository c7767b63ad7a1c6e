//! Subflows behind an address translator, such as a carrier's: recognised by their MPTCP
//! identities.
//!
//! A subflow whose source address is translated has the same identity in both captures. This is the
//! key in its `MP_CAPABLE` (RFC 8684 §3.1), or the token and random number in the SYN of its
//! `MP_JOIN` (§3.2). The translator must leave sequence numbers and identifications unchanged.

use crate::packet::{CapturedPacket, Content, TcpSegment};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// An address and a port.
type Endpoint = (Ipv4Addr, u16);

/// Identity of a subflow, independent of its addresses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SubflowIdentity {
    /// The first subflow of a connection: the key of the host that opened it.
    First { key: u64 },
    /// A further subflow: the token of the connection, and the random number of the joining host.
    Join { token: u32, nonce: u32 },
}

impl SubflowIdentity {
    fn of(tcp: &TcpSegment) -> Option<Self> {
        let join = tcp.options.join.filter(|_| tcp.syn && !tcp.ack);
        let join = join.map(|(token, nonce)| Self::Join { token, nonce });
        join.or(tcp.options.key.map(|key| Self::First { key }).filter(|_| !tcp.syn))
    }
}

/// The ends from which subflows leave, and the translated ends from which they arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translations {
    leaving: BTreeMap<SubflowIdentity, Endpoint>,
    arriving: BTreeMap<Endpoint, Endpoint>,
}

impl Translations {
    /// Records a packet that leaves its host.
    pub(crate) fn leaves(&mut self, packet: &CapturedPacket) {
        if let Content::Tcp(tcp) = &packet.content
            && let Some(identity) = SubflowIdentity::of(tcp)
        {
            self.leaving.entry(identity).or_insert((packet.source, tcp.source_port));
        }
    }

    /// Restores the original source of an arriving packet. Returns the packet unchanged if no
    /// translation of it is known.
    pub(crate) fn original(&mut self, mut packet: CapturedPacket) -> CapturedPacket {
        let Content::Tcp(tcp) = &mut packet.content else { return packet };
        let endpoint = (packet.source, tcp.source_port);
        if let Some(original_endpoint) = SubflowIdentity::of(tcp)
            .and_then(|identity| self.leaving.get(&identity))
            .filter(|original_endpoint| **original_endpoint != endpoint)
        {
            self.arriving.insert(endpoint, *original_endpoint);
        }
        if let Some(&(source, port)) = self.arriving.get(&endpoint) {
            packet.source = source;
            tcp.source_port = port;
        }
        packet
    }
}
