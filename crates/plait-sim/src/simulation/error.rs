//! Why a run failed.

use plait_sched::Time;
use std::fmt;

/// Why a run has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunError {
    /// The connection broke: by the scheduler's fault, or because the peer became unreachable.
    Connection(plait_transport::Error),
    /// A competing flow broke, for the same reasons.
    Flow {
        /// Its name.
        name: String,
        /// Why.
        error: plait_transport::Error,
    },
    /// What carries the connection's packets could not go on.
    Carrier(String),
    /// The caller wanted to stop.
    Interrupted,
    /// Nothing was left to happen although data was left to deliver: a defect of the simulator.
    Stalled {
        /// When.
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
            Self::Carrier(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Stalled { at } => {
                write!(f, "at {at} the simulation stalled with undelivered data (a defect)")
            }
        }
    }
}

impl std::error::Error for RunError {}
