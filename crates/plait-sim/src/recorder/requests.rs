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
    /// The first one without a response.
    oldest: usize,
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

    /// When the request was written, if it had no response yet.
    pub(super) fn responded(&mut self, now: Time, request: usize) -> Option<Time> {
        let delivered = self.frame.delivered.get_mut(request).filter(|delivered| **delivered == NEVER)?;
        *delivered = nanos(now);
        let written = Time::from_nanos(self.frame.written.get(request)?.unsigned_abs());
        self.responded += 1;
        while self.frame.delivered.get(self.oldest).is_some_and(|delivered| *delivered != NEVER) {
            self.oldest += 1;
        }
        if now >= self.warmup_end {
            self.completed += 1;
            self.latency.add(now.since(written));
        }
        Some(written)
    }

    /// How many have their response, since the start.
    pub(super) fn responses(&self) -> u64 {
        self.responded as u64
    }

    /// The first one without a response.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest as u64
    }

    /// When those were written that have no response.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = Time> {
        let rows = self.frame.written.iter().zip(&self.frame.delivered);
        rows.filter(|(_, delivered)| **delivered == NEVER)
            .map(|(written, _)| Time::from_nanos(written.unsigned_abs()))
    }
}
