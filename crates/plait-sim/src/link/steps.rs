//! Changes at given times: of a rate, a delay, losses, or a queue's limit.
//!
//! A rate changes exactly: a packet that is on the wire at the change leaves partly at the old and
//! partly at the new rate.

use std::sync::Arc;

use plait_sched::{Duration, Time};

/// A new value from a given time on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<T> {
    /// The time since the start of the run or, if the steps repeat, of each period.
    pub at: Time,
    /// A rate in bits per second, which is more than zero; a delay; losses; a limit.
    pub value: T,
}

/// A value that is constant between steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Steps<T> {
    first: T,
    /// In order of time, none at the very start.
    steps: Box<[Step<T>]>,
    repeat: Option<Duration>,
}

const PER_SECOND: u64 = 1_000_000_000;

impl<T: Copy> Steps<T> {
    /// `first`, then `steps`. With `repeat`, everything starts again after each period.
    ///
    /// # Panics
    /// If the steps are not in order, begin at the very start or after the period; a scenario's
    /// never do.
    pub fn new(first: T, steps: Vec<Step<T>>, repeat: Option<Duration>) -> Self {
        assert!(steps.is_sorted_by(|one, other| one.at < other.at), "steps in order");
        assert!(steps.first().is_none_or(|step| step.at > Time::ZERO), "steps after the start");
        if let (Some(repeat), Some(last)) = (repeat, steps.last()) {
            assert!(last.at < Time::ZERO + repeat, "steps within their period");
        }
        Self { first, steps: steps.into_boxed_slice(), repeat }
    }

    /// The value before the first step.
    pub const fn first(&self) -> T {
        self.first
    }

    /// The steps.
    pub const fn steps(&self) -> &[Step<T>] {
        &self.steps
    }

    /// The period after which the steps repeat.
    pub const fn repeat(&self) -> Option<Duration> {
        self.repeat
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = T> {
        std::iter::once(self.first).chain(self.steps.iter().map(|step| step.value))
    }
}

impl Steps<u64> {
    /// The slowest of the rates.
    pub fn slowest(&self) -> u64 {
        self.values().fold(self.first, u64::min)
    }

    /// The mean rate between two times, in bits per second, rounded down, at least 1.
    pub fn mean_rate(&self, from: Time, to: Time) -> u64 {
        let span = u128::from(to.since(from).as_nanos());
        if span == 0 {
            return self.first;
        }
        let work = self.work_before(to) - self.work_before(from);
        u64::try_from(work / span).unwrap_or(u64::MAX).max(1)
    }

    /// Work that the link can do before a time, in bits · 10⁹.
    fn work_before(&self, moment: Time) -> u128 {
        let nanos = moment.as_nanos();
        match self.repeat.map(Duration::as_nanos) {
            Some(period) => u128::from(nanos / period) * self.period_work() + self.work_until(nanos % period),
            None => self.work_until(nanos),
        }
    }

    /// Work of one period in bits · 10⁹; 0 without a period.
    fn period_work(&self) -> u128 {
        self.repeat.map_or(0, |repeat| self.work_until(repeat.as_nanos()))
    }

    /// Work of the first `nanos` nanoseconds of a period, in bits · 10⁹.
    fn work_until(&self, nanos: u64) -> u128 {
        let (mut work, mut since, mut rate) = (0, 0, self.first);
        for step in self.steps.iter().take_while(|step| step.at.as_nanos() < nanos) {
            work += u128::from(step.at.as_nanos() - since) * u128::from(rate);
            (since, rate) = (step.at.as_nanos(), step.value);
        }
        work + u128::from(nanos - since) * u128::from(rate)
    }
}

/// A value that is constant or changes in steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Varying<T> {
    /// The same value for the whole run.
    Constant(T),
    /// A value that changes in steps.
    Steps(Arc<Steps<T>>),
}

impl<T: Copy> Varying<T> {
    /// The value at the start.
    pub fn first(&self) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::Steps(steps) => steps.first(),
        }
    }

    /// All values.
    pub fn values(&self) -> impl Iterator<Item = T> {
        let later = self.steps().map_or(&[][..], |steps| steps.steps());
        std::iter::once(self.first()).chain(later.iter().map(|step| step.value))
    }

    /// The steps, if there are any.
    pub fn steps(&self) -> Option<&Arc<Steps<T>>> {
        match self {
            Self::Constant(_) => None,
            Self::Steps(steps) => Some(steps),
        }
    }

    /// Converts the values and keeps the times.
    pub(crate) fn map<U: Copy>(&self, to: impl Fn(T) -> U) -> Varying<U> {
        match self {
            Self::Constant(value) => Varying::Constant(to(*value)),
            Self::Steps(steps) => {
                let map = |step: &Step<T>| Step { at: step.at, value: to(step.value) };
                let later = steps.steps().iter().map(map).collect();
                Varying::Steps(Arc::new(Steps::new(to(steps.first()), later, steps.repeat())))
            }
        }
    }
}

