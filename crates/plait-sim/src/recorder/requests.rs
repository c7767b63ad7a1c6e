//! Requests and responses: times of writing, answering and delivery.

use super::frames::{NEVER, RequestFrame, nanos};
use crate::statistics::Spans;
use plait_sched::{Duration, Time};

/// The requests of a run, in the order of writing, which is also the order of answering.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// All requests since the start.
    pub(crate) frame: RequestFrame,
    /// The deadlines of their responses.
    deadlines: Vec<Option<Time>>,
    answered: usize,
    responded: usize,
    /// The first request without a response.
    oldest: usize,
    /// Counters and latencies begin here.
    warmup_end: Time,
    /// Requests written since the end of the warm-up.
    pub(crate) begun: u64,
    /// Responses delivered wholly since the end of the warm-up.
    pub(crate) completed: u64,
    pub(crate) latency: Spans,
}

impl Requests {
    pub(super) fn new(warmup_end: Time) -> Self {
        Self { warmup_end, ..Self::default() }
    }

    pub(super) fn requested(&mut self, now: Time, request: u64, response: u64, deadline: Option<Duration>) {
        self.deadlines.push(deadline.map(|deadline| now.saturating_add(deadline)));
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

    /// Records a response. Returns its deadline, or `None` if the request already had a response.
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
        *self.deadlines.get(request)?
    }

    /// Number of requests with a response, since the start.
    pub(super) fn responses(&self) -> u64 {
        self.responded as u64
    }

    /// The first request without a response.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest as u64
    }

    /// The deadlines of the requests without a response.
    pub(super) fn missing(&self) -> impl Iterator<Item = Time> {
        let rows = self.deadlines.iter().zip(&self.frame.delivered);
        rows.filter(|(_, delivered)| **delivered == NEVER).filter_map(|(deadline, _)| *deadline)
    }
}
