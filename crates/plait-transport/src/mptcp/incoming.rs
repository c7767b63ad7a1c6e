//! The receiving side of one subflow: its own order, and when what arrived is acknowledged.

use super::ack_delay::AckDelay;
use super::ecn::Echoing;
use super::grant::PACKET_MEMORY;
use super::{Config, Rules};
use crate::packet::{Ack, TcpSegment};
use crate::run_set::RunSet;
use plait_sched::Time;
use std::collections::VecDeque;

/// Runs beyond a gap that a receiver remembers to report (TCP_NUM_SACKS); an acknowledgement has room for fewer.
const REMEMBERED_RUNS: usize = 4;

/// So many of them an acknowledgement that was put off is trusted to report (TCP_SACK_BLOCKS_EXPECTED).
const REPORTED_RUNS: usize = 2;

/// What a segment was for its subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The next one.
    Next {
        /// Others waited for it.
        fills_gap: bool,
    },
    /// Beyond a gap.
    Ahead,
    /// Had arrived before.
    Known,
}

/// The receiving side of one subflow.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) arrived: RunSet,
    /// Runs beyond a gap, the one that changed last first (RFC 2018 §4).
    recent: [Option<(u64, u64)>; REMEMBERED_RUNS],
    /// What waits beyond a gap, from the first missing segment on, if it is kept until then.
    held: VecDeque<Option<TcpSegment>>,
    /// Bytes that waits there.
    held_bytes: u64,
    /// Bytes that have arrived in order.
    pub(super) bytes: u64,
    /// Segments since the last acknowledgement.
    pub(super) unacknowledged: u8,
    /// When a delayed acknowledgement must leave at the latest.
    pub(super) deadline: Option<Time>,
    /// One of those that were not acknowledged ended a burst.
    pub(super) pushed: bool,
    /// A segment that arrived again.
    pub(super) duplicate: Option<u64>,
    /// Acknowledgements of what arrived beyond a gap.
    pub(super) beyond_gap: BeyondGap,
    /// The timestamp to echo: that of the earliest segment in order that is not acknowledged (RFC 7323 §4.3).
    pub(super) echo: u32,
    /// When the last segment came.
    taken_at: Time,
    pub(super) delay: AckDelay,
    pub(super) ecn: Echoing,
}

/// How acknowledgements of what arrives beyond a gap are put together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeyondGap {
    /// The first segment that was missing when the last of them was counted.
    next: u64,
    /// So many left at once since that one is missing.
    at_once: u8,
    /// Segments that wait for the next one.
    waiting: u8,
}

impl BeyondGap {
    /// Another segment arrived while `next` is missing. True if it is acknowledged at once (TCP_FASTRETRANS_THRESH,
    /// tcp_comp_sack_nr).
    pub(super) fn leaves_at_once(&mut self, next: u64) -> bool {
        if self.waiting >= 44 {
            return true;
        }
        if self.next != next {
            (self.next, self.at_once) = (next, 0);
        }
        if self.at_once < 3 {
            self.at_once += 1;
            return true;
        }
        self.waiting += 1;
        false
    }
}

/// True if `timestamp` is more than `tolerance` ticks older than `other`; timestamps wrap.
fn is_older(timestamp: u32, other: u32, tolerance: u32) -> bool {
    (other.wrapping_sub(timestamp) as i32) > tolerance as i32
}

impl Incoming {
    pub(super) fn new(delay: AckDelay) -> Self {
        Self {
            arrived: RunSet::new(),
            recent: [None; REMEMBERED_RUNS],
            held: VecDeque::new(),
            held_bytes: 0,
            bytes: 0,
            unacknowledged: 0,
            deadline: None,
            pushed: false,
            duplicate: None,
            beyond_gap: BeyondGap::default(),
            echo: 0,
            taken_at: Time::ZERO,
            delay,
            ecn: Echoing::default(),
        }
    }

    /// The first segment that has not arrived.
    pub(super) fn next(&self) -> u64 {
        self.arrived.base()
    }

    /// Memory that what waits beyond a gap takes.
    pub(super) fn held_memory(&self) -> u64 {
        self.arrived.len() * PACKET_MEMORY + self.held_bytes
    }

    /// Where a segment belongs.
    pub(super) fn place(&self, number: u64) -> Place {
        if number < self.next() || self.arrived.contains(number) {
            Place::Known
        } else if number == self.next() {
            Place::Next { fills_gap: !self.arrived.is_empty() }
        } else {
            Place::Ahead
        }
    }

    /// A segment came that is not outdated.
    pub(super) fn note_taken(&mut self, now: Time) {
        self.taken_at = now;
    }

