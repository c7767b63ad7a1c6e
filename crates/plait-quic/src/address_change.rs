//! Local addresses that appear, change and disappear during a connection.

use crate::terms::Terms;
use std::net::{IpAddr, SocketAddr};

/// Change of the local addresses, as this machine knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddressChange {
    /// Another address: it becomes a path after the existing ones.
    Added(IpAddr, Terms),
    /// A path has another address: its connection is opened anew.
    Moved(usize, IpAddr),
    /// A path has this local address and that address of the peer: its connection is opened anew.
    Redirected(usize, IpAddr, SocketAddr),
    /// Another address replaces a path that was [removed](AddressChange::Removed), with its own
    /// terms.
    Replaced(usize, IpAddr, Terms),
    /// A path's address is gone, or its interface is down: its data in flight is retransmitted on
    /// other paths at once.
    Removed(usize),
    /// The address is available again: the path is probed at once.
    Restored(usize),
    /// Limit of a path's UDP payload.
    MtuLimited {
        /// Index of the path.
        path: usize,
        /// Most bytes that fit.
        bytes: u16,
        /// True if this machine reports the limit, and not a router (ICMP), whose message can be
        /// forged.
        own: bool,
    },
    /// No route leads to the peer from a path's address.
    Unreachable(usize),
}

/// Trouble of a path whose address has no route to the peer.
pub(crate) const NO_ROUTE: &str = "no route to the receiver";

/// Updates the terms of the paths after a change of local addresses.
pub(crate) fn note_terms(all: &mut Vec<Terms>, path: usize, address_change: &AddressChange) {
    match *address_change {
        AddressChange::Added(_, terms) => all.push(terms),
        AddressChange::Replaced(_, _, terms) => all[path] = terms,
        AddressChange::Moved(..)
        | AddressChange::Redirected(..)
        | AddressChange::Removed(_)
        | AddressChange::Restored(_)
        | AddressChange::MtuLimited { .. }
        | AddressChange::Unreachable(_) => {}
    }
}
