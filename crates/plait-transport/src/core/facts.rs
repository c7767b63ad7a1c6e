//! The facts of a path that schedulers see.

use super::path::PathConfig;
use super::room::Fit;
use super::send_buffer::PACKET_MEMORY;
use super::{Core, PathSender};
use crate::congestion::CongestionController;
use plait_sched::{Path, PathId, PathState, Scheduler};

/// Which of a path's facts have changed since the scheduler saw them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stale {
    Nothing,
    /// Those about segments in flight and in queues.
    Amounts,
    Everything,
}

impl<R> PathSender<R> {
    /// The path's number.
    #[inline]
    pub(crate) fn id(&self) -> PathId {
        self.id
    }

    /// True if the scheduler's facts of the path are up to date.
    #[inline]
    pub(super) fn is_shown(&self) -> bool {
        self.stale == Stale::Nothing
    }

    /// Facts of the path have changed.
    #[inline]
    pub(crate) fn touch(&mut self) {
        self.stale = Stale::Everything;
    }

    /// Facts about segments in flight and in queues have changed.
    #[inline]
    pub(crate) fn touch_amounts(&mut self) {
        self.stale = self.stale.max(Stale::Amounts);
    }

    /// Updates the scheduler's facts if they have changed. Several changes between two updates cost
    /// as much as one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn show(&mut self, facts: &mut Path) {
        self.show_changes(facts);
        self.stale = Stale::Nothing;
    }

    /// Updates a copy of the facts.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn show_changes(&self, facts: &mut Path) {
        match self.stale {
            Stale::Nothing => return,
            Stale::Amounts => {}
            Stale::Everything => self.refresh_measurements(facts),
        }
        self.refresh_amounts(facts);
    }

    /// Updates the facts about the network; state, limit, cost and weight are kept there.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refresh_measurements(&self, facts: &mut Path) {
        facts.repairing = self.flight.first() < self.recovery_end;
        facts.srtt = self.rtt.smoothed();
        facts.rttvar = self.rtt.variation();
        facts.latest_rtt = self.rtt.latest();
        facts.min_rtt = self.rtt.min();
        facts.own_rtt = self.rtt.own();
        facts.rto = self.rtt.rto();
        facts.forward_delay = self.delays.map(|delays| delays.forward);
        facts.delivery_rate = self.delivery.bits_per_second;
        facts.loss_ppm =
            if self.lost == 0 { 0 } else { (1_000_000 * self.lost / self.sent.max(1)).min(1_000_000) as u32 };
        let threshold = self.control.slow_start_threshold();
        facts.pacing_rate = self.pacing_rate().filter(|&rate| rate > 0).map(|rate| rate.saturating_mul(8));
        facts.ssthresh =
            if threshold == u64::MAX { u32::MAX } else { self.segments(threshold, facts.ssthresh) };
    }

    /// Updates the facts about data in flight and queued data.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn refresh_amounts(&self, facts: &mut Path) {
        facts.in_recovery = self.admits_nothing_new();
        (facts.cwnd, facts.in_flight) = self.shown_amounts(facts.cwnd);
        facts.lost = self.flight.lost() + self.waiting;
        facts.queued = self.queued();
        if self.fit == Fit::InPackets {
            let assigned = (self.queue.len() + self.reinjections.len()) as u64;
            facts.outstanding = u32::try_from(self.flight.next() - self.flight.first()).ok();
            facts.memory = Some(self.memory() + assigned * (self.segment + PACKET_MEMORY));
        }
    }

    /// A window in segments, rounded as the protocol lets them be in flight. Windows seldom move by
    /// a whole segment, so `before` spares most divisions.
    #[inline]
    fn segments(&self, window: u64, before: u32) -> u32 {
        let bytes = window.saturating_add(self.segment - self.headroom);
        if bytes.wrapping_sub(u64::from(before) * self.segment) < self.segment {
            return before;
        }
        u32::try_from(bytes / self.segment).unwrap_or(u32::MAX)
    }

    /// The used part of the window in full segments. Most often all are full: no division.
    #[inline]
    fn full_in_flight(&self, used: u64) -> u32 {
        let segments = self.flight.segments();
        if used == u64::from(segments) * self.segment {
            return segments;
        }
        u32::try_from(used / self.segment).unwrap_or(u32::MAX)
    }

    /// Segments in flight, as schedulers see them now.
    pub(super) fn shown_in_flight(&self) -> u32 {
        self.shown_amounts(0).1
    }

    /// Returns the window and the flight in segments, as schedulers see them.
    ///
    /// The window is the sum of the flight and of the room, so its rounding does not depend on the
    /// flight. Small packets in flight count as at least one segment. A small packet that fits into
    /// the window behind all waiting segments adds one segment to the window.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn shown_amounts(&self, cwnd_before: u32) -> (u32, u32) {
        let window = self.window();
        let cwnd = self.segments(window, cwnd_before);
        let used = self.used();
        let mut open = self.open_segments(self.part_for_data(window), used);
        let shown = match open {
            _ if self.flight.segments() == 0 && (open > 0 || !self.is_paced_out()) => 0,
            0 => self.full_in_flight(used).max(cwnd).max(1),
            open => cwnd.saturating_sub(open).max(1),
        };
        if self.next_packet < self.segment && open == self.unsent() && self.shows_room() {
            open += 1;
        }
        // A window that shrank below the flight stays as it is.
        (if open > 0 { cwnd.max(shown.saturating_add(open)) } else { cwnd }, shown)
    }
}

impl<S: Scheduler, R> Core<S, R> {
    /// Updates changed facts. Several changes between two updates cost as much as one.
    #[inline(never)]
    pub(crate) fn update_facts(&mut self) {
        self.look_at_paths();
    }

    /// Inlined [`Core::update_facts`] for the most frequent caller.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn look_at_paths(&mut self) {
        for (path, facts) in self.paths.iter_mut().zip(&mut self.facts) {
            path.show(facts);
        }
        if self.needs.uncarried {
            self.uncarried.show(&self.stream, self.sent_end, &mut self.facts);
        }
    }

    /// Returns the current facts of the paths, as an update would show them to the scheduler.
    pub(crate) fn fresh_facts(&self) -> Vec<Path> {
        let mut facts = self.facts.clone();
        self.paths.iter().zip(&mut facts).for_each(|(path, facts)| path.show_changes(facts));
        facts
    }

    /// Facts of the paths as of the last [update](Self::update_facts); states are always current.
    #[inline]
    pub(crate) fn facts(&self) -> &[Path] {
        &self.facts
    }
}

/// Facts of a path at the start.
pub(crate) fn initial_facts(index: usize, segment_bytes: u32, path: &PathConfig) -> Path {
    let mut facts = Path::new(PathId(index as u8), segment_bytes);
    facts.state = if path.backup { PathState::Backup } else { PathState::Active };
    (facts.cost, facts.weight) = (path.cost, path.weight);
    facts
}