impl<T> From<T> for Varying<T> {
    fn from(value: T) -> Self {
        Self::Constant(value)
    }
}

/// The current step, for queries about times that never decrease.
#[derive(Clone, Debug)]
pub(super) struct Position<T> {
    steps: Arc<Steps<T>>,
    /// The start of the current period.
    base: u64,
    /// Number of steps of the period that are over.
    passed: usize,
    value: T,
    /// The time of the next step; [`u64::MAX`] is never.
    change: u64,
}

impl<T: Copy> Position<T> {
    pub(super) fn new(steps: Arc<Steps<T>>) -> Self {
        let mut position = Self { base: 0, passed: 0, value: steps.first, change: 0, steps };
        position.enter(0, 0);
        position
    }

    /// Takes the value after `passed` steps of the period that began at `base`.
    fn enter(&mut self, base: u64, passed: usize) {
        let steps = &self.steps;
        (self.base, self.passed) = (base, passed);
        self.value = if passed == 0 { steps.first } else { steps.steps[passed - 1].value };
        let next = steps.steps.get(passed).map(|step| step.at.as_nanos());
        let next = next.or(steps.repeat.map(Duration::as_nanos));
        self.change = next.map_or(u64::MAX, |next| base.saturating_add(next));
    }

    fn next(&mut self) {
        if self.passed < self.steps.steps.len() {
            self.enter(self.base, self.passed + 1);
        } else {
            self.enter(self.change, 0);
        }
    }

    /// Moves to a time, without visiting the steps in between.
    fn seek(&mut self, now: u64) {
        if now < self.change {
            return;
        }
        let base = self.steps.repeat.map_or(0, |period| now - now % period.as_nanos());
        let passed = self.steps.steps.partition_point(|step| base.saturating_add(step.at.as_nanos()) <= now);
        self.enter(base, passed);
    }

    /// The value at `moment`.
    pub(super) fn at(&mut self, moment: Time) -> T {
        self.seek(moment.as_nanos());
        self.value
    }
}

/// A server with a rate in steps. Work is counted in bits · 10⁹, of which a rate in bits per second
/// does a whole number per nanosecond. Every step therefore splits a packet's work into whole
/// numbers, and rounding affects only the returned time.
#[derive(Clone, Debug)]
pub(super) struct Stepper {
    position: Position<u64>,
    period_work: u128,
    busy_until: u64,
    /// The fraction that rounding removed from `busy_until`, in nanoseconds / rate.
    remainder: u64,
}

impl Stepper {
    pub(super) fn new(steps: Arc<Steps<u64>>) -> Self {
        Self { period_work: steps.period_work(), position: Position::new(steps), busy_until: 0, remainder: 0 }
    }

    /// The departure time of the first byte of a packet that arrives now.
    pub(super) fn start(&mut self, now: Time) -> Time {
        let now = now.as_nanos();
        if now > self.busy_until {
            self.busy_until = now;
            self.remainder = 0;
            self.position.seek(now);
        }
        Time::from_nanos(self.busy_until)
    }

    /// Sends `bytes` from the start last returned. Returns the departure time of the last byte.
    pub(super) fn serve(&mut self, bytes: u32) -> Time {
        let mut work = u128::from(bytes) * 8 * u128::from(PER_SECOND);
        loop {
            let (rate, change) = (u128::from(self.position.value), self.position.change);
            // The fraction of a nanosecond that has already passed is work done at this rate.
            let needed = work + u128::from(self.remainder);
            let left = u128::from(change.saturating_sub(self.busy_until)) * rate;
            if needed < left || change == u64::MAX {
                let nanos = u64::try_from(needed / rate).unwrap_or(u64::MAX);
                self.remainder = (needed % rate) as u64;
                self.busy_until = self.busy_until.saturating_add(nanos);
                return Time::from_nanos(self.busy_until);
            }
            work = needed - left;
            self.remainder = 0;
            self.busy_until = change;
            self.position.next();
            // On slow links with short periods, skips whole periods at once: a packet then costs at
            // most the steps of one period.
            if self.position.passed == 0 && work >= self.period_work {
                let period = self.position.steps.repeat.map_or(0, Duration::as_nanos);
                let periods = u64::try_from(work / self.period_work).unwrap_or(u64::MAX);
                work -= u128::from(periods) * self.period_work;
                self.busy_until = self.busy_until.saturating_add(periods.saturating_mul(period));
                self.position.enter(self.busy_until, 0);
            }
        }
    }
}
