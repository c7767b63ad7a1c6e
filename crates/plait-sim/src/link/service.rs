//! The departure of bytes: at a constant rate, at a rate in steps, or at the opportunities of a
//! trace.

use std::sync::Arc;

use plait_sched::{Duration, Time};

use super::steps::{Stepper, Steps};
use super::trace::{Cursor, Trace};

/// The rate at which a link's bytes leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Capacity {
    /// A constant rate in bits per second, more than zero.
    Rate(u64),
    /// A rate that changes at given times.
    Steps(Arc<Steps<u64>>),
    /// Recorded delivery opportunities.
    Trace(Arc<Trace>),
}

impl Capacity {
    /// The mean rate between two times, in bits per second (rounded down, at least 1). For a trace,
    /// the mean rate of a whole period.
    pub fn mean_rate(&self, from: Time, to: Time) -> u64 {
        match self {
            Self::Rate(rate) => *rate,
            Self::Steps(steps) => steps.mean_rate(from, to),
            Self::Trace(trace) => trace.mean_rate(),
        }
    }

    /// The rate for the size of a queue: the rate before any steps, or the mean rate of a trace.
    pub fn nominal_rate(&self) -> u64 {
        match self {
            Self::Rate(rate) => *rate,
            Self::Steps(steps) => steps.first(),
            Self::Trace(trace) => trace.mean_rate(),
        }
    }
}

/// The server of a link. A caller calls [`Service::start`] and then, if the packet is admitted,
/// [`Service::serve`].
#[derive(Clone, Debug)]
pub(super) enum Service {
    Rate(Serializer),
    Steps(Stepper),
    Trace(Cursor),
}

impl Service {
    pub(super) fn new(capacity: &Capacity) -> Self {
        match capacity {
            Capacity::Rate(rate) => Self::Rate(Serializer::new(*rate)),
            Capacity::Steps(steps) => Self::Steps(Stepper::new(Arc::clone(steps))),
            Capacity::Trace(trace) => Self::Trace(Cursor::new(Arc::clone(trace))),
        }
    }

    /// The departure time of the first byte of a packet that arrives now.
    #[inline]
    pub(super) fn start(&mut self, now: Time) -> Time {
        match self {
            Self::Rate(serializer) => serializer.start(now),
            varying => varying.start_varying(now),
        }
    }

    #[inline(never)]
    fn start_varying(&mut self, now: Time) -> Time {
        match self {
            Self::Rate(serializer) => serializer.start(now),
            Self::Steps(stepper) => stepper.start(now),
            Self::Trace(cursor) => cursor.start(now),
        }
    }

    /// Sends `bytes` from the start last returned. Returns the departure time of the last byte.
    #[inline]
    pub(super) fn serve(&mut self, bytes: u32) -> Time {
        match self {
            Self::Rate(serializer) => serializer.serve(bytes),
            varying => varying.serve_varying(bytes),
        }
    }

    #[inline(never)]
    fn serve_varying(&mut self, bytes: u32) -> Time {
        match self {
            Self::Rate(serializer) => serializer.serve(bytes),
            Self::Steps(stepper) => stepper.serve(bytes),
            Self::Trace(cursor) => cursor.serve(bytes),
        }
    }
}

/// A constant rate in whole nanoseconds. The fraction of a nanosecond that rounding removes from a
/// packet's end is carried to the next packet. The end of a busy period is therefore exact, at any
/// length.
#[derive(Clone, Debug)]
pub(super) struct Serializer {
    rate: u64,
    busy_until: Time,
    /// The fraction that rounding removed from `busy_until`, in nanoseconds / `rate`.
    remainder: u64,
    /// Size, quotient and remainder of the last packet. Most packets have the same size, which
    /// saves a division.
    last: (u32, u64, u64),
}

impl Serializer {
    fn new(rate: u64) -> Self {
        assert!(rate > 0 && rate < 1 << 62, "a rate of {rate} bit/s");
        Self { rate, busy_until: Time::ZERO, remainder: 0, last: (0, 0, 0) }
    }

    #[inline]
    fn start(&mut self, now: Time) -> Time {
        // At `busy_until` itself the busy period goes on: the carried fraction has not passed yet.
        if now > self.busy_until {
            self.busy_until = now;
            self.remainder = 0;
        }
        self.busy_until
    }

    #[inline]
    fn serve(&mut self, bytes: u32) -> Time {
        if bytes != self.last.0 {
            self.divide(bytes);
        }
        let (_, mut nanos, fraction) = self.last;
        self.remainder += fraction;
        if self.remainder >= self.rate {
            self.remainder -= self.rate;
            nanos += 1;
        }
        self.busy_until = self.busy_until.saturating_add(Duration::from_nanos(nanos));
        self.busy_until
    }

    #[inline(never)]
    fn divide(&mut self, bytes: u32) {
        // At most 2²⁴ · 8 · 10⁹ < 2⁵⁸.
        let work = u64::from(bytes) * 8 * 1_000_000_000;
        self.last = (bytes, work / self.rate, work % self.rate);
    }
}
