//! Changes of the scheduler while a session runs.

use crate::measured::Measured;
use crate::session::Session;
use plait_sched::{Scheduler, Time};
use std::fmt;

/// Observes a running session, and may change its scheduler.
pub trait Pilot<W: Scheduler>: fmt::Debug + Send {
    /// Returns the new scheduler, or `None` to keep the current one. Called whenever data may
    /// leave. `left` is the number of bytes that are not acknowledged yet; `None` if the data has
    /// no end.
    fn choose_scheduler(&mut self, now: Time, session: &Session<W>, left: Option<u64>) -> Option<W>;

    /// Returns the changes so far.
    fn changes(&self) -> &[SchedulerChange];
}

/// Gain of one scheduler over another, in percent of the other's goodput, with its 95 % confidence
/// interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// Mean gain.
    pub percent: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Number of runs of each scheduler.
    pub seeds: usize,
}

/// A change of the scheduler.
#[derive(Clone, PartialEq, Debug)]
pub struct SchedulerChange {
    /// Time since the beginning of the session.
    pub at: Time,
    /// Scheduler before the change.
    pub from: String,
    /// Scheduler after the change.
    pub to: String,
    /// Gain in the simulator.
    pub gain: Gain,
    /// Measured paths that the simulator was given.
    pub paths: Vec<Measured>,
}

impl fmt::Display for SchedulerChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Gain { percent, low, high, seeds } = self.gain;
        let (from, to, at) = (&self.from, &self.to, self.at.as_secs_f64());
        let paths: Vec<String> = self.paths.iter().map(ToString::to_string).collect();
        let paths = paths.join(", ");
        write!(
            f,
            "{from} → {to} after {at:.1} s: {percent:.0} % more in the simulator ({low:.0}–{high:.0} %, {seeds} seeds) on paths measured as {paths}"
        )
    }
}

#[cfg(feature = "simulation")]
impl SchedulerChange {
    /// Returns the change as JSON, with the names of the paths, or their numbers if they have no
    /// names.
    pub fn to_json(&self, names: &[String]) -> serde_json::Value {
        let path = |path: &Measured| {
            serde_json::json!({
                "name": names.get(path.path).cloned().unwrap_or_else(|| path.path.to_string()), "rate_bps": path.rate_bps, "busy": path.busy, "rtt_s": path.round_trip.as_secs_f64(),
                "srtt_s": path.recent.as_secs_f64(), "loss": path.loss, "queue_s": path.queue.as_secs_f64(),
                "overflowed": path.overflowed, "packets": path.packets,
            })
        };
        let Gain { percent, low, high, seeds } = self.gain;
        serde_json::json!({
            "event": "scheduler", "seconds": self.at.as_secs_f64(), "before": self.from, "after": self.to, "gain_percent": percent,
            "gain_low_percent": low, "gain_high_percent": high, "seeds": seeds,
            "paths": self.paths.iter().map(path).collect::<Vec<_>>(), "reason": self.to_string(),
        })
    }
}
