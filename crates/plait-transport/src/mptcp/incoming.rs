//! The receiving side of one subflow: its own order, and the state of its acknowledgements.

use super::ack_delay::AckDelay;
use super::ecn::Echoing;
use super::grant::PACKET_MEMORY;
use super::{Config, Rules};
use crate::packet::Data;
use crate::packet::tcp::{Ack, TcpSegment};
use crate::run_set::RunSet;
use plait_sched::Time;
use std::collections::VecDeque;

/// Number of remembered runs beyond a gap (TCP_NUM_SACKS); an acknowledgement has space for fewer.
const REMEMBERED_RUNS: usize = 4;

/// Number of runs that a delayed acknowledgement is expected to report (TCP_SACK_BLOCKS_EXPECTED).
const REPORTED_RUNS: usize = 2;

/// Place of an arriving segment on its subflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// The next segment in order.
    Next {
        /// True if other segments waited for this one.
        fills_gap: bool,
    },
    /// A segment beyond a gap.
    Ahead,
    /// A segment that had already arrived.
    Known,
}

/// The receiving side of one subflow.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    pub(super) arrived: RunSet,
    /// Runs beyond a gap, the most recently changed first (RFC 2018 §4).
    recent: [Option<(u64, u64)>; REMEMBERED_RUNS],
    /// Data of the segments beyond a gap and its offset in the stream, from the first missing
    /// segment on, if it is held back.
    held: VecDeque<Option<(Data, u64)>>,
    /// Bytes of the segments held back.
    held_bytes: u64,
    /// Bytes received in order.
    pub(super) bytes: u64,
    /// Number of segments since the last acknowledgement.
    pub(super) unacknowledged: u8,
    /// Latest time for a delayed acknowledgement.
    pub(super) deadline: Option<Time>,
    /// True if an unacknowledged segment ended a burst.
    pub(super) pushed: bool,
    /// Number of a duplicate segment.
    pub(super) duplicate: Option<u64>,
    /// State of acknowledgements of segments beyond a gap.
    pub(super) beyond_gap: BeyondGap,
    /// The timestamp to echo: that of the earliest unacknowledged segment in order (RFC 7323 §4.3).
    pub(super) echo: u32,
    /// Arrival time of the last segment.
    taken_at: Time,
    pub(super) delay: AckDelay,
    pub(super) ecn: Echoing,
}

/// Compression of acknowledgements of segments beyond a gap.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeyondGap {
    /// The first missing segment when the last of these segments was counted.
    next: u64,
    /// Number of acknowledgements sent at once while this segment is missing.
    at_once: u8,
    /// Number of segments that wait for the next acknowledgement.
    waiting: u8,
}

impl BeyondGap {
    /// Counts a segment that arrived while `next` is missing. Returns true if it is acknowledged at
    /// once (TCP_FASTRETRANS_THRESH, tcp_comp_sack_nr).
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

    /// Returns the first segment that has not arrived.
    pub(super) fn next(&self) -> u64 {
        self.arrived.base()
    }

    /// Returns the memory of the segments beyond a gap.
    pub(super) fn held_memory(&self) -> u64 {
        self.arrived.len() * PACKET_MEMORY + self.held_bytes
    }

