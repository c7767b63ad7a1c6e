//! A rate that changes at given moments, exactly: a packet that is on the wire when the rate changes leaves partly at the
//! one rate and partly at the other.

use std::sync::Arc;

use plait_sched::{Duration, Time};

/// From `at` on, the rate is `rate` bits per second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When, from the start of the run or, if the steps repeat, of each period.
    pub at: Time,
    /// Bits per second; more than zero.
    pub rate: u64,
}

/// A piecewise constant rate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Steps {
    first: u64,
    /// In order of time, none at the very start.
    steps: Box<[Step]>,
    repeat: Option<Duration>,
    /// Bits · 10⁹ in one period.
    period_work: u128,
}

const PER_SECOND: u64 = 1_000_000_000;

impl Steps {
    /// `first` bits per second, then `steps`; all of it again after each `repeat`.
    ///
    /// # Panics
    /// If the steps are not in order, begin at the very start or after the period; a scenario's never do.
    pub fn new(first: u64, steps: Vec<Step>, repeat: Option<Duration>) -> Self {
        assert!(steps.is_sorted_by(|one, other| one.at < other.at), "steps in order");
        assert!(steps.first().is_none_or(|step| step.at > Time::ZERO), "steps after the start");
        if let (Some(repeat), Some(last)) = (repeat, steps.last()) {
            assert!(last.at < Time::ZERO + repeat, "steps within their period");
        }
        let mut steps = Self { first, steps: steps.into_boxed_slice(), repeat, period_work: 0 };
        if let Some(repeat) = repeat {
            steps.period_work = steps.work_until(repeat.as_nanos());
        }
        steps
    }

    /// The rate before the first step.
    pub const fn first(&self) -> u64 {
        self.first
    }

    /// The steps.
    pub const fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// After how long they begin anew.
    pub const fn repeat(&self) -> Option<Duration> {
        self.repeat
    }

    /// The slowest of the rates.
    pub fn slowest(&self) -> u64 {
        self.steps.iter().map(|step| step.rate).fold(self.first, u64::min)
    }

    /// Bits per second between two moments, rounded down, at least 1.
    pub fn mean_rate(&self, from: Time, to: Time) -> u64 {
        let span = u128::from(to.since(from).as_nanos());
        if span == 0 {
            return self.first;
        }
        let work = self.work_before(to) - self.work_before(from);
        u64::try_from(work / span).unwrap_or(u64::MAX).max(1)
    }

    /// Bits · 10⁹ that can leave before a moment.
    fn work_before(&self, moment: Time) -> u128 {
        let nanos = moment.as_nanos();
        match self.repeat.map(Duration::as_nanos) {
            Some(period) => u128::from(nanos / period) * self.period_work + self.work_until(nanos % period),
            None => self.work_until(nanos),
        }
    }

    /// The same within the first period.
    fn work_until(&self, nanos: u64) -> u128 {
        let (mut work, mut since, mut rate) = (0, 0, self.first);
        for step in self.steps.iter().take_while(|step| step.at.as_nanos() < nanos) {
            work += u128::from(step.at.as_nanos() - since) * u128::from(rate);
            (since, rate) = (step.at.as_nanos(), step.rate);
        }
        work + u128::from(nanos - since) * u128::from(rate)
    }
}

/// A server whose rate changes. Work is counted in bits · 10⁹, which a rate in bits per second does so many of per
/// nanosecond: every boundary splits a packet's work into whole numbers, so nothing is ever rounded but the moment shown.
#[derive(Clone, Debug)]
pub(super) struct Stepper {
    steps: Arc<Steps>,
    /// When the current period began.
    base: u64,
    /// How many steps of it are over.
    passed: usize,
    rate: u64,
    /// When the rate changes next; [`u64::MAX`] is never.
    change: u64,
    busy_until: u64,
    /// What `busy_until` lacks, in nanoseconds / `rate`.
    remainder: u64,
}

impl Stepper {
    pub(super) fn new(steps: Arc<Steps>) -> Self {
        let mut stepper = Self { base: 0, passed: 0, rate: 0, change: 0, busy_until: 0, remainder: 0, steps };
        stepper.enter(0, 0);
        stepper
    }

    /// The rate after `passed` steps of the period that began at `base`.
    fn enter(&mut self, base: u64, passed: usize) {
        let steps = &self.steps;
        (self.base, self.passed) = (base, passed);
        self.rate = if passed == 0 { steps.first } else { steps.steps[passed - 1].rate };
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

    /// When the first byte of a packet that arrives now would leave.
    pub(super) fn start(&mut self, now: Time) -> Time {
        let now = now.as_nanos();
        if now > self.busy_until {
            self.busy_until = now;
            self.remainder = 0;
            if now >= self.change {
                self.seek(now);
            }
        }
        Time::from_nanos(self.busy_until)
    }

    /// The rate that holds at `now`, found without walking through the idle time.
    fn seek(&mut self, now: u64) {
        let base = self.steps.repeat.map_or(0, |period| now - now % period.as_nanos());
        let passed = self.steps.steps.partition_point(|step| base.saturating_add(step.at.as_nanos()) <= now);
        self.enter(base, passed);
    }

    /// Sends `bytes` from the start last returned; answers when the last of them has left.
    pub(super) fn serve(&mut self, bytes: u32) -> Time {
        let mut work = u128::from(bytes) * 8 * u128::from(PER_SECOND);
        loop {
            // The fraction of a nanosecond that has passed already is work done at this rate.
            let needed = work + u128::from(self.remainder);
            let left = u128::from(self.change.saturating_sub(self.busy_until)) * u128::from(self.rate);
            if needed < left || self.change == u64::MAX {
                let nanos = u64::try_from(needed / u128::from(self.rate)).unwrap_or(u64::MAX);
                self.remainder = (needed % u128::from(self.rate)) as u64;
                self.busy_until = self.busy_until.saturating_add(nanos);
                return Time::from_nanos(self.busy_until);
            }
            work = needed - left;
            self.remainder = 0;
            self.busy_until = self.change;
            self.next();
            // Slow links with short periods: whole periods at once, so that a packet costs one period's steps at most.
            if self.passed == 0 && work >= self.steps.period_work {
                let period = self.steps.repeat.map_or(0, Duration::as_nanos);
                let periods = u64::try_from(work / self.steps.period_work).unwrap_or(u64::MAX);
                work -= u128::from(periods) * self.steps.period_work;
                self.busy_until = self.busy_until.saturating_add(periods.saturating_mul(period));
                let base = self.busy_until;
                self.enter(base, 0);
            }
        }
    }
}
