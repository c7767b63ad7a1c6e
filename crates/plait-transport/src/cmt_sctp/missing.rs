//! Split fast retransmit: missing reports per path, and the retransmission of lost segments.

use super::recovery::Recovery;
use super::sender::Sender;
use crate::core::{PathNews, SegmentState};
use crate::packet::sctp::Sack;
use plait_sched::{Event, PathId, Scheduler, Time};

impl<S: Scheduler> Sender<S> {
    /// Split fast retransmit: counts a missing report for each segment that is older, on its own
    /// path, than the newly acknowledged ones of that path. With CMT's delayed acknowledgements one
    /// SACK may count for several.
    ///
    /// RFC 9260 §7.2.4 counts a segment as missing if one with a higher number is newly
    /// acknowledged (HTNA). Over several paths numbers arrive out of order without any loss, so CMT
    /// takes the highest *of the same path* (SFR, Iyengar et al. 2006, section 3). Here it must
    /// also have been sent later there: a retransmitted segment has a low number and a late place.
    ///
    /// In fast recovery, a SACK that advances the cumulative number counts for all segments
    /// reported missing (§7.2.4). By the same rule of CMT, recovery and reports are those of a
    /// path, and only a path with news counts.
    ///
    /// The segment of a copy may have arrived by another copy. Then this one is reported only once:
    /// as a duplicate, in a SACK on its own path. SACKs on other paths overtake that report. So
    /// only those on its own path report the copy missing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn find_missing(&mut self, sack: &Sack, via: usize, advanced: bool) {
        if !self.reports.is_complete() {
            return;
        }
        let copied = self.core.has_copies();
        for index in 0..self.core.paths.len() {
            let PathNews { newest_end, highest_end, lowest, .. } = self.core.paths[index].news;
            if newest_end == 0 {
                continue;
            }
            let path = &mut self.core.paths[index];
            path.recovery.holes.extend(&path.flight, newest_end - 1);
            path.recovery.highest_end = path.recovery.highest_end.max(highest_end);
            // All overtaken transmissions left before `overtaken`.
            let (overtaken, highest_end) = match advanced && path.in_recovery() {
                true => (u64::MAX, path.recovery.highest_end),
                false => (newest_end - 1, highest_end),
            };
            if !path.recovery.holes.begin_below(highest_end) {
                continue;
            }
            let paths_with_news = self.core.paths.iter().filter(|path| path.news.ack.segments > 0).count();
            let (path, stream) = (&mut self.core.paths[index], &self.core.stream);
            let (flight, Recovery { holes, lost, .. }) = (&mut path.flight, &mut path.recovery);
            holes.retain(flight, |number, sent| {
                // Not reported: no later one, or none with a higher number, is acknowledged.
                if number >= overtaken || sent.segment + 1 >= highest_end {
                    return true;
                }
                let wanted =
                    stream.get(sent.segment).is_some_and(|entry| entry.state() != SegmentState::Acknowledged);
                if !wanted && index != via {
                    return true;
                }
                // For a segment that arrived by another copy, the number of retransmissions does
                // not matter.
                if wanted && stream.was_fast_retransmitted(sent.segment, PathId(index as u8), copied) {
                    return false;
                }
                // A delayed SACK may answer several packets, each of which is a report (Iyengar et
                // al. 2006, section 5). But this holds only if all of them were later ones of this
                // path: not if another path's are among them, nor if the news lie on both sides of
                // the missing segment.
                let bracketed = paths_with_news > 1 || lowest < sent.segment;
                let reports =
                    if self.config.delayed_ack_for_cmt && !bracketed { sack.packets.max(1) } else { 1 };
                sent.report_missing(reports);
                let missing = sent.missing() >= self.config.fast_retransmit_threshold;
                if missing {
                    lost.push(number);
                }
                !missing
            });
            self.any_lost |= !lost.is_empty();
        }
    }

    /// RFC 9260 §7.2.4, per path: halves the window once per window of data. No window delays the
    /// first lost segment (rule 3).
    ///
    /// RFC 4960 has that rule for each acknowledgement with losses, and so has this. RFC 9260 has it
    /// outside recovery only. Then the halved window admits two retransmissions per acknowledgement
    /// of data from before it, which overflows a queue that is still full.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn fast_retransmit(&mut self, now: Time) {
        if core::mem::take(&mut self.any_lost) {
            self.retransmit_lost(now);
        }
    }

    #[inline(never)]
    fn retransmit_lost(&mut self, now: Time) {
        for index in 0..self.core.paths.len() {
            let path = &mut self.core.paths[index];
            let Some(&newest) = path.recovery.lost.iter().max() else { continue };
            let mut lost = core::mem::take(&mut path.recovery.lost);
            let origin = PathId(index as u8);
            path.reduce_for_losses(now, newest);
            self.core.update_facts();
            let target = self.config.retransmission_policy.choose(origin, self.core.facts());
            let oldest = self.core.paths[index].flight.first();
            for &number in &lost {
                self.mark_fast_retransmitted(index, number);
            }
            let repairs = self.core.lose(index, lost.iter().copied(), target);
            let path = &mut self.core.paths[index];
            path.restart_timer_beyond(now, oldest);
            let segments = lost.len() as u32;
            lost.clear();
            path.recovery.lost = lost;
            if let Some(first) = if repairs { Some(origin) } else { target } {
                self.core.paths[first.index()].exempt_retransmissions = 1;
            }
            self.core.notify(&Event::Lost { path: origin, segments });
        }
    }

    fn mark_fast_retransmitted(&mut self, index: usize, number: u64) {
        let segment = self.core.paths[index].flight.get(number).map(|sent| sent.segment);
        if let Some(segment) = segment {
            self.core.stream.mark_fast_retransmitted(segment, PathId(index as u8));
        }
    }
}