    /// Returns a segment's place.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn place(&self, number: u64) -> Place {
        if number == self.next() {
            Place::Next { fills_gap: !self.arrived.is_empty() }
        } else if number < self.next() || self.arrived.contains(number) {
            Place::Known
        } else {
            Place::Ahead
        }
    }

    /// Records the arrival time of a segment that is not outdated.
    pub(super) fn note_taken(&mut self, now: Time) {
        self.taken_at = now;
    }

    /// Records a segment at its `place`. With `keep`, holds it back while earlier segments are
    /// missing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn take(&mut self, place: Place, segment: &TcpSegment, keep: bool, rules: &Rules) {
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        match place {
            Place::Known => {
                self.report_again(segment.number, rules);
                // Older segments lie before the window, and are dropped before their timestamp is
                // checked.
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
                    self.held[offset] = Some((segment.data, segment.offset));
                    self.held_bytes += u64::from(segment.data.bytes);
                }
                if let Some((first, last)) = self.arrived.insert(segment.number) {
                    self.note_run(first, last);
                }
            }
        }
    }

    /// PAWS (RFC 7323 §5): True if a segment's timestamp is older than the timestamp to echo, so
    /// that the segment counts as one of an earlier cycle of sequence numbers. Data that a
    /// retransmission overtakes is therefore lost for good. After half a cycle of timestamps
    /// without a segment, nothing can be said (§5.5).
    pub(super) fn is_outdated(&self, now: Time, segment: &TcpSegment, config: &Config) -> bool {
        let half = || config.clock.granularity.saturating_mul(1 << 31);
        let older = is_older(segment.timestamp, self.echo, config.rules.timestamp_tolerance);
        self.echo != 0 && older && now.since(self.taken_at) < half()
    }

    /// Records a duplicate segment to report.
    pub(super) fn report_again(&mut self, number: u64, rules: &Rules) {
        self.duplicate = Some(number);
        rules.hurry(&mut self.delay);
    }

    /// Returns the data and the offset of the next segment that waited for the one
    /// [taken](Self::take) in order. Call until it returns `None`.
    pub(super) fn released(&mut self) -> Option<(Data, u64)> {
        // The first place is that of the segment in order.
        self.held.pop_front()?;
        let (data, offset) = self.held.front().copied().flatten()?;
        self.held_bytes -= u64::from(data.bytes);
        self.bytes += u64::from(data.bytes);
        Some((data, offset))
    }

    /// True if a delayed acknowledgement must leave before a segment is [taken](Self::take)
    /// `Ahead`, because it could not report this segment's run too (tcp_sack_new_ofo_skb).
    pub(super) fn must_report_first(&self, number: u64) -> bool {
        let borders = |run: &(u64, u64)| run.1 + 1 == number || number + 1 == run.0;
        self.beyond_gap.waiting > 0
            && self.recent[REPORTED_RUNS - 1].is_some()
            && !self.recent[..REPORTED_RUNS].iter().flatten().any(borders)
    }

    /// Records the run of a segment. Removes runs that are merged into it or are in order.
    fn note_run(&mut self, first: u64, last: u64) {
        self.keep_runs(|run| run.0 > last || run.1 < first);
        self.recent.rotate_right(1);
        self.recent[0] = Some((first, last));
    }

    /// Removes the other runs. The remaining ones move up.
    fn keep_runs(&mut self, keep: impl Fn(&(u64, u64)) -> bool) {
        let mut kept = 0;
        for index in 0..REMEMBERED_RUNS {
            if let Some(run) = self.recent[index].take().filter(&keep) {
                self.recent[kept] = Some(run);
                kept += 1;
            }
        }
    }

    /// Adds runs beyond a gap and a duplicate to an acknowledgement, in at most `blocks` blocks.
    ///
    /// A duplicate beyond the gap is recognised by the block of its run, which follows its own (RFC
    /// 2883 §4). With space for only one block, it looks like any other block, as in Linux
    /// (`tcp_options_write`).
    #[inline]
    pub(super) fn report(&mut self, ack: &mut Ack, blocks: usize) {
        if blocks > 0 && (self.duplicate.is_some() || self.recent[0].is_some()) {
            self.report_runs(ack, blocks);
        }
    }

    #[inline(never)]
    fn report_runs(&mut self, ack: &mut Ack, blocks: usize) {
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

    /// Returns the runs beyond a gap, the most recently changed first.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.iter().flatten().copied()
    }

    /// True if acknowledgements of segments beyond a gap are delayed for compression.
    pub(super) fn is_compressing(&self) -> bool {
        self.beyond_gap.waiting > 0
    }

    /// Resets the state after an acknowledgement.
    pub(super) fn note_acknowledgement(&mut self) {
        self.deadline = None;
        self.unacknowledged = 0;
        self.pushed = false;
        self.beyond_gap.waiting = 0;
        self.delay.quick = self.delay.quick.saturating_sub(1);
    }
}
