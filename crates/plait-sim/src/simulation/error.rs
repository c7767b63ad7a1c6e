//! Failures of runs.

use plait_sched::Time;
use std::fmt;

/// The reason why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// The connection failed: the scheduler broke its contract, or the peer became unreachable.
    Connection(plait_transport::Error),
    /// A competing flow failed, for the same reasons.
    Flow {
        /// Its name.
        name: String,
        /// The failure.
        error: plait_transport::Error,
    },
    /// The scenario names a controller of the user's own, and this program cannot build it.
    NoController(String),
    /// The carrier of the connection's packets failed.
    Carrier(String),
    /// The workload is a class whose behaviour is not bound.
    Unbound(String),
    /// The caller interrupted the run.
    Interrupted,
    /// No events were left although data was undelivered: a defect of the simulator.
    Stalled {
        /// The time of the stall.
        at: Time,
    },
}

impl From<plait_transport::Error> for RunError {
    fn from(error: plait_transport::Error) -> Self {
        Self::Connection(error)
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Flow { name, error } => write!(f, "flow {name:?}: {error}"),
            Self::NoController(name) => {
                write!(
                    f,
                    "congestion_control = {name:?}: no built-in controller, and this program loads no other"
                )
            }
            Self::Carrier(why) => f.write_str(why),
            Self::Unbound(class) => {
                write!(f, "workload {class:?}: a class in Python, which only plait's Python package runs")
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::Stalled { at } => {
                write!(f, "at {at} the simulation stalled with undelivered data (a defect)")
            }
        }
    }
}

impl std::error::Error for RunError {}
