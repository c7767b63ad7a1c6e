//! The packets of a receiver that leave next.

use crate::packet::tcp::{Ack, Packet};
use plait_sched::PathId;

/// The packets that leave next, in their order. The usual case is one acknowledgement. It is
/// overwritten in its place: that copies an acknowledgement and not a packet of the largest kind.
#[derive(Clone, Debug)]
pub(in crate::mptcp) struct Outbox {
    /// The subflow of the first packet, if that is [`Outbox::ack`].
    path: Option<PathId>,
    ack: Packet,
    pub(super) others: Vec<(PathId, Packet)>,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { path: None, ack: Packet::Ack(Ack::new(0, 0, 0, 0)), others: Vec::new() }
    }
}

impl Outbox {
    /// Adds a packet.
    pub(super) fn push(&mut self, path: PathId, packet: Packet) {
        self.others.push((path, packet));
    }

    /// Adds an acknowledgement, to which `report` adds blocks in its place.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn acknowledge(&mut self, path: PathId, ack: Ack, report: impl FnOnce(&mut Ack)) {
        if self.path.is_none() && self.others.is_empty() {
            self.path = Some(path);
            if let Packet::Ack(place) = &mut self.ack {
                *place = ack;
                report(place);
            }
        } else {
            let mut other = ack;
            report(&mut other);
            self.push(path, Packet::Ack(other));
        }
    }

    /// Removes the first packet, if that is an acknowledgement in its place.
    #[inline]
    pub(super) fn take_first(&mut self) -> Option<(PathId, &Packet)> {
        Some((self.path.take()?, &self.ack))
    }

    /// True if there are packets behind the first one.
    #[inline]
    pub(super) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }
}
