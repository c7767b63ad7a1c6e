//! Loss detection on a subflow, and its timers: RFC 6675, 6298, 8985; see the module's
//! documentation.

use super::rules::{Losses, Reinjection};
use super::sender::Sender;
use super::subflow::{Probe, Resent, Subflow};
use crate::congestion::{CongestionEvent, Repairing};
use crate::core::{NEVER, PathSender, TransmissionState, insert_ascending, merge_ascending};
use crate::observer::Observer;
use plait_sched::{Duration, Event, Path, PathId, PathState, Scheduler, Time};

/// Number of later arrivals that make a transmission lost (DupThresh of RFC 6675).
const LATER_ARRIVALS: u8 = 3;

impl PathSender<Subflow> {
    /// Bytes sent and not cumulatively acknowledged (FlightSize of RFC 5681).
    pub(super) fn outstanding(&self) -> u64 {
        (self.flight.next() - self.flight.first()) * self.segment
    }

    /// True while data sent before the end of a repair is unacknowledged.
    fn is_repairing(&self) -> bool {
        self.flight.first() < self.recovery_end
    }

    /// Ends a repair once all data that was in flight at its beginning has arrived.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_repaired(&mut self) {
        if self.recovery.repair != Repairing::Nothing && !self.is_repairing() {
            self.recovery.repair = Repairing::Nothing;
            self.recovering = false;
            self.touch_amounts();
        }
    }

    /// Applies both rules to the data in flight. A transmission is lost if it was sent before the
    /// third-latest arrival, or long enough before the latest one. Sets the timer for the second
    /// rule. Returns the number of losses.
    ///
    /// Later and earlier refer to the order of *sending*, not to numbers. RFC 6675's IsLost counts
    /// higher numbers, which says nothing about a retransmission: later transmissions may have
    /// lower numbers. Transmissions sent after a retransmission judge it, as for all others (RFC
    /// 8985 §3.1).
    ///
    /// Both lists are in the order of sending. So the first transmission that must wait ends its
    /// list: later ones wait at least as long, and this one has the earliest timer. The cost of an
    /// acknowledgement therefore depends on the changed segments, not on the data in flight.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn find_lost(&mut self, now: Time) -> u32 {
        let subflow = &mut self.recovery;
        subflow.loss_timer = NEVER;
        let Some(latest) = subflow.latest_ends[0].checked_sub(1) else { return 0 };
        let number = subflow.judged.max(self.flight.first());
        if subflow.resent.is_empty()
            && self.flight.get(number).is_none_or(|sent| sent.is_after(latest, number))
        {
            subflow.judged = number;
            return 0;
        }
        self.judge(now, latest)
    }

    /// Judges the transmissions in flight, of which some were sent before the latest arrival.
    #[inline(never)]
    fn judge(&mut self, now: Time, latest: u64) -> u32 {
        let window = self.reordering_window();
        let subflow = &mut self.recovery;
        let overtaken = subflow.latest_ends[usize::from(LATER_ARRIVALS) - 1].checked_sub(1);
        let round_trip = self.rtt.smoothed().max(self.rtt.latest());
        let sent = self.sent;
        let mut losses = 0;
        let latest_round_trip = subflow.latest_round_trip;
        let mut judge = |order: u64, sent_at: Time| {
            // No later transmission has arrived, so this one may still be in flight.
            if order >= latest {
                return Judgement::Wait(NEVER);
            }
            // RFC 8985 §6.2, step 4: once reordering was seen, only time decides.
            if let Some(window) = window {
                let due = sent_at.saturating_add(latest_round_trip + window);
                if due <= now {
                    losses += 1;
                    return Judgement::Lost;
                }
                return Judgement::Wait(due);
            }
            // A tail gets no third later arrival, so its time is shorter. Elsewhere the third
            // arrival normally decides first. Behind a standing queue it comes well after a round
            // trip, and an earlier retransmission would be dropped at the same full queue.
            let is_tail = sent - order <= u64::from(LATER_ARRIVALS);
            let patience = if is_tail { round_trip / 8 } else { round_trip / 2 };
            let due = sent_at.saturating_add(round_trip + patience);
            if overtaken.is_some_and(|overtaken| order < overtaken) || due <= now {
                losses += 1;
                return Judgement::Lost;
            }
            Judgement::Wait(due)
        };
        let mut timer = NEVER;

        // First list: segments sent once. Their numbers are in the order of sending, and numbers
        // below `judged` need no second look. Segments that were retransmitted meanwhile are in the
        // other list.
        let flight = &mut self.flight;
        let mut number = subflow.judged.max(flight.first());
        while let Some(sent) = flight.get(number) {
            if sent.state() == TransmissionState::InFlight && sent.first_time() {
                match judge(sent.order(number), sent.sent_at) {
                    Judgement::Lost => {
                        flight.leave(number, TransmissionState::Lost);
                        insert_ascending(&mut subflow.lost, number);
                    }
                    Judgement::Wait(due) => {
                        timer = timer.min(due);
                        break;
                    }
                }
            }
            number += 1;
        }
        subflow.judged = number;
        // Second list: retransmissions. An entry is outdated if its number has arrived. It is also
        // outdated if the number was lost and retransmitted: then it has a later entry.
        while let Some(&Resent { number, order }) = subflow.resent.front() {
            let current = flight
                .get(number)
                .filter(|sent| sent.state() == TransmissionState::InFlight && sent.order(number) == order);
            if let Some(sent) = current {
                match judge(order, sent.sent_at) {
                    Judgement::Lost => {
                        flight.leave(number, TransmissionState::Lost);
                        insert_ascending(&mut subflow.lost, number);
                    }
                    Judgement::Wait(due) => {
                        timer = timer.min(due);
                        break;
                    }
                }
            }
            subflow.resent.pop_front();
        }
        subflow.loss_timer = timer;
        if losses > 0 {
            self.react_to_losses(now, losses);
        }
        losses
    }

    /// Returns how long an overtaken transmission may still arrive. Returns `None` if reordering
    /// was never seen, so that three later arrivals decide (RFC 8985 §6.2, step 4).
    fn reordering_window(&self) -> Option<Duration> {
        let rack = &self.recovery.linux.rack;
        let rtt = &self.rtt;
        rack.reordered.then(|| rack.window(false, rtt.min(), rtt.smoothed()))
    }

    /// Reduces the window once for all losses of a window of data (RFC 6675 §5, RFC 6582).
    fn react_to_losses(&mut self, now: Time, losses: u32) {
        self.lost += u64::from(losses);
        if !self.is_repairing() {
            self.reduce_window(now);
            // The reduced window must not delay the repair (RFC 6675 §5, step 4.3).
            self.recovery.exempt = 1;
        }
    }

    fn reduce_window(&mut self, now: Time) {
        self.remember_window();
        let outstanding = self.outstanding();
        // RFC 3168 §6.1.2: one reduction per window of data, by a mark or by a loss.
        if self.recovery.ecn.has_reduced(self.flight.first()) {
            self.recovery.linux.memory.prior = None;
        } else {
            self.note_congestion(now, CongestionEvent::Loss { outstanding });
            self.recovery.ecn.note_reduced();
        }
        self.begin_recovery();
        self.recovery.repair = Repairing::Losses;
    }

    /// Judges the tail probe by an acknowledgement (RFC 8985 §7.4).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn judge_probe(&mut self, now: Time, duplicate: bool) {
        let Some(probe) = self.recovery.probe else { return };
        let first = self.flight.first();
        if first < probe.end {
            return;
        }
        if probe.repeated && !duplicate && first > probe.end && !self.is_repairing() {
            // The probe itself filled the hole: the original had been lost. No repair is left to
            // do.
            self.reduce_window(now);
            self.touch();
        }
        // An acknowledgement that ends right behind the probe may belong to the original; a later
        // one decides.
        if duplicate || !probe.repeated || first > probe.end {
            self.recovery.probe = None;
        }
    }

    /// Sets the timers after a transmission or an acknowledgement.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn arm_timers(&mut self, now: Time, progress: bool) {
        let subflow = &mut self.recovery;
        let unacknowledged = self.flight.next() > self.flight.first();
        if !unacknowledged {
            self.retransmission_timer = NEVER;
            subflow.probe_timer = NEVER;
            return;
        }
        if progress || self.retransmission_timer == NEVER {
            self.retransmission_timer = now.saturating_add(self.rtt.rto());
        }
        let may_probe =
            subflow.repair == Repairing::Nothing && subflow.lost.is_empty() && subflow.probe.is_none();
        let srtt = self.rtt.smoothed();
        subflow.probe_timer = if may_probe && !srtt.is_zero() {
            // The acknowledgement of a single segment may be delayed.
            let delay = if self.flight.segments() == 1 { subflow.ack_delay } else { Duration::ZERO };
            now.saturating_add(srtt * 2 + delay).min(self.retransmission_timer)
        } else {
            NEVER
        };
    }

    /// Makes a probe due, because the tail got no acknowledgement for two round trips.
    pub(super) fn probe_timeout(&mut self) {
        let subflow = &mut self.recovery;
        subflow.probe_timer = NEVER;
        subflow.probe_due = true;
    }

    /// Records the tail probe: the last segment if `repeated`, otherwise new data.
    pub(super) fn note_probe(&mut self, now: Time, repeated: bool) {
        let end = self.flight.next();
        self.restart_timer(now);
        let subflow = &mut self.recovery;
        subflow.probe_due = false;
        subflow.probe = Some(Probe { end, repeated });
        self.counters.tail_probes += u64::from(repeated);
    }

    /// Handles the retransmission timeout (RFC 6298 §5): all data in flight is lost and
    /// retransmitted, from one segment on.
    fn time_out(&mut self, now: Time) {
        let outstanding = self.outstanding();
        let repair = self.recovery.repair;
        self.counters.timeouts += 1;
        match repair {
            Repairing::Nothing => self.remember_window(),
            // F-RTO applies only to a timeout without an earlier repair (RFC 5682 §2.1, step 1).
            Repairing::Losses => self.recovery.linux.memory.marker = None,
            Repairing::Timeout => {}
        }
        let repairing = self.flight.first() < self.recovery_end;
        let repairing = repairing && (repair == Repairing::Losses || self.errors > 0);
        self.note_congestion(now, CongestionEvent::Timeout { outstanding, repairing });
        self.rtt.back_off();
        self.begin_recovery();
        self.note_timeout();
        let subflow = &mut self.recovery;
        subflow.ecn.note_reduced();
        subflow.repair = Repairing::Timeout;
        (subflow.loss_timer, subflow.probe_timer, subflow.probe) = (NEVER, NEVER, None);
        subflow.probe_due = false;
        subflow.withheld = 0;
        subflow.resent.clear();
        let flight = &mut self.flight;
        let lost = (flight.first()..flight.next())
            .filter(|&number| flight.leave(number, TransmissionState::Lost).is_some());
        let losses = merge_ascending(&mut subflow.lost, lost);
        subflow.judged = flight.next();
        self.lost += losses;
        subflow.exempt = 1;
        self.restart_timer(now);
        self.recovering = true;
    }
}

