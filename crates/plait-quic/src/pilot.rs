//! Who may put another scheduler in the place of the one that decides, while a session runs.

use crate::measured::Measured;
use crate::session::Session;
use plait_sched::{Scheduler, Time};
use std::fmt;

/// Looks at a session while it runs.
pub trait Pilot<W: Scheduler>: fmt::Debug + Send {
    /// Who shall decide from now on, if that is somebody else. Asked whenever something may leave; `left` is what was not acknowledged yet of what is to be sent, where
    /// that has an end.
    fn look(&mut self, now: Time, session: &Session<W>, left: Option<u64>) -> Option<W>;

    /// What it changed so far.
    fn changes(&self) -> &[Change];
}

/// How much faster one scheduler is than another, in percent of the other's goodput, and where 95 of 100 such intervals have it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Gain {
    /// The mean.
    pub percent: f64,
    /// The interval's ends.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// Runs of each of both.
    pub seeds: usize,
}

/// A scheduler in the place of another.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// Since the session began.
    pub at: Time,
    /// Who decided before.
    pub from: String,
    /// Who decides from then on.
    pub to: String,
    /// By how much it was better in the simulator.
    pub gain: Gain,
    /// On which paths.
    pub paths: Vec<Measured>,
}

impl fmt::Display for Change {
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
impl Change {
    /// As JSON, with the paths' names, or their numbers where they have none.
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
