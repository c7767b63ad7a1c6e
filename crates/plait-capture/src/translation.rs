//! Subflows behind a translator of addresses, such as a carrier's: found again by what MPTCP calls them.
//!
//! A subflow that arrives from another address than it left has, in both captures, the same key in its `MP_CAPABLE` (RFC 8684
//! §3.1) or the same token and random number in the SYN of its `MP_JOIN` (§3.2). Sequence numbers and identifications have
//! to pass the translator as they are.

use crate::packet::{CapturedPacket, Content, Tcp};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// An address and a port.
type End = (Ipv4Addr, u16);

/// What a subflow is called, whatever its addresses are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Name {
    /// The first one of a connection: the key of who opened it.
    First { key: u64 },
    /// Another one: the token of the connection, and a random number of who joined.
    Join { token: u32, nonce: u32 },
}

impl Name {
    fn of(tcp: &Tcp) -> Option<Self> {
        let join = tcp.options.join.filter(|_| tcp.syn && !tcp.ack);
        let join = join.map(|(token, nonce)| Self::Join { token, nonce });
        join.or(tcp.options.key.map(|key| Self::First { key }).filter(|_| !tcp.syn))
    }
}

/// Where subflows leave, and which ends they arrive from instead.
#[derive(Clone, Debug, Default)]
pub(crate) struct Translations {
    leaving: BTreeMap<Name, End>,
    arriving: BTreeMap<End, End>,
}

impl Translations {
    /// A packet that leaves the host that opens connections.
    pub(crate) fn leaves(&mut self, packet: &CapturedPacket) {
        if let Content::Tcp(tcp) = &packet.content
            && let Some(name) = Name::of(tcp)
        {
            self.leaving.entry(name).or_insert((packet.source, tcp.source_port));
        }
    }

    /// A packet that arrives, as it left; unchanged if nobody is known to have changed it.
    pub(crate) fn original(&mut self, mut packet: CapturedPacket) -> CapturedPacket {
        let Content::Tcp(tcp) = &mut packet.content else { return packet };
        let end = (packet.source, tcp.source_port);
        if let Some(left) =
            Name::of(tcp).and_then(|name| self.leaving.get(&name)).filter(|left| **left != end)
        {
            self.arriving.insert(end, *left);
        }
        if let Some(&(source, port)) = self.arriving.get(&end) {
            packet.source = source;
            tcp.source_port = port;
        }
        packet
    }
}
