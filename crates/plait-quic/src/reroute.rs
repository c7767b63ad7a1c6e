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
}

/// The terms of paths after a change of local addresses.
pub(crate) fn note_terms(all: &mut Vec<Terms>, path: usize, reroute: &Reroute) {
    match *reroute {
        Reroute::Added(_, terms) => all.push(terms),
        Reroute::Replaced(_, _, terms) => all[path] = terms,
        Reroute::Moved(..) | Reroute::Aimed(..) | Reroute::Gone(_) | Reroute::Back(_) => {}
    }
}
