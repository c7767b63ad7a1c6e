//! Reads an acknowledgement in Linux' order: duplicates, then selective blocks, then the cumulative
//! number.

use super::{Report, widen};
use crate::core::{PathSender, Transmission, TransmissionState};
use crate::mptcp::subflow::Subflow;
use crate::packet::tcp::Ack;
use plait_sched::Time;

impl PathSender<Subflow> {
    /// Reads a reported duplicate (tcp_check_dsack, and tcp_sacktag_one for segments still in the
    /// queue).
    pub(super) fn read_duplicate(&mut self, ack: &Ack, report: &mut Report) {
        let Some(number) = ack.duplicate else { return };
        let board = &mut self.recovery.linux;
        board.duplicates += 1;
        if board.duplicates > board.retransmissions {
            return;
        }
        self.counters.duplicate_reports += 1;
        report.duplicate_of_probe = board.probe.is_some_and(|probe| probe.end == number + 1);
        report.duplicates = 1;
        report.delivered += 1;
        self.flight.note_duplicate(self.segment as u32);
        let resent_here = match self.flight.get(number) {
            Some(sent) => !sent.first_time(),
            None => number < report.first_before,
        };
        let counted = if resent_here { number } else { 0 };
        board.count_duplicate(counted, report.duplicate_of_probe);
        let selected = self
            .flight
            .get(number)
            .is_some_and(|sent| !sent.first_time() && sent.state() == TransmissionState::Acknowledged);
        if selected {
            self.note_reordering(number);
        }
    }

    /// Reads the selective blocks and the cumulative number, and takes a round-trip sample from
    /// them.
    pub(super) fn read_acknowledgement(&mut self, now: Time, ack: &Ack, report: &mut Report) {
        let subflow = &mut self.recovery;
        if subflow.arrived.is_empty() {
            subflow.linux.highest = report.first_before;
        }
        let highest_before = subflow.linux.highest;
        let end = ack.cumulative.max(report.first_before);
        self.read_blocks(now, ack, end, report);
        self.read_cumulative(now, end, highest_before, report);
        let subflow = &mut self.recovery;
        subflow.arrived.advance(end);
        subflow.linux.order.forget_below(end);
        self.sample_round_trip(now, report);
    }

    fn read_blocks(&mut self, now: Time, ack: &Ack, end: u64, report: &mut Report) {
        if ack.blocks().next().is_none() {
            return;
        }
        let next = self.flight.next();
        let mut lowest_late: Option<u64> = None;
        // Linux walks through its queue, so it handles the blocks in the order of their numbers.
        let mut blocks: [Option<(u64, u64)>; crate::packet::tcp::MAX_ACK_BLOCKS] = Default::default();
        blocks.iter_mut().zip(ack.blocks()).for_each(|(place, block)| *place = Some(block));
        blocks.sort_unstable();
        for (from, to) in blocks.into_iter().flatten() {
            let stop = to.saturating_add(1).min(next);
            let mut number = self.recovery.arrived.first_absent(from.max(end));
            while number < stop {
                let subflow = &mut self.recovery;
                subflow.arrived.insert(number);
                if let Some(sent) = self.settle_as_linux(now, number, true, report) {
                    let board = &mut self.recovery.linux;
                    report.selective = true;
                    if sent.first_time() {
                        if number < board.highest {
                            lowest_late = Some(lowest_late.map_or(number, |lowest| lowest.min(number)));
                        }
                        report.original |= number < board.high;
                        report.selected = widen(report.selected, sent.sent_at);
                    }
                }
                let subflow = &mut self.recovery;
                subflow.linux.highest = subflow.linux.highest.max(number + 1);
                number = subflow.arrived.first_absent(number + 1);
            }
        }
        let board = &mut self.recovery.linux;
        let judged = board.state != super::State::Loss || board.memory.marker.is_some();
        if let (Some(lowest), true) = (lowest_late, judged) {
            self.note_reordering(lowest);
        }
    }

