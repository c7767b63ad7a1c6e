//! RACK (RFC 8985): a transmission is lost if a later one has arrived and the time for its own
//! arrival has passed.

use super::Report;
use super::scoreboard::State;
use crate::core::{Flight, PathSender, TransmissionState, insert_ascending};
use crate::mptcp::subflow::Subflow;
use plait_sched::{Duration, Time};

/// Recoveries for which a widened window is kept (TCP_RACK_RECOVERY_THRESH).
const PERSISTENCE: u8 = 16;

/// RACK's state of a subflow.
#[derive(Clone, Copy, Debug)]
pub(in crate::mptcp) struct Rack {
    /// Highest place in the order of sending among the arrived transmissions.
    pub(super) latest: Option<u64>,
    /// Round trip of the transmission that an acknowledgement settled last. Linux uses this one;
    /// RFC 8985 §6.2 uses the round trip of `latest`.
    pub(super) round_trip: Duration,
    /// True if a transmission arrived since the last loss detection.
    pub(super) advanced: bool,
    /// True if reordering was seen.
    pub(in crate::mptcp) reordered: bool,
    /// The reordering window in quarters of the shortest round trip.
    steps: u8,
    persistence: u8,
    /// True if a duplicate was reported that reordering may have caused.
    pub(super) duplicate_seen: bool,
    /// Number of transmissions sent when the window was last widened.
    widened_at: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            latest: None,
            round_trip: Duration::ZERO,
            advanced: false,
            reordered: false,
            steps: 1,
            persistence: 0,
            duplicate_seen: false,
            widened_at: 0,
        }
    }

    /// Records the arrival of a transmission with the place `order` in the order of sending
    /// (tcp_rack_advance).
    pub(super) fn advance(&mut self, order: u64, round_trip: Duration) {
        self.advanced = true;
        self.round_trip = round_trip;
        self.latest = self.latest.max(Some(order));
    }

    /// Widens the window by a step after a reported duplicate, at most once per round trip
    /// (tcp_rack_update_reo_wnd). `latest` is the highest place that this acknowledgement settled.
    /// `sent` is the number of transmissions so far.
    pub(in crate::mptcp) fn adapt(&mut self, latest: Option<u64>, sent: u64) {
        let Some(latest) = latest else { return };
        if latest < self.widened_at {
            self.duplicate_seen = false;
        }
        if self.duplicate_seen {
            self.steps = self.steps.saturating_add(1);
            self.duplicate_seen = false;
            self.widened_at = sent;
            self.persistence = PERSISTENCE;
        } else if self.persistence == 0 {
            self.steps = 1;
        }
    }

    /// Records the end of a recovery that was not needless.
    pub(in crate::mptcp) fn note_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }

    /// Records the end of a recovery that duplicates showed to be needless.
    pub(super) fn note_needless(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// Returns how long an overtaken transmission may still arrive (tcp_rack_reo_wnd). `hasty` is
    /// true during loss recovery, and if too many segments arrived beyond the gap.
    pub(in crate::mptcp) fn window(&self, hasty: bool, shortest: Duration, smoothed: Duration) -> Duration {
        if hasty && !self.reordered {
            return Duration::ZERO;
        }
        (shortest / 4).saturating_mul(u64::from(self.steps)).min(smoothed)
    }
}

impl PathSender<Subflow> {
    /// Detects losses after new arrivals (tcp_identify_packet_loss).
    pub(super) fn identify_losses(&mut self, now: Time, report: &mut Report) {
        let board = &mut self.recovery.linux;
        if self.flight.next() == self.flight.first() || !board.rack.advanced {
            return;
        }
        board.rack.advanced = false;
        if let Some(due) = self.detect_losses(now, report) {
            self.set_loss_timer(now, due);
            report.set_timer = false;
        }
    }

    /// Marks the transmissions that are lost by now (tcp_rack_detect_loss). Returns the time at
    /// which all other overtaken transmissions are lost, if there are any.
    pub(super) fn detect_losses(&mut self, now: Time, report: &mut Report) -> Option<Time> {
        let rtt = &self.rtt;
        let subflow = &mut self.recovery;
        let board = &mut subflow.linux;
        let latest = board.rack.latest?;
        let hasty = board.state >= State::Recovery || board.exceeds_reordering(subflow.arrived.len());
        let patience = board.rack.round_trip + board.rack.window(hasty, rtt.min(), rtt.smoothed());
        let flight = &self.flight;
        board.order.advance_mark(|number| flight.get(number).is_some_and(|sent| sent.order(number) < latest));
        let due = |flight: &Flight, number: u64| {
            flight.get(number).map(|sent| sent.sent_at.saturating_add(patience))
        };
        while let Some(number) = self.recovery.linux.order.first_overtaken() {
            if due(&self.flight, number).is_some_and(|due| due > now) {
                break;
            }
            self.recovery.linux.order.remove(number);
            self.mark_lost(number, report);
        }
        let last = self.recovery.linux.order.last_overtaken()?;
        due(&self.flight, last)
    }

    /// Marks a transmission as lost (tcp_mark_skb_lost).
    pub(super) fn mark_lost(&mut self, number: u64, report: &mut Report) {
        let subflow = &mut self.recovery;
        let flight = &mut self.flight;
        let Some(sent) = flight.get_mut(number) else { return };
        if sent.state() == TransmissionState::Acknowledged {
            return;
        }
        let leaves = if sent.marked_lost() {
            if !sent.resent() {
                return;
            }
            sent.mark_resent(false);
            subflow.linux.resent -= 1;
            report.lost_again = true;
            true
        } else {
            sent.mark_lost(true);
            subflow.linux.lost += 1;
            !sent.resent()
        };
        report.losses += 1;
        if leaves && flight.leave(number, TransmissionState::Lost).is_some() {
            insert_ascending(&mut subflow.lost, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn the_window_is_nothing_until_reordering_is_seen() {
        let mut rack = Rack::new();
        assert_eq!(rack.window(true, MS(100), MS(120)), Duration::ZERO);
        assert_eq!(rack.window(false, MS(100), MS(120)), MS(25));
        rack.reordered = true;
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(25));
    }

    #[test]
    fn duplicates_widen_it_once_per_round_trip_up_to_the_smoothed_one() {
        let mut rack = Rack { reordered: true, duplicate_seen: true, ..Rack::new() };
        rack.adapt(None, 10);
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(25), "nothing arrived but the duplicate");
        rack.adapt(Some(5), 10);
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(50));
        rack.duplicate_seen = true;
        rack.adapt(Some(9), 20);
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(50), "sent before it was widened");
        for round in 1..9 {
            rack.duplicate_seen = true;
            rack.adapt(Some(10 * round), 10 * round + 10);
        }
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(120));
    }

    #[test]
    fn it_narrows_after_sixteen_recoveries() {
        let mut rack = Rack { reordered: true, duplicate_seen: true, ..Rack::new() };
        rack.adapt(Some(5), 10);
        for recovery in 0..16 {
            rack.adapt(Some(20 + recovery), 30);
            assert_eq!(rack.window(true, MS(100), MS(120)), MS(50), "{recovery}");
            rack.note_recovered();
        }
        rack.adapt(Some(40), 50);
        assert_eq!(rack.window(true, MS(100), MS(120)), MS(25));
    }
}
