//! S-EDPF: assigns each segment to the path with the earliest expected in-order delivery, where
//! delays are uncertain and all earlier segments have to arrive too.
//!
//! # Source
//! Garcia-Saavedra, Karzand, Leith, *Low Delay Random Linear Coding and Scheduling Over Multiple
//! Interfaces* (IEEE Transactions on Mobile Computing, 2017; arXiv 1507.08499). Delays are
//! Gaussian. In-order delivery happens at the latest of the arrivals, whose moments Clark's
//! formulas give. The paper places its redundancy together with the segments; this is left out,
//! because an engine has no codes.
//!
//! # Readings
//! The exact rule of the paper is not known to us, and its published code takes the moments of a
//! product for those of a maximum. So this is our own reading:
//!
//! * The arrival over path p is D = now + r/2 + (q + 1) r/w with the variance v/2. r is the mean of
//!   round-trip samples and v their variance, both with the weight 2/(`samples` + 1) for the newest
//!   one. w is the congestion window, q the number of segments queued on the path.
//! * Z is the latest arrival of all assigned segments: the maximum of the previous Z and of D,
//!   approximated as Gaussian again. With θ² = σ₁² + σ₂², α = (μ₁ − μ₂)/θ, its mean is μ₁ Φ(α) + μ₂
//!   Φ(−α) + θ φ(α), and its second moment (μ₁² + σ₁²) Φ(α) + (μ₂² + σ₂²) Φ(−α) + (μ₁ + μ₂) θ φ(α).
//! * The path with the smallest mean of max(Z, D) takes the segment. Of equal ones (to the
//!   nanosecond) the path with the smallest mean of D takes it.
//!
//! # Departures
//! * Nothing is assigned ahead while only one path is usable. The same holds while a usable path is
//!   unmeasured, in loss recovery, or a suspect: it timed out and has acknowledged nothing since,
//!   while another path has. Then each path takes the segments that its window admits. Assignments
//!   are final, so the first path would get the receiver's whole window.
//! * An unmeasured path and a suspect go first.
//! * Moments count from now, so that squares stay small. Φ is the approximation 26.2.17 of
//!   Abramowitz and Stegun (7.5·10⁻⁸), φ a series, and the square root uses Newton's method. So
//!   there are only additions, multiplications and divisions, with the same results on every
//!   machine.
//!
//! # Progress
//! It waits only for data or the receiver's window, or, where nothing is assigned ahead, for room
//! in a window.

use super::numeric::{density, distribution, sqrt};
use super::suspects::Suspects;
use super::{clip, room};
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId, usable};

/// A mean and a variance, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Gaussian {
    mean: f64,
    variance: f64,
}

impl Gaussian {
    /// The maximum of two Gaussians, by Clark's formulas.
    fn max(self, other: Self) -> Self {
        let spread = sqrt(self.variance + other.variance);
        if spread == 0.0 {
            return if self.mean < other.mean { other } else { self };
        }
        // Relative to the larger mean the moments are small, so their squares lose no precision.
        let origin = self.mean.max(other.mean);
        let (one, two) = (self.mean - origin, other.mean - origin);
        let alpha = (one - two) / spread;
        let (below, above, dense) = (distribution(alpha), distribution(-alpha), spread * density(alpha));
        let mean = one * below + two * above + dense;
        let square =
            (one * one + self.variance) * below + (two * two + other.variance) * above + (one + two) * dense;
        Self { mean: origin + mean, variance: (square - mean * mean).max(0.0) }
    }
}

/// The state of S-EDPF.
#[derive(Clone, Debug)]
pub struct SEdpf {
    /// The weight of the newest sample.
    weight: f64,
    /// Round-trip times; a mean of zero means that the path was never measured.
    round_trips: [Gaussian; MAX_PATHS],
    /// The arrival of all assigned segments, from `since` on.
    latest: Option<Gaussian>,
    since: Time,
    suspects: Suspects,
}

impl SEdpf {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "s-edpf",
        title: "S-EDPF",
        summary: "Each segment goes to the path with the earliest expected in-order delivery, where delays are uncertain.",
        source: "Garcia-Saavedra, Karzand, Leith, IEEE TMC 2017",
        needs: Capabilities { assign_ahead: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "samples",
            doc: "The number of round trips in mean and variance: the newest one has the weight 2/(samples + 1). More samples follow changes more slowly.",
            default: Value::Integer(5),
            domain: Domain::Integer { min: 5, max: 100 },
        }],
    };

    /// Creates the state for this number of samples.
    pub fn new(samples: u32) -> Self {
        Self {
            weight: 2.0 / (f64::from(samples) + 1.0),
            round_trips: [Gaussian { mean: 0.0, variance: 0.0 }; MAX_PATHS],
            latest: None,
            since: Time::ZERO,
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(parameters.integer("samples") as u32)
    }

    /// The arrival of the next segment over a path, from now on; `None` for an unmeasured path.
    fn arrival(&self, path: &Path) -> Option<Gaussian> {
        let round_trip = self.round_trips[path.id.index() % MAX_PATHS];
        let place = f64::from(path.queued) + f64::from(path.lost) + 1.0;
        let mean = round_trip.mean * (0.5 + place / f64::from(path.cwnd.max(1)));
        (round_trip.mean > 0.0).then_some(Gaussian { mean, variance: 0.5 * round_trip.variance })
    }

    /// Moves the origin of Z to `now`.
    fn pass(&mut self, now: Time) {
        let passed = now.since(self.since).as_nanos() as f64;
        self.since = now;
        if let Some(latest) = &mut self.latest {
            latest.mean -= passed;
        }
    }
}

impl Default for SEdpf {
    fn default() -> Self {
        Self::new(5)
    }
}

impl Scheduler for SEdpf {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.pass(now);
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let ahead = self.suspects.comparable(paths) && usable(paths).all(|path| self.arrival(path).is_some());
        let mut best: Option<(f64, f64, PathId, Gaussian)> = None;
        for path in usable(paths).take(MAX_PATHS) {
            let room = room(path);
            if room == 0 && !ahead {
                continue;
            }
            let arrival = self.arrival(path).filter(|_| !self.suspects.excludes(path, paths));
            let Some(arrival) = arrival else {
                return Decision::Assign { path: path.id, segments: clip(room, sendable) };
            };
            let handed_up = self.latest.map_or(arrival, |latest| latest.max(arrival));
            // Rounded to the nanosecond: values that differ in the last bit are equal.
            let up = (handed_up.mean + 0.5) as i64 as f64;
            if best.is_none_or(|(least, own, ..)| up < least || (up == least && arrival.mean < own)) {
                best = Some((up, arrival.mean, path.id, handed_up));
            }
        }
        let Some((_, _, path, latest)) = best else { return Decision::WAIT };
        self.latest = Some(latest);
        Decision::Assign { path, segments: 1 }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
        if let Event::Acked { path, rtt: Some(rtt), .. } = *event
            && let Some(known) = self.round_trips.get_mut(path.index())
        {
            let sample = (rtt.as_nanos() as f64).max(1.0);
            if known.mean == 0.0 {
                known.mean = sample;
                return;
            }
            let off = sample - known.mean;
            known.mean += self.weight * off;
            known.variance = (1.0 - self.weight) * (known.variance + self.weight * off * off);
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