    /// Takes a segment at its `place`, and keeps it if others are to come before it.
    pub(super) fn take(&mut self, place: Place, segment: &TcpSegment, keep: bool, rules: &Rules) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        match place {
            Place::Known => {
                self.report_again(segment.number, rules);
                // What is older lies before the window, and is dropped before its timestamp is looked at.
                if segment.number + 1 == self.next() && !is_older(segment.timestamp, self.echo, 0) {
                    self.echo = segment.timestamp;
                }
            }
            Place::Next { .. } => {
                if self.unacknowledged == 1 || !self.arrived.is_empty() {
                    self.echo = segment.timestamp;
                }
                self.bytes += u64::from(segment.data.bytes);
                if self.arrived.is_empty() {
                    self.arrived.advance(segment.number + 1);
                } else {
                    let end = self.arrived.first_absent(segment.number + 1);
                    self.arrived.advance(end);
                    self.keep_runs(|run| run.0 > end);
                }
            }
            Place::Ahead => {
                if keep {
                    let offset = (segment.number - self.next()) as usize;
                    if offset >= self.held.len() {
                        self.held.resize(offset + 1, None);
                    }
                    self.held[offset] = Some(*segment);
                    self.held_bytes += u64::from(segment.data.bytes);
                }
                if let Some((first, last)) = self.arrived.insert(segment.number) {
                    self.note_run(first, last);
                }
            }
        }
    }

    /// PAWS (RFC 7323 §5): a segment whose timestamp is older than the one that would be echoed counts as one of an earlier
    /// round of sequence numbers. So what a retransmission overtook is lost for good.
    /// After half a round of timestamps without a segment nothing can be said (§5.5).
    pub(super) fn is_outdated(&self, now: Time, segment: &TcpSegment, config: &Config) -> bool {
        let half = config.clock.granularity.saturating_mul(1 << 31);
        let older = is_older(segment.timestamp, self.echo, config.rules.timestamp_tolerance);
        self.echo != 0 && older && now.since(self.taken_at) < half
    }

    /// A segment that had arrived before came again.
    pub(super) fn report_again(&mut self, number: u64, rules: &Rules) {
        self.duplicate = Some(number);
        rules.hurry(&mut self.delay);
    }

    /// The next segment that waited for the one that was [taken](Self::take) in order. Call until it answers `None`.
    pub(super) fn released(&mut self) -> Option<TcpSegment> {
        // The first place is that of the one in order.
        let segment = self.held.get(1).copied().flatten();
        self.held.pop_front();
        let bytes = segment.map_or(0, |segment| u64::from(segment.data.bytes));
        self.held_bytes -= bytes;
        self.bytes += bytes;
        segment
    }

    /// True if an acknowledgement was put off that a segment about to be [taken](Self::take) `Ahead` would leave too much to
    /// report: it is to leave first (tcp_sack_new_ofo_skb).
    pub(super) fn must_report_first(&self, number: u64) -> bool {
        let borders = |run: &(u64, u64)| run.1 + 1 == number || number + 1 == run.0;
        self.beyond_gap.waiting > 0
            && self.recent[REPORTED_RUNS - 1].is_some()
            && !self.recent[..REPORTED_RUNS].iter().flatten().any(borders)
    }

    /// Notes the run that a segment now belongs to; runs that it swallowed or that are in order are
    /// forgotten.
    fn note_run(&mut self, first: u64, last: u64) {
        self.keep_runs(|run| run.0 > last || run.1 < first);
        self.recent.rotate_right(1);
        self.recent[0] = Some((first, last));
    }

    /// Forgets other runs; those that stay move up.
    fn keep_runs(&mut self, keep: impl Fn(&(u64, u64)) -> bool) {
        let mut kept = 0;
        for index in 0..REMEMBERED_RUNS {
            if let Some(run) = self.recent[index].take().filter(&keep) {
                self.recent[kept] = Some(run);
                kept += 1;
            }
        }
    }

    /// Puts what arrived beyond a gap, and what arrived again, into at most so many `blocks`.
    ///
    /// A duplicate beyond the gap is told from other blocks by that of its run behind it (RFC 2883 §4); where there is room for one
    /// block alone, it is one like others, as in Linux (`tcp_options_write`).
    pub(super) fn report(&mut self, ack: &mut Ack, blocks: usize) {
        let mut room = blocks;
        let mut first = None;
        if let Some(number) = core::mem::take(&mut self.duplicate) {
            room -= 1;
            if number < ack.cumulative {
                ack.duplicate = Some(number);
            } else if room == 0 {
                ack.push_block(number, number);
            } else {
                ack.duplicate = Some(number);
                first = self.arrived.iter().find(|&(from, to)| from <= number && number <= to);
            }
        }
        let others = self.runs().filter(|&run| Some(run) != first);
        for (from, to) in first.into_iter().chain(others).take(room) {
            ack.push_block(from, to);
        }
    }

    /// Runs beyond a gap, the one that changed last first.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.iter().flatten().copied()
    }

    /// True if acknowledgements of what arrived beyond a gap wait to be put together.
    pub(super) fn is_compressing(&self) -> bool {
        self.beyond_gap.waiting > 0
    }

    /// An acknowledgement leaves.
    pub(super) fn note_acknowledgement(&mut self) {
        self.deadline = None;
        self.unacknowledged = 0;
        self.pushed = false;
        self.beyond_gap.waiting = 0;
        self.delay.quick = self.delay.quick.saturating_sub(1);
    }
}
