//! Local addresses that come, change and go while a connection lasts.

use crate::terms::Terms;
use std::net::{IpAddr, SocketAddr};

/// What became of the local addresses, as the machine knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reroute {
    /// Another address: a path behind those that there are.
    Added(IpAddr, Terms),
    /// A path has another address: its connection is made anew.
    Moved(usize, IpAddr),
    /// A path leads from this address to that one of the peer's: its connection is made anew.
    Aimed(usize, IpAddr, SocketAddr),
    /// A path that was [gone](Reroute::Gone) gives its place to another address, with the terms of that.
    Replaced(usize, IpAddr, Terms),
    /// A path's address is not there, or its interface down: what was on its way there goes elsewhere at once.
    Gone(usize),
    /// It is there again: the path is asked at once.
    Back(usize),
    /// No larger UDP payload fits on a path; `own` if this machine says so, and not a router (ICMP).
    Limited {
        /// Which path.
        path: usize,
        /// Bytes that fit.
        bytes: u16,
        /// Whose word it is: a router's can be forged.
        own: bool,
    },
    /// No route leads to the peer from a path's address.
    Unreachable(usize),
}

/// Why a path carries nothing from whose address there is no route to the peer.
pub(crate) const NO_ROUTE: &str = "no route to the receiver";

/// The terms of paths after a change of local addresses.
pub(crate) fn note_terms(all: &mut Vec<Terms>, path: usize, reroute: &Reroute) {
    match *reroute {
        Reroute::Added(_, terms) => all.push(terms),
        Reroute::Replaced(_, _, terms) => all[path] = terms,
        _ => {}
    }
}
