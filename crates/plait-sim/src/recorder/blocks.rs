//! Blocks: times of writing, delays of delivery.

use super::deadlines::Deadlines;
use crate::application::BlockOrder;
use crate::statistics::Spans;
use plait_sched::{Duration, Time};
use std::collections::VecDeque;

/// A block that was written.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Payload bytes of all blocks up to this one.
    end: u64,
    written: Time,
    deadline: Option<Time>,
    delivered: bool,
}

/// Blocks of a writer: their writing times and delivery delays.
#[derive(Clone, Debug)]
pub(crate) struct BlockRecord {
    order: BlockOrder,
    /// Blocks from the oldest undelivered one on.
    waiting: VecDeque<Block>,
    /// Number of blocks before them.
    before: u64,
    /// Payload bytes of all blocks.
    bytes: u64,
    last_delay: Option<Duration>,
    pub(crate) delay: Spans,
    /// Differences of the delays of blocks that were delivered one after the other.
    pub(crate) variance: Spans,
}

impl BlockRecord {
    /// Creates an empty record of blocks that arrive in this order.
    pub(super) fn new(order: BlockOrder) -> Self {
        Self {
            order,
            waiting: VecDeque::new(),
            before: 0,
            bytes: 0,
            last_delay: None,
            delay: Spans::new(),
            variance: Spans::new(),
        }
    }

    /// Records that a block was written.
    pub(super) fn written(&mut self, now: Time, bytes: u64, deadline: Option<Duration>) {
        self.bytes += bytes;
        let deadline = deadline.map(|deadline| now.saturating_add(deadline));
        self.waiting.push_back(Block { end: self.bytes, written: now, deadline, delivered: false });
    }

    /// The deadlines of the blocks that were not delivered.
    pub(super) fn missing(&self) -> impl Iterator<Item = Time> {
        self.waiting.iter().filter(|block| !block.delivered).filter_map(|block| block.deadline)
    }

    /// Records the total of delivered bytes.
    pub(super) fn delivered_up_to(
        &mut self,
        now: Time,
        delivered_bytes: u64,
        measured: bool,
        mut deadlines: Option<&mut Deadlines>,
    ) {
        if self.order == BlockOrder::Any {
            return;
        }
        while self.waiting.front().is_some_and(|block| block.end <= delivered_bytes) {
            self.delivered(now, self.before, measured, deadlines.as_deref_mut());
        }
    }

    /// Records the delivery of the block of this number, counted from 0.
    pub(super) fn delivered(
        &mut self,
        now: Time,
        number: u64,
        measured: bool,
        deadlines: Option<&mut Deadlines>,
    ) {
        let place = number.checked_sub(self.before).and_then(|place| usize::try_from(place).ok());
        let Some(block) = place.and_then(|place| self.waiting.get_mut(place)) else { return };
        if std::mem::replace(&mut block.delivered, true) {
            return;
        }
        if let (Some(deadline), Some(deadlines)) = (block.deadline, deadlines) {
            deadlines.delivered(deadline, now);
        }
        let delay = now.since(block.written);
        if measured {
            self.delay.add(delay);
            if let Some(last) = self.last_delay {
                self.variance.add(delay.abs_diff(last));
            }
        }
        self.last_delay = Some(delay);
        while self.waiting.front().is_some_and(|block| block.delivered) {
            self.waiting.pop_front();
            self.before += 1;
        }
    }
}
