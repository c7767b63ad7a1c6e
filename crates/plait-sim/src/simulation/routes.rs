//! Routes over links, from one end of a connection to the other.

use crate::scenario::Direction;

/// The end of a route: an end of a connection, or a sink of datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// 0 is the scenario's own connection, the others are its flows.
    pub(super) connection: u32,
    /// The connection's path.
    pub(super) path: u8,
    /// Forward with the connection's data, or backward with its acknowledgements.
    pub(super) direction: Direction,
}

/// One link of a route. The legs of a route are consecutive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub(super) link: u32,
    pub(super) last: bool,
    /// The end of the route.
    pub(super) end: End,
    /// Packets of the route, each counted at the leg where it happened.
    pub(super) counters: RouteCounters,
}

/// Counters of the packets of one route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RouteCounters {
    /// Packets put on the route.
    pub(crate) sent: u64,
    /// Copies that links made on the way.
    pub(crate) copied: u64,
    /// Packets that reached the end of the route.
    pub(crate) arrived: u64,
    /// Packets lost on a wire.
    pub(crate) lost: u64,
    /// Packets that found a queue full, or were dropped by its discipline.
    pub(crate) dropped: u64,
}

impl std::iter::Sum for RouteCounters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |one, other| Self {
            sent: one.sent + other.sent,
            copied: one.copied + other.copied,
            arrived: one.arrived + other.arrived,
            lost: one.lost + other.lost,
            dropped: one.dropped + other.dropped,
        })
    }
}

/// A route, by its first leg and that leg's link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RouteId {
    pub(super) leg: u32,
    pub(super) link: u32,
}
