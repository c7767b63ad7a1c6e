//! Errors of a connection.

use core::fmt;
use plait_sched::{PathId, PathState, Time};

/// Reason why a connection stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The scheduler broke its contract.
    Scheduler {
        /// Time of the fault.
        at: Time,
        /// The fault.
        fault: SchedulerFault,
    },
    /// The scheduler needs something that the transport does not offer.
    Unsupported {
        /// The missing capability.
        capability: &'static str,
    },
    /// Segments exceed the largest packet.
    SegmentSize {
        /// Bytes of a full segment, as counted in windows.
        bytes: u64,
    },
    /// Too many timeouts on all paths together (Association.Max.Retrans): the peer is considered
    /// unreachable.
    PeerUnreachable {
        /// Time of the last timeout.
        at: Time,
    },
}

/// Violation of the scheduler's contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchedulerFault {
    /// Named a path that does not exist.
    UnknownPath {
        /// The named path.
        path: PathId,
        /// Number of paths, which are numbered from 0.
        paths: usize,
    },
    /// Gave data to a path that is not usable.
    UnusablePath(PathId, PathState),
    /// Assigned zero segments.
    NothingAssigned(PathId),
    /// Assigned more segments than the data queue holds.
    OverAssigned {
        /// Number of segments in the decision.
        wanted: u64,
        /// Number of unassigned segments.
        unassigned: u64,
    },
    /// Asked for a copy of a segment that was never sent.
    NeverSent(u64),
    /// Used a capability that it had not declared in `needs`.
    Undeclared(&'static str),
    /// Limited a path to zero segments in flight.
    ClosedLimit(PathId),
    /// Waited until a time that is not in the future.
    PastWait(Time),
    /// Decided too often without waiting.
    NeverWaits,
}

impl fmt::Display for SchedulerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPath { path, paths: 1 } => {
                write!(f, "named path {}, which does not exist; there is path 0 alone", path.0)
            }
            Self::UnknownPath { path, paths } => {
                write!(f, "named path {}, which does not exist; choose 0 to {}", path.0, paths - 1)
            }
            Self::UnusablePath(path, state) => {
                let state = match state {
                    PathState::Failed => "not established yet, or given up",
                    PathState::PotentiallyFailed => "potentially failed",
                    PathState::Backup => "a backup path",
                    PathState::Active => "active",
                };
                write!(f, "gave data to path {}, which is {state}; choose a usable path or wait", path.0)
            }
            Self::NothingAssigned(path) => {
                write!(f, "assigned 0 segments to path {}; wait instead", path.0)
            }
            Self::OverAssigned { wanted, unassigned } => {
                write!(f, "assigned {wanted} segments where {unassigned} were unassigned")
            }
            Self::NeverSent(segment) => {
                write!(f, "asked for a copy of segment {segment}, which was never sent")
            }
            Self::Undeclared(capability) => {
                write!(f, "used {capability} without declaring it in its needs")
            }
            Self::ClosedLimit(path) => {
                write!(f, "limited path {} to 0 segments in flight; 1 is the least", path.0)
            }
            Self::PastWait(until) => write!(f, "waited until {until}, which is not in the future"),
            Self::NeverWaits => write!(
                f,
                "decided {} times at one moment without waiting",
                crate::MAX_DECISIONS_PER_OPPORTUNITY
            ),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheduler { at, fault } => write!(f, "at {at} the scheduler {fault}"),
            Self::Unsupported { capability } => {
                write!(f, "the scheduler needs {capability}, which this transport does not offer")
            }
            Self::SegmentSize { bytes } => {
                write!(f, "segments of {bytes} bytes: packets have {} at most", u16::MAX)
            }
            Self::PeerUnreachable { at } => {
                write!(f, "at {at} the peer was given up: too many timeouts on all paths together")
            }
        }
    }
}

impl std::error::Error for Error {}
