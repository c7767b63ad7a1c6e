//! The deadline-aware rule of MP-DASH: a more expensive path is used only while the message would
//! miss its deadline without it.
//!
//! # Source
//! Han, Qian, Ji and Gopalakrishnan, *MP-DASH: Adaptive Video Streaming Over Preference-Aware
//! Multipath* (ACM CoNEXT 2016). For a chunk with the time D until its deadline, the more expensive
//! path is used if
//!
//! > (α D − elapsed) · R < bytes left,
//!
//! where R is the expected rate of the preferred path, by the forecast of Holt and Winters without
//! seasons. The rule is known to us second-hand.
//!
//! # Readings
//! * The preferred paths are the usable ones of the lowest [`cost`](Path::cost), and R is the sum
//!   of their forecasts. Within each group, preferred and others, the path with the smallest
//!   round-trip time goes first. Where all paths cost the same the rule is lowest RTT.
//! * D and the elapsed time begin when the message's first segment is at the head of the data
//!   queue: a message behind another has not begun. Bytes left are those in the data queue, in full
//!   segments.
//! * A sample of R is the amount acknowledged on the path in a smoothed round trip or more, while
//!   data was in flight. The gains are those that He, Dovrolis and Ammar found best for TCP (ACM
//!   SIGCOMM 2005): 0.8 for the level, 0.2 for the trend. Without a sample R is 0, so that all
//!   paths are used.
//! * `alpha`: its default, 1, takes the deadline as it is. The authors' value is not known to us.
//!
//! # Departures
//! * The rule does not apply to a message without a deadline: all paths carry it, as in lowest RTT.
//! * A preferred path that timed out and has acknowledged nothing since is not preferred while
//!   another path works.
//!
//! # Progress
//! It leaves paths unused only while preferred ones are full, so that data is in flight there.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Message, Path, usable};

/// One, in the unit of α and of the gains.
const ONE: u64 = 1_000;
/// The weight of a sample in the level, and of a change of the level in the trend.
const GAINS: [i64; 2] = [800, 200];
/// Bound of rates for the arithmetic: 2⁵⁰ bytes a second.
const MOST: u64 = 1 << 50;

/// The forecast rate of one path, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Forecast {
    level: i64,
    trend: i64,
    measured: bool,
    /// Bytes acknowledged since `since`.
    bytes: u64,
    since: Time,
}

impl Forecast {
    const NONE: Self = Self { level: 0, trend: 0, measured: false, bytes: 0, since: Time::ZERO };

    fn sample(&mut self, rate: i64) {
        let [of_level, of_trend] = GAINS;
        let one = ONE as i64;
        if !self.measured {
            (self.level, self.trend, self.measured) = (rate, 0, true);
            return;
        }
        let level = (of_level * rate + (one - of_level) * (self.level + self.trend)) / one;
        self.trend = (of_trend * (level - self.level) + (one - of_trend) * self.trend) / one;
        self.level = level;
    }

    /// Takes a sample of the path if its round is over.
    fn look(&mut self, now: Time, path: &Path) {
        let span = now.since(self.since);
        if path.in_flight == 0 {
            (self.bytes, self.since) = (0, now);
        } else if !span.is_zero() && path.has_rtt() && span >= path.srtt {
            let rate = u128::from(self.bytes) * 1_000_000_000 / u128::from(span.as_nanos());
            self.sample(u64::try_from(rate).unwrap_or(MOST).min(MOST) as i64);
            (self.bytes, self.since) = (0, now);
        }
    }

    fn rate(&self) -> u64 {
        self.level.saturating_add(self.trend).max(0) as u64
    }
}

/// The state of MP-DASH's rule.
#[derive(Clone, Debug)]
pub struct MpDash {
    /// α, in thousandths.
    alpha: u64,
    forecasts: [Forecast; MAX_PATHS],
    suspects: Suspects,
    /// The message being sent, and the time when it began.
    current: Option<(u64, Time)>,
}

impl MpDash {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "mp-dash",
        title: "MP-DASH's deadline rule",
        summary: "The cheapest paths carry as much as they can; more expensive ones help only while the message would miss its deadline without them.",
        source: "Han et al., MP-DASH, ACM CoNEXT 2016",
        needs: Capabilities { messages: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "alpha",
            doc: "The share of the time until the deadline that the rule plans with, in steps of 0.001. A smaller share misses fewer deadlines and costs more.",
            default: Value::Number(1.0),
            domain: Domain::Number { min: 0.0, max: 1.0 },
        }],
    };

    /// Creates the state, with α in thousandths.
    pub const fn new(alpha: u64) -> Self {
        Self { alpha, forecasts: [Forecast::NONE; MAX_PATHS], suspects: Suspects::NONE, current: None }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new((parameters.number("alpha") * ONE as f64 + 0.5) as u64)
    }

    /// Whether paths with a total of `rate` bytes a second, with segments of `size` bytes, are too
    /// slow for the message.
    fn is_late(&mut self, now: Time, message: &Message, (rate, size): (u64, u32)) -> bool {
        let Some(deadline) = message.deadline else { return true };
        let began = match self.current {
            Some((number, began)) if number == message.number => began,
            _ => now,
        };
        self.current = Some((message.number, began));
        let planned = u128::from(deadline.since(began).as_nanos()) * u128::from(self.alpha) / u128::from(ONE);
        let planned = Duration::from_nanos(u64::try_from(planned).unwrap_or(u64::MAX));
        let left = began.saturating_add(planned).since(now);
        let bytes = u128::from(message.segments_left) * u128::from(size);
        u128::from(left.as_nanos()) * u128::from(rate) < bytes * 1_000_000_000
    }
}

impl Default for MpDash {
    fn default() -> Self {
        Self::new(ONE)
    }
}

impl Scheduler for MpDash {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        for path in paths.iter().take(MAX_PATHS) {
            self.forecasts[path.id.index()].look(now, path);
        }
        let sendable = connection.sendable();
        let least = usable(paths)
            .filter(|path| !self.suspects.excludes(path, paths))
            .map(|path| path.cost)
            .min()
            .unwrap_or(u32::MAX);
        let suspects = self.suspects;
        let preferred = |path: &&Path| path.cost <= least && !suspects.excludes(path, paths);
        let rate = usable(paths)
            .filter(preferred)
            .fold(0_u64, |sum, path| sum.saturating_add(self.forecasts[path.id.index()].rate()));
        let size = usable(paths).map(|path| path.mss).max().unwrap_or(0);
        let late = connection.message.is_none_or(|message| self.is_late(now, &message, (rate, size)));
        let open = || usable(paths).filter(|path| path.is_open());
        if sendable == 0 {
            return Decision::WAIT;
        }
        // One message at a time, so that each begins at the right time.
        let left = connection.message.map_or(sendable, |message| sendable.min(message.segments_left));
        if let Some(path) = open().filter(preferred).min_by_key(|path| path.srtt) {
            return Decision::Assign { path: path.id, segments: clip(path.room(), left.max(1)) };
        }
        match open().min_by_key(|path| path.srtt) {
            // Each segment less may change the answer.
            Some(path) if late => Decision::Assign { path: path.id, segments: 1 },
            _ => Decision::WAIT,
        }
    }

    #[inline]
    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        self.suspects.on_event(event);
        if let Event::Acked { path, segments, .. } = *event
            && let Some(forecast) = self.forecasts.get_mut(path.index())
        {
            let size = paths.get(path.index()).map_or(0, |path| path.mss);
            forecast.bytes = forecast.bytes.saturating_add(u64::from(segments) * u64::from(size));
        }
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