impl<S: Scheduler> Sender<S> {
    /// Handles the retransmission timer.
    pub(super) fn retransmission_timeout(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let path = &mut self.core.paths[index];
        path.retransmission_timer = NEVER;
        if path.outstanding() == 0 {
            return;
        }
        match self.config.rules.losses {
            Losses::ByTime => path.time_out_as_linux(now),
            Losses::ByOrder => path.time_out(now),
        }
        self.note_silence(now, index, observer);
        self.core.paths[index].touch();
        self.core.notify(&Event::Timeout { path: PathId(index as u8) });
        self.reinject_all(index);
        self.core.note_opportunity();
    }

    /// Marks a silent subflow as potentially failed, if configured, and as failed after too many
    /// timeouts.
    fn note_silence(&mut self, now: Time, index: usize, observer: &mut impl Observer) {
        let connection = &self.config.connection;
        let others = (self.core.facts().iter()).any(|path| path.is_usable() && path.id.index() != index);
        if self.core.paths[index].errors > connection.path_max_retransmissions {
            // The only usable subflow stays in use, because there is no alternative.
            if others || !self.core.facts().iter().any(Path::is_usable) {
                self.core.set_state(now, index, PathState::Failed, observer);
            }
        } else if connection.potentially_failed && others && self.core.facts()[index].is_usable() {
            self.core.set_state(now, index, PathState::PotentiallyFailed, observer);
        }
    }

    /// Lets the other subflows carry the lost data of this one too.
    fn reinject_all(&mut self, index: usize) {
        if self.config.rules.reinjection != Reinjection::AfterTimeout {
            return;
        }
        let flight = &self.core.paths[index].flight;
        let lost = (flight.first()..flight.next())
            .filter_map(|number| flight.get(number))
            .filter(|sent| sent.state() == TransmissionState::Lost);
        merge_ascending(&mut self.reinjections, lost.map(|sent| sent.segment));
    }
}

/// Result of the rules for one transmission.
enum Judgement {
    Lost,
    /// Neither this transmission nor later ones are lost yet. The time is that of the next check.
    Wait(Time),
}
