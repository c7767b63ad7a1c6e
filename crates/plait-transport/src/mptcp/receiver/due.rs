//! Decides when a segment is acknowledged: at once, soon together with others, or later.

use super::{Place, Receiver};
use crate::mptcp::{Losses, wheel};
use plait_sched::Time;

impl Receiver {
    /// True if a segment must be acknowledged at once.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_due(&self, index: usize, place: Place) -> bool {
        let subflow = &self.subflows[index];
        let enough = match &self.grants {
            Some(grants) if self.config.ack_every > 1 => grants.owes(index, subflow.bytes),
            _ => subflow.unacknowledged >= self.config.ack_every,
        };
        enough || self.is_hasty(index, place)
    }

    /// True if a segment must be acknowledged at once, for any window. This includes segments that
    /// fill a gap (RFC 5681 §4.2).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_hasty(&self, index: usize, place: Place) -> bool {
        let subflow = &self.subflows[index];
        let by_place = match place {
            Place::Known => true,
            Place::Next { fills_gap } => fills_gap && (!self.may_compress() || subflow.arrived.is_empty()),
            Place::Ahead => !self.may_compress(),
        };
        by_place || subflow.delay.quick > 0 || self.config.ack_every == 1
    }

    fn may_compress(&self) -> bool {
        self.grants.is_some() && self.config.rules.longest_compression.is_some()
    }

    /// True if a segment beyond a gap is acknowledged at once. If compression applies instead, sets
    /// a deadline for a common acknowledgement of this segment and others (SACK compression,
    /// `__tcp_ack_snd_check` in net/ipv4/tcp_input.c).
    pub(super) fn compresses(&mut self, now: Time, index: usize) -> bool {
        let subflow = &mut self.subflows[index];
        let (Some(longest), Some(grants)) = (self.config.rules.longest_compression, &self.grants) else {
            return false;
        };
        let next = subflow.next();
        if subflow.arrived.is_empty() || subflow.beyond_gap.leaves_at_once(next) {
            return !subflow.arrived.is_empty();
        }
        let soon = now.saturating_add((grants.round_trip(index) / 20).min(longest));
        subflow.deadline = Some(subflow.deadline.map_or(soon, |deadline| deadline.min(soon)));
        false
    }

    /// True if the window does not shrink by unread data, or if MPTCP has nothing to read
    /// (`subflow_data_ready`).
    pub(super) fn keeps_up(&self, index: usize, unread: u64) -> bool {
        self.config.multipath && unread == 0
            || self.grants.as_ref().is_none_or(|grants| grants.keeps_up(index, self.used() + unread))
    }

    /// Delays an acknowledgement. By Linux' rules, one that is already delayed leaves now if it is
    /// due soon, and a new deadline is never later than the old one (`tcp_send_delayed_ack` in
    /// net/ipv4/tcp_output.c).
    pub(super) fn delay_acknowledgement(&mut self, now: Time, index: usize) {
        let rules = &self.config.rules;
        let subflow = &mut self.subflows[index];
        let by_wheel = rules.losses == Losses::ByTime;
        if subflow.deadline.is_some() && (!by_wheel || subflow.is_compressing()) {
            return;
        }
        let wait = rules.ack_delay(&subflow.delay);
        let due = now.saturating_add(wait);
        let due = if by_wheel { wheel::runs_out(now, due) } else { due };
        match subflow.deadline {
            Some(deadline) if deadline <= now.saturating_add(wait / 4) => self.acknowledge(now, index, 0),
            deadline => subflow.deadline = Some(deadline.map_or(due, |deadline| deadline.min(due))),
        }
    }
}
