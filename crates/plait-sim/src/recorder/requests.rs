//! Requests and responses: when each was written, answered and delivered.

use super::frames::{NEVER, RequestFrame, nanos};
use crate::statistics::Spans;
use plait_sched::Time;

/// The requests of a run, in the order in which they were written, and so answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Since the start.
    pub(crate) frame: RequestFrame,
    answered: usize,
    responded: usize,
    /// From here on it counts.
    warmup_end: Time,
    /// Written from then on.
    pub(crate) begun: u64,
    /// Answered wholly from then on.
    pub(crate) completed: u64,
    pub(crate) latency: Spans,
}

impl Requests {
    pub(super) fn new(warmup_end: Time) -> Self {
        Self { warmup_end, ..Self::default() }
    }

    pub(super) fn requested(&mut self, now: Time, request: u64, response: u64) {
        let frame = &mut self.frame;
        frame.written.push(nanos(now));
        frame.answered.push(NEVER);
        frame.delivered.push(NEVER);
        frame.request_bytes.push(request);
        frame.response_bytes.push(response);
        self.begun += u64::from(now >= self.warmup_end);
    }

    pub(super) fn answered(&mut self, now: Time) {
        if let Some(answered) = self.frame.answered.get_mut(self.answered) {
            *answered = nanos(now);
            self.answered += 1;
        }
    }

    pub(super) fn responded(&mut self, now: Time) {
        let (Some(delivered), Some(&written)) =
            (self.frame.delivered.get_mut(self.responded), self.frame.written.get(self.responded))
        else {
            return;
        };
        *delivered = nanos(now);
        self.responded += 1;
        if now >= self.warmup_end {
            self.completed += 1;
            self.latency.add(now.since(Time::from_nanos(written.unsigned_abs())));
        }
    }

    /// How many have their response, since the start.
    pub(super) fn responses(&self) -> u64 {
        self.responded as u64
    }
}
