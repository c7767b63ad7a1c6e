//! RACK (RFC 8985): what was sent before something that arrived is lost once it had the time to arrive as well.

use super::Report;
use super::scoreboard::State;
use crate::core::{Flight, PathSender, TransmissionState, insert_ascending};
use crate::mptcp::subflow::Subflow;
use plait_sched::{Duration, Time};

/// Recoveries for which a widened window is kept (TCP_RACK_RECOVERY_THRESH).
const PERSISTENCE: u8 = 16;

/// What RACK remembers of a subflow.
#[derive(Clone, Copy, Debug)]
pub(in crate::mptcp) struct Rack {
    /// The transmission sent last among those that arrived, in the order of sending.
    pub(super) latest: Option<u64>,
    /// The round trip of the one that an acknowledgement settled last: Linux takes this one, RFC 8985 §6.2 that of `latest`.
    pub(super) round_trip: Duration,
    /// Something arrived since losses were looked for.
    pub(super) advanced: bool,
    /// Reordering was seen.
    pub(in crate::mptcp) reordered: bool,
    /// The window in quarters of the shortest round trip.
    steps: u8,
    persistence: u8,
    /// A duplicate was reported that reordering may have caused.
    pub(super) duplicate_seen: bool,
    /// How much had been sent when the window was widened last.
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

    /// Something arrived, that was sent as the `order`th (tcp_rack_advance).
    pub(super) fn advance(&mut self, order: u64, round_trip: Duration) {
        self.advanced = true;
        self.round_trip = round_trip;
        self.latest = self.latest.max(Some(order));
    }

    /// Widens the window by a step if a duplicate was reported, at most once per round trip (tcp_rack_update_reo_wnd).
    /// `latest` arrived with this acknowledgement, `sent` were sent in all.
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

    /// A recovery ended without having been needless.
    pub(in crate::mptcp) fn note_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
    }

    /// One ended that duplicates showed to be needless.
    pub(super) fn note_needless(&mut self) {
        self.persistence = (self.persistence + 1).min(PERSISTENCE);
    }

    /// How long something that was overtaken may still arrive; `hasty`: losses are being repaired, or too much arrived
    /// beyond the gap (tcp_rack_reo_wnd).
    pub(in crate::mptcp) fn window(&self, hasty: bool, shortest: Duration, smoothed: Duration) -> Duration {
        if hasty && !self.reordered {
            return Duration::ZERO;
        }
        (shortest / 4).saturating_mul(u64::from(self.steps)).min(smoothed)
    }
}

impl PathSender<Subflow> {
    /// tcp_identify_packet_loss.
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

    /// Marks what is lost by now (tcp_rack_detect_loss). Returns when all that was overtaken will be, if more may.
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

    /// tcp_mark_skb_lost.
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
