//! Reductions that turn out to have been needless, by the standards: every retransmission was reported as a duplicate
//! (RFC 3708), the acknowledgement is that of an original (Eifel, RFC 3522), or after a timeout something arrives that was
//! never sent again (F-RTO, RFC 5682). Window and threshold are restored at once, where RFC 4015 would slow-start.

use super::linux::Memory;
use super::sender::Sender;
use super::subflow::{Repair, Resent};
use crate::congestion::CongestionController;
use crate::core::TransmissionState;
use crate::packet::Ack;
use plait_sched::{Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// The window is about to be reduced: what it is now, and which acknowledgements will tell. A second reduction within a
    /// repair cannot be taken back to the first one's window.
    pub(super) fn remember_window(&mut self, index: usize) {
        let path = self.core.path(index);
        let prior = Some((path.control().window(), path.control().slow_start_threshold()));
        let subflow = &mut self.subflows[index];
        // Of earlier retransmissions that may be in flight, acknowledgements tell as well.
        let pending = subflow.resent.len() as u32;
        let stamp = subflow.linux.memory.stamp.filter(|_| pending > 0);
        let unreported = Some(pending).filter(|&pending| pending > 0);
        subflow.linux.memory = Memory { marker: Some(path.flight().first()), unreported, stamp, prior };
    }

    /// What is lost was sent again.
    pub(super) fn note_repetition(&mut self, now: Time, index: usize) {
        let stamp = self.config.clock.at_sender(now);
        self.subflows[index].linux.note_retransmission(stamp);
    }

    /// A duplicate was reported: reordering may have caused it, and a retransmission was needless.
    pub(super) fn note_duplicate(&mut self, index: usize, ack: &Ack) {
        let Some(number) = ack.duplicate else { return };
        let subflow = &mut self.subflows[index];
        let of_probe = subflow.probe.is_some_and(|probe| probe.end == number + 1);
        subflow.linux.count_duplicate(number, of_probe);
        self.core.counters_mut().duplicate_reports += 1;
    }

    /// Takes the last reduction back if this acknowledgement shows it to be needless. `original`: something arrived that was
    /// in flight when the repair began, and was sent once.
    pub(super) fn judge_reduction(&mut self, index: usize, ack: &Ack, progress: bool, original: bool) {
        let subflow = &self.subflows[index];
        let memory = &subflow.linux.memory;
        if memory.marker.is_none() || subflow.repair == Repair::None {
            return;
        }
        let of_original = memory.stamp.is_some_and(|stamp| (ack.echo.wrapping_sub(stamp) as i32) < 0);
        let after_timeout = subflow.repair == Repair::Timeout && original;
        if memory.unreported == Some(0) || (progress && of_original) || after_timeout {
            self.core.counters_mut().spurious_timeouts += u64::from(after_timeout);
            self.take_back(index);
        }
    }

    fn take_back(&mut self, index: usize) {
        let path = self.core.path_mut(index);
        let subflow = &mut self.subflows[index];
        let mut restored = Vec::new();
        for number in subflow.lost.drain(..) {
            if let Some(sent) =
                path.flight().get(number).filter(|sent| sent.state() == TransmissionState::Lost)
            {
                restored.push(sent.segment);
                path.flight_mut().restore(number);
            }
        }
        // Segments that are in flight again need no copy on another subflow.
        restored.sort_unstable();
        self.reinjections.retain(|segment| restored.binary_search(segment).is_err());
        // RFC 8985 §6.2 judges retransmissions like everything else, those from before the timeout, too.
        let flight = path.flight();
        let resent = (flight.first()..flight.next()).filter_map(|number| {
            let sent = flight.get(number)?;
            let waits = sent.state() == TransmissionState::InFlight && !sent.first_time();
            waits.then(|| Resent { number, order: sent.order(number) })
        });
        subflow.resent = resent.collect();
        subflow.resent.make_contiguous().sort_unstable_by_key(|resent| resent.order);
        subflow.judged = flight.first();
        subflow.repair = Repair::None;
        (subflow.withheld, subflow.exempt) = (0, 0);
        // What seemed lost was late.
        subflow.linux.rack.reordered = true;
        if let Some((window, threshold)) = subflow.linux.memory.prior {
            path.control_mut().on_undone(window, threshold);
        }
        (subflow.linux.memory.marker, subflow.linux.memory.prior) = (None, None);
        path.set_recovery_end(0);
        subflow.ecn.withdraw();
        self.core.set_recovering(index, false);
        self.core.counters_mut().undone_reductions += 1;
        self.core.touch(index);
    }
}
