//! Detects and undoes needless reductions, by the standards. The evidence is one of three: all
//! retransmissions were reported as duplicates (RFC 3708); the acknowledgement belongs to an
//! original (Eifel, RFC 3522); or after a timeout a segment arrives that was never retransmitted
//! (F-RTO, RFC 5682). Window and threshold are restored at once, where RFC 4015 would slow-start.

use super::linux::Memory;
use super::subflow::{Resent, Subflow};
use crate::congestion::{CongestionController, CongestionEvent, Repairing};
use crate::core::{PathSender, TransmissionState};
use crate::packet::tcp::Ack;
use plait_sched::Time;

impl PathSender<Subflow> {
    /// Stores the window before a reduction, and the retransmissions whose acknowledgements will
    /// judge the reduction. A second reduction within a repair cannot be undone to the window of
    /// the first.
    pub(super) fn remember_window(&mut self) {
        let prior = Some((self.control.window(), self.control.slow_start_threshold()));
        let subflow = &mut self.recovery;
        // Earlier retransmissions that may be in flight count too.
        let pending = subflow.resent.len() as u32;
        let stamp = subflow.linux.memory.stamp.filter(|_| pending > 0);
        let unreported = Some(pending).filter(|&pending| pending > 0);
        subflow.linux.memory = Memory { marker: Some(self.flight.first()), unreported, stamp, prior };
    }

    /// Records a retransmission of lost data.
    pub(super) fn note_repetition(&mut self, now: Time) {
        let stamp = self.recovery.clock.at_sender(now);
        self.recovery.linux.note_retransmission(stamp);
    }

    /// Records a reported duplicate: a retransmission was needless, possibly because of reordering.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn note_duplicate(&mut self, ack: &Ack) {
        if let Some(number) = ack.duplicate {
            self.count_duplicate(number);
        }
    }

    #[inline(never)]
    fn count_duplicate(&mut self, number: u64) {
        let subflow = &mut self.recovery;
        let of_probe = subflow.probe.is_some_and(|probe| probe.end == number + 1);
        subflow.linux.count_duplicate(number, of_probe);
        self.counters.duplicate_reports += 1;
    }

    /// Undoes the last reduction if this acknowledgement shows it to be needless. `original` is
    /// true if a segment arrived that was sent once and was in flight when the repair began.
    /// Returns the segments that are in flight again, ascending.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn judge_reduction(
        &mut self,
        now: Time,
        ack: &Ack,
        progress: bool,
        original: bool,
    ) -> Vec<u64> {
        let subflow = &self.recovery;
        let memory = &subflow.linux.memory;
        if memory.marker.is_none() || subflow.repair == Repairing::Nothing {
            return Vec::new();
        }
        let of_original = memory.stamp.is_some_and(|stamp| (ack.echo.wrapping_sub(stamp) as i32) < 0);
        let after_timeout = subflow.repair == Repairing::Timeout && original;
        if memory.unreported == Some(0) || (progress && of_original) || after_timeout {
            self.counters.spurious_timeouts += u64::from(after_timeout);
            return self.take_back(now);
        }
        Vec::new()
    }

    #[inline(never)]
    fn take_back(&mut self, now: Time) -> Vec<u64> {
        let subflow = &mut self.recovery;
        let mut restored = Vec::new();
        for number in subflow.lost.drain(..) {
            if let Some(sent) = self.flight.get(number).filter(|sent| sent.state() == TransmissionState::Lost)
            {
                restored.push(sent.segment);
                self.flight.restore(number);
            }
        }
        restored.sort_unstable();
        // RFC 8985 §6.2 judges retransmissions like all other transmissions, including those from
        // before the timeout.
        let flight = &self.flight;
        let resent = (flight.first()..flight.next()).filter_map(|number| {
            let sent = flight.get(number)?;
            let waits = sent.state() == TransmissionState::InFlight && !sent.first_time();
            waits.then(|| Resent { number, order: sent.order(number) })
        });
        subflow.resent = resent.collect();
        subflow.resent.make_contiguous().sort_unstable_by_key(|resent| resent.order);
        subflow.judged = flight.first();
        subflow.repair = Repairing::Nothing;
        (subflow.withheld, subflow.exempt) = (0, 0);
        // Segments that seemed lost were late.
        subflow.linux.rack.reordered = true;
        subflow.linux.memory.marker = None;
        subflow.ecn.withdraw();
        let prior = subflow.linux.memory.prior.take();
        self.recovery_end = 0;
        self.recovering = false;
        self.counters.undone_reductions += 1;
        if let Some((window, threshold)) = prior {
            self.note_congestion(now, CongestionEvent::Undone { window, threshold });
        }
        restored
    }
}
