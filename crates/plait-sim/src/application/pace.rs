//! The times of blocks or datagrams: equal intervals, always or during random on times.

use super::times::{OnOffDistribution, OnOffTimes, OnTimes};
use crate::random::RandomStream;
use plait_sched::{Duration, Time};

/// Units of equal size at a constant rate. Times are computed from the start, not from the last
/// unit: the rate is exact over any length. With on and off times, the rate is exact over the on
/// times laid end to end: the fraction of an interval at the end of an on time counts in the next
/// on time.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: u64,
    bits: u64,
    start: Time,
    stop: Time,
    /// Units that were due so far.
    count: u64,
    periods: Option<Periods>,
    wake: Time,
    /// Whether a unit is due at `wake`. Otherwise an on time begins there.
    due: bool,
}

/// The current on time.
#[derive(Clone, Debug)]
struct Periods {
    times: OnOffTimes,
    stream: RandomStream,
    began: Time,
    length: Duration,
    /// Nanoseconds of all on times before this one.
    before: u128,
}

impl Periods {
    /// Draws the first on time, which begins at `began`.
    fn new(times: OnOffTimes, stream: RandomStream, began: Time) -> Self {
        let mut periods = Self { times, stream, began, length: Duration::ZERO, before: 0 };
        periods.length = periods.draw(times.on);
        periods
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        match self.times.distribution {
            OnOffDistribution::Exponential => self.stream.exponential(mean),
            OnOffDistribution::Pareto { shape } => self.stream.pareto(mean, shape),
        }
    }

    fn next(&mut self) {
        self.before += u128::from(self.length.as_nanos());
        let off = self.draw(self.times.off);
        self.began = self.began.saturating_add(self.length).saturating_add(off);
        self.length = self.draw(self.times.on);
    }
}

/// Returns the on times that begin before `until`, each with its length, of a source with this
/// `start` and this random stream. Other engines use them to send at the times of a simulation.
pub(crate) fn on_times(times: OnOffTimes, stream: RandomStream, start: Duration, until: Duration) -> OnTimes {
    let mut periods = Periods::new(times, stream, Time::ZERO + start);
    let mut found = Vec::new();
    while periods.began < Time::ZERO + until {
        found.push((periods.began, periods.length));
        periods.next();
    }
    found
}

impl Pace {
    /// Units of `bytes` at `rate` bits per second from `start` (inclusive) to `stop` (exclusive).
    pub(crate) fn constant(rate: u64, bytes: u64, start: Duration, stop: Option<Duration>) -> Self {
        Self {
            rate,
            bits: bytes * 8,
            start: Time::ZERO + start,
            stop: stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            count: 0,
            periods: None,
            wake: Time::ZERO + start,
            due: true,
        }
    }

    /// Restricts the units to on times. The first on time begins at the start.
    pub(crate) fn on_off(self, times: OnOffTimes, stream: RandomStream) -> Self {
        Self { periods: Some(Periods::new(times, stream, self.start)), ..self }
    }

    /// The time of the next call of [`Pace::fire`].
    pub(crate) fn next(&self) -> Option<Time> {
        (self.wake < self.stop).then_some(self.wake)
    }

    /// To be called at the time of [`Pace::next`]. Returns whether a unit is due.
    pub(crate) fn fire(&mut self) -> bool {
        let due = self.due;
        self.count += u64::from(due);
        self.plan();
        due
    }

    /// Computes the next wakeup. It looks at one on time at most: on times without a unit take an
    /// event each.
    fn plan(&mut self) {
        let offset = u128::from(self.count) * u128::from(self.bits) * 1_000_000_000 / u128::from(self.rate);
        let after = |from: Time, offset: u128| {
            from.saturating_add(Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX)))
        };
        let Some(periods) = &mut self.periods else {
            self.wake = after(self.start, offset);
            return;
        };
        let within = offset - periods.before;
        self.due = within < u128::from(periods.length.as_nanos());
        if self.due {
            self.wake = after(periods.began, within);
        } else {
            periods.next();
            self.wake = periods.began;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(mut pace: Pace, until: Time) -> Vec<u64> {
        let mut moments = Vec::new();
        while let Some(at) = pace.next().filter(|at| *at < until) {
            if pace.fire() {
                moments.push(at.as_nanos());
            }
        }
        moments
    }

    #[test]
    fn a_constant_rate_is_exact_over_any_length() {
        // 1000 bits at 3 bit/s: an interval of 333 1/3 s.
        let pace = Pace::constant(3, 125, Duration::from_secs(1), None);
        let moments = moments(pace, Time::from_nanos(1_000_000_000_000_000));
        assert_eq!(moments[..4], [1_000_000_000, 334_333_333_333, 667_666_666_666, 1_001_000_000_000]);
        assert_eq!(moments[2_997], 999_001_000_000_000);
    }

    #[test]
    fn nothing_is_due_from_the_stop_on() {
        let pace = Pace::constant(8, 1, Duration::from_secs(2), Some(Duration::from_secs(5)));
        assert_eq!(moments(pace, Time::MAX), [2_000_000_000, 3_000_000_000, 4_000_000_000]);
    }

    #[test]
    fn the_on_times_are_those_that_a_source_sends_in() {
        let times = OnOffTimes {
            on: Duration::from_millis(30),
            off: Duration::from_millis(70),
            distribution: OnOffDistribution::Exponential,
        };
        let (start, end) = (Duration::from_secs(1), Duration::from_secs(20));
        let pace = Pace::constant(800_000, 1_000, start, None).on_off(times, RandomStream::new(3, "test"));
        let periods = on_times(times, RandomStream::new(3, "test"), start, end);
        assert_eq!(periods[0].0, Time::ZERO + start);
        for moment in moments(pace, Time::ZERO + end) {
            let moment = Time::from_nanos(moment);
            assert!(periods.iter().any(|&(began, length)| began <= moment && moment < began + length));
        }
    }

    #[test]
    fn on_times_laid_end_to_end_carry_the_rate() {
        for distribution in [OnOffDistribution::Exponential, OnOffDistribution::Pareto { shape: 1.9 }] {
            // On times far shorter than the interval of 10 ms, and far longer.
            for (on, off) in [(1, 3), (500, 500)] {
                let (on, off) = (Duration::from_millis(on), Duration::from_millis(off));
                let times = OnOffTimes { on, off, distribution };
                let pace = Pace::constant(800_000, 1_000, Duration::ZERO, None);
                let pace = pace.on_off(times, RandomStream::new(1, "test"));
                let end = 20_000;
                let moments = moments(pace, Time::ZERO + Duration::from_secs(end));
                assert!(moments.is_sorted());
                let share = on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64());
                let ratio = moments.len() as f64 / (100.0 * end as f64 * share);
                assert!((ratio - 1.0).abs() < 0.05, "{distribution:?}, {on:?}: {ratio}");
            }
        }
    }
}