    fn read_cumulative(&mut self, now: Time, end: u64, highest_before: u64, report: &mut Report) {
        let first = report.first_before;
        report.progress = end > first;
        if !report.progress {
            return;
        }
        let flight = &self.flight;
        report.retransmitted =
            (first..end).any(|number| flight.get(number).is_some_and(|sent| !sent.first_time()));
        let mut lowest_late: Option<u64> = None;
        for number in first..end {
            let Some(sent) = self.settle_as_linux(now, number, false, report) else {
                continue;
            };
            if sent.first_time() {
                report.cumulative = widen(report.cumulative, sent.sent_at);
                lowest_late = lowest_late.or(Some(number));
                report.original |= number < self.recovery.linux.high;
            }
        }
        self.recovery.linux.timeouts = 0;
        if let Some(lowest) = lowest_late.filter(|&lowest| lowest < highest_before) {
            self.note_reordering(lowest);
        }
    }

    /// Records that a segment sent once arrived after a segment sent later.
    pub(super) fn note_reordering(&mut self, number: u64) {
        let first = self.flight.first();
        let subflow = &mut self.recovery;
        let missing = subflow.arrived.iter().next().is_some();
        let highest = if missing { subflow.linux.highest } else { first };
        if number < highest {
            subflow.linux.widen_reordering(highest - number);
            self.counters.reorderings += 1;
        }
    }

    /// Removes `number` from the flight and the scoreboard, because the receiver has it. Returns
    /// the transmission.
    fn settle_as_linux(
        &mut self,
        now: Time,
        number: u64,
        selected: bool,
        report: &mut Report,
    ) -> Option<Transmission> {
        let flight = &mut self.flight;
        let left = flight.leave(number, TransmissionState::Acknowledged).map(|(sent, _)| sent);
        let sent = left.or_else(|| flight.revive(number))?;
        let shortest = self.rtt.min();
        let needless =
            !selected && !sent.first_time() && self.echoes_earlier(report.echo, self.ticks(sent.sent_at));
        let board = &mut self.recovery.linux;
        board.order.remove(number);
        board.lost -= u32::from(sent.marked_lost());
        board.resent -= u32::from(sent.resent());
        let round_trip = now.since(sent.sent_at);
        // An answer sooner than the shortest round trip belongs to an earlier copy.
        let plausible = sent.first_time() || (round_trip >= shortest && !needless);
        if plausible {
            board.rack.advance(sent.order(number), round_trip);
        }
        self.news.ack.bytes += u64::from(sent.bytes());
        self.news.ack.segments += 1;
        report.delivered += 1;
        report.latest = report.latest.max(Some(sent.order(number)));
        Some(sent)
    }

    /// Takes a round-trip sample (the end of tcp_clean_rtx_queue, and tcp_ack_update_rtt).
    fn sample_round_trip(&mut self, now: Time, report: &mut Report) {
        let since = |(first, last): (Time, Time)| (now.since(first), now.since(last));
        let cumulative = report.cumulative.filter(|_| !report.retransmitted).map(since);
        let selected = report.selected.map(since);
        let by_timestamp = || {
            let round_trip = self.round_trip_by_timestamp(now, report.echo);
            report.progress.then_some((round_trip, round_trip))
        };
        let sample = cumulative.or(selected).or_else(by_timestamp);
        report.set_timer = report.progress;
        let Some((round_trip, latest)) = sample else { return };
        let latest = selected.map_or(latest, |(_, latest)| latest);
        self.rtt.sample(round_trip);
        self.rtt.note_shortest(latest);
        self.note_progress();
        self.news.ack.rtt = Some(round_trip);
        self.news.ack.newest_rtt = Some(latest);
        // The timer restarts only for segments that were sent after the last transmission of the
        // oldest one.
        let head = self.flight.get(self.flight.first()).map(|sent| now.since(sent.sent_at));
        if let (Some((since_first, _)), Some(head)) = (selected, head) {
            report.set_timer |= since_first > head;
        }
    }
}
