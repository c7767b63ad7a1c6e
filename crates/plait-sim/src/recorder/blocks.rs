//! Blocks: times of writing, delays of delivery.

use super::deadlines::Deadlines;
use crate::statistics::Spans;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// Blocks of a writer at a constant rate, or with on and off times: their writing times and
/// delivery delays.
#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    bytes: u64,
    written: VecDeque<Time>,
    delivered: u64,
    last_delay: Option<Duration>,
    pub(crate) delay: Spans,
    /// Differences of the delays of consecutive blocks.
    pub(crate) variance: Spans,
}

impl BlockRecord {
    /// Creates an empty record of blocks of this size.
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            written: VecDeque::new(),
            delivered: 0,
            last_delay: None,
            delay: Spans::new(),
            variance: Spans::new(),
        }
    }

    /// Records that a block was written.
    pub(super) fn written(&mut self, now: Time) {
        self.written.push_back(now);
    }

    /// The writing times of the blocks that were not delivered.
    pub(super) fn undelivered(&self) -> impl Iterator<Item = Time> {
        self.written.iter().copied()
    }

    /// Records the total of delivered bytes.
    pub(super) fn delivered_up_to(
        &mut self,
        now: Time,
        delivered_bytes: u64,
        measured: bool,
        mut deadlines: Option<&mut Deadlines>,
    ) {
        while (self.delivered + 1) * self.bytes <= delivered_bytes {
            let Some(written) = self.written.pop_front() else { return };
            self.delivered += 1;
            if let Some(deadlines) = &mut deadlines {
                deadlines.delivered(written, now);
            }
            let delay = now.since(written);
            if measured {
                self.delay.add(delay);
                if let Some(last) = self.last_delay {
                    self.variance.add(delay.abs_diff(last));
                }
            }
            self.last_delay = Some(delay);
        }
    }
}
