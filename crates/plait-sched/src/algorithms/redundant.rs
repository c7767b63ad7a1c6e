//! Redundant: segments on more than one path; the copy that arrives first counts.
//!
//! # Source
//! * `full`: the redundant scheduler of MPTCP: Frömmgen et al., *ReMP TCP: Low Latency Multipath
//!   TCP* (IEEE ICC 2016), and the scheduler of that name in the out-of-tree Linux implementation.
//!   Each subflow walks the send queue by itself. It sends the next segment that it has not sent
//!   and that is not acknowledged yet, whether or not other subflows have sent it.
//! * `opportunistic`, `when-idle` and `probing`: the schedulers that were written with ProgMP,
//!   Frömmgen et al., *A Programming Model for Application-defined Multipath TCP Scheduling* (ACM
//!   Middleware 2017), as in its public evaluation: "opportunistic redundant", "minRTT, redundant
//!   if idle" and "active probing".
//!
//! # Rule
//! * `full`: every path carries every segment that is not acknowledged before its turn. The path
//!   ahead of the others takes new data.
//! * `opportunistic`: the next new segment goes on all paths that are open now, and on no other
//!   path later.
//! * `when-idle`: lowest RTT. While the data queue is empty, the oldest segment in flight that some
//!   open path does not carry is copied, on the one of these paths with the lowest round-trip time.
//! * `probing`: lowest RTT. A path that was not used for `probe_after` of its round-trip times gets
//!   a copy of the next assigned segment, so that its round-trip time stays known.
//!
//! # Readings
//! * "Open now" has the meaning of every scheduler here: usable, not held back by loss recovery,
//!   with room in its window.
//! * The data queue is "empty" if it holds nothing. It is not empty while the receiver's window
//!   does not admit its data; retransmission and penalization (`+rp`) exist for that case.
//!
//! # Departures
//! * `opportunistic` and `probing` copy sent segments. They wait while the segment to copy has not
//!   left. If it leaves at another moment, it has no copies.
//! * `probing`: a path that was never used is probed at once. An unmeasured path counts its
//!   retransmission timeout as the round-trip time. The time of use is that of the next decision,
//!   which follows every event.
//! * As many segments as fit are assigned at once where no copy is due. The departures of `full`
//!   are in its file.
//!
//! # Progress
//! All modes wait only for data or copies, for the receiver's window, or for room on any path.

pub(super) mod full;
mod idle;
mod latest;

use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, PathSet, usable};
use full::Full;
use idle::WhenIdle;
use latest::Latest;

/// The state of the redundant scheduler, by mode.
#[derive(Clone, Debug)]
pub struct Redundant(Mode);

#[derive(Clone, Debug)]
enum Mode {
    Full(Full),
    Latest(Latest),
    WhenIdle(WhenIdle),
}

impl Redundant {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "redundant",
        title: "Redundant",
        summary: "Every path carries every segment, with the delay of the fastest path and at most its capacity; other modes copy fewer segments.",
        source: "Frömmgen et al., ReMP TCP, IEEE ICC 2016; ProgMP, ACM Middleware 2017",
        needs: Capabilities { reinject: true, repair: true, ..Capabilities::NONE },
        parameters: &[
            ParameterInfo {
                name: "mode",
                doc: "The copies: every segment on every path (full), each new segment on the paths that are open at that moment (opportunistic), \
                      segments in flight while there is no new data (when-idle, which needs `uncarried` too), or a segment now and then on unused paths (probing).",
                default: Value::Text("full"),
                domain: Domain::Choice(&["full", "opportunistic", "when-idle", "probing"]),
            },
            ParameterInfo {
                name: "probe_after",
                doc: "With mode = \"probing\": the round-trip times that a path is unused before it is probed.",
                default: Value::Integer(5),
                domain: Domain::Integer { min: 1, max: 1000 },
            },
        ],
    };

    /// Creates the mode with every segment on every path.
    pub const fn new() -> Self {
        Self(Mode::Full(Full::NEW))
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self(match parameters.text("mode") {
            "opportunistic" => Mode::Latest(Latest::new(None)),
            "when-idle" => Mode::WhenIdle(WhenIdle::new()),
            "probing" => Mode::Latest(Latest::new(Some(parameters.integer("probe_after") as u32))),
            _ => return Self::new(),
        })
    }
}

impl Default for Redundant {
    fn default() -> Self {
        Self::new()
    }
}

impl Scheduler for Redundant {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        match &mut self.0 {
            Mode::Full(full) => full.decide(connection, paths),
            Mode::Latest(latest) => latest.decide(now, connection, paths),
            Mode::WhenIdle(idle) => idle.decide(now, connection, paths),
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        match &mut self.0 {
            Mode::Full(full) => full.on_event(event),
            Mode::Latest(latest) => latest.on_event(event),
            Mode::WhenIdle(idle) => idle.on_event(event),
        }
    }

    fn needs(&self) -> Capabilities {
        let (uncarried, repair) = (matches!(self.0, Mode::WhenIdle(_)), matches!(self.0, Mode::Full(_)));
        Capabilities { uncarried, repair, ..Self::INFO.needs }
    }

    fn interest(&self) -> Interest {
        if matches!(self.0, Mode::WhenIdle(_)) { Interest::NONE } else { Interest::SENT }
    }
}

/// The set of open paths.
fn open(paths: &[Path]) -> PathSet {
    let mut open = PathSet::EMPTY;
    for path in usable(paths).filter(|path| path.is_open()) {
        open.insert(path.id);
    }
    open
}

/// The path of the set with the smallest round-trip time, the first of equals. Zero, the time of an
/// unmeasured path, is the smallest.
fn fastest(set: PathSet, paths: &[Path]) -> Option<&Path> {
    paths.iter().filter(|path| set.contains(path.id)).min_by_key(|path| path.srtt)
}
