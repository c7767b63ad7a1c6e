//! The guard of DAPS: whether the paths are so unequal and so steady that a delay-aware schedule
//! helps.
//!
//! # Source
//! Kuhn et al., DAPS (IEEE ICC 2014), §III.C. A schedule is worth making only while, on all paths,
//! * (4) r_s ≫ r_f;
//! * (5) each new RTT sample lies within ±10 % of the one before;
//! * (6) the congestion window does not shrink. This is the useful part of the printed inequality,
//!   whose upper bound is an identity. "This most notably excludes the slow-start phase", so slow
//!   start is excluded by name.
//!
//! Otherwise the schedulers that use the guard fall back to round-robin.
//!
//! # Departures
//! The paper leaves "≫" open ("a subject for future study"). Here it is r_s ≥ `guard_asymmetry` ·
//! r_f. The default is 2, the smallest η that puts two segments on the fast path for one on the
//! slow path. Of more than two paths, "the slow path" is the slowest.

use super::round_trip::RoundTrip;
use crate::decision::Event;
use crate::params::{Domain, ParameterInfo, Parameters, Value};
use crate::view::{MAX_PATHS, Path, usable};

/// Whether to use the guard; shared by the schedulers that have one.
pub(crate) const ENABLED: ParameterInfo = ParameterInfo {
    name: "guard",
    doc: "True: the rule applies only while the paths are unequal and steady (§III.C of the paper), otherwise round-robin. False: it always applies.",
    default: Value::Boolean(false),
    domain: Domain::Boolean,
};

/// The meaning of r_s ≫ r_f; shared by the schedulers that have a guard.
pub(crate) const ASYMMETRY: ParameterInfo = ParameterInfo {
    name: "guard_asymmetry",
    doc: "With guard: the smallest ratio of the slowest path's round-trip time to the fastest path's.",
    default: Value::Number(2.0),
    domain: Domain::Number { min: 1.0, max: 1_000_000.0 },
};

/// The ratio is kept in millionths: integers give the same answer on every machine, and in a
/// kernel.
const UNIT: f64 = 1_000_000.0;

/// The guard's state of each path.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The required ratio, in millionths.
    asymmetry: u64,
    round_trip: RoundTrip,
    /// The newest sample, in nanoseconds; 0 before the first.
    rtt: [u64; MAX_PATHS],
    /// The window at the last check.
    cwnd: [u32; MAX_PATHS],
    /// A bit per path, set if its newest sample was within ±10 % of the one before.
    steady: u32,
}

impl Guard {
    /// Creates a guard that requires the given ratio of round-trip times.
    pub const fn new(asymmetry: f64, round_trip: RoundTrip) -> Self {
        let asymmetry = (asymmetry * UNIT + 0.5) as u64;
        Self { asymmetry, round_trip, rtt: [0; MAX_PATHS], cwnd: [0; MAX_PATHS], steady: 0 }
    }

    /// Builds the guard from checked parameters, if the user asked for it.
    pub(crate) fn from_parameters(parameters: &Parameters<'_>, round_trip: RoundTrip) -> Option<Self> {
        parameters.boolean(ENABLED.name).then(|| Self::new(parameters.number(ASYMMETRY.name), round_trip))
    }

    /// Records round-trip samples.
    pub fn on_event(&mut self, event: &Event) {
        if let Event::Acked { path, rtt: Some(rtt), .. } = *event
            && let Some(last) = self.rtt.get_mut(path.index())
        {
            let new = rtt.as_nanos();
            let difference = new.abs_diff(*last);
            let steady = *last != 0 && difference <= *last / 10;
            self.steady = self.steady & !(1 << path.0) | u32::from(steady) << path.0;
            *last = new;
        }
    }

    /// True if a schedule is worth making now. Each call compares the windows with those of the
    /// call before.
    pub fn admits(&mut self, paths: &[Path]) -> bool {
        let (mut fastest, mut slowest) = (u64::MAX, 0);
        let mut steady = true;
        for path in usable(paths).take(MAX_PATHS) {
            let round_trip = self.round_trip.of(path);
            fastest = fastest.min(round_trip);
            slowest = slowest.max(round_trip);
            let last = core::mem::replace(&mut self.cwnd[path.id.index()], path.cwnd);
            let calm = self.steady >> path.id.0 & 1 == 1;
            steady &= calm && path.cwnd >= last && !path.in_slow_start();
        }
        let asked = u128::from(self.asymmetry) * u128::from(fastest);
        steady && u128::from(slowest) * UNIT as u128 >= asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
    use crate::view::PathId;

    fn path(id: u8, srtt: u64) -> Path {
        let srtt = Duration::from_millis(srtt);
        Path { srtt, cwnd: 10, ssthresh: 8, ..Path::new(PathId(id), 1000) }
    }

    fn sample(guard: &mut Guard, id: u8, micros: u64) {
        let rtt = Some(Duration::from_micros(micros));
        guard.on_event(&Event::Acked { path: PathId(id), segments: 1, rtt });
    }

    fn settled() -> (Guard, [Path; 2]) {
        let mut guard = Guard::new(2.0, RoundTrip::Own);
        for (id, micros) in [(0, 20_000), (0, 20_000), (1, 40_000), (1, 40_000)] {
            sample(&mut guard, id, micros);
        }
        (guard, [path(0, 20), path(1, 40)])
    }

    #[test]
    fn unequal_steady_paths_are_admitted() {
        let (mut guard, paths) = settled();
        assert!(guard.admits(&paths));
        assert!(!guard.admits(&[path(0, 20), path(1, 39)]), "39 is less than twice 20");
    }

    #[test]
    fn a_sample_more_than_a_tenth_off_is_unsteady_until_the_next() {
        let (mut guard, paths) = settled();
        sample(&mut guard, 0, 22_000);
        assert!(guard.admits(&paths), "exactly 10 % is within");
        sample(&mut guard, 0, 24_201);
        assert!(!guard.admits(&paths));
        sample(&mut guard, 0, 24_201);
        assert!(guard.admits(&paths));
    }

    #[test]
    fn a_shrunken_window_and_slow_start_are_not() {
        let (mut guard, mut paths) = settled();
        assert!(guard.admits(&paths));
        paths[1].cwnd = 9;
        assert!(!guard.admits(&paths));
        assert!(guard.admits(&paths), "it shrank before the last look, not since");
        paths[1].ssthresh = 10;
        assert!(!guard.admits(&paths), "9 < 10: slow start");
    }

    #[test]
    fn nothing_is_admitted_before_two_samples_of_every_path() {
        let mut guard = Guard::new(1.0, RoundTrip::Own);
        let paths = [path(0, 20), path(1, 40)];
        sample(&mut guard, 0, 20_000);
        sample(&mut guard, 0, 20_000);
        sample(&mut guard, 1, 40_000);
        assert!(!guard.admits(&paths));
    }
}
