//! Checks whether a scheduler keeps the rules on which every engine relies.
//!
//! [`check`] drives a scheduler through random situations in a model engine: paths that fail and
//! return, timeouts, losses, tiny windows, unmeasured and backup paths, data that trickles in. It
//! stops at the first broken [`Rule`].
//!
//! ```
//! use plait_sched::conformance::{Options, check};
//! use plait_sched::Builtin;
//!
//! let mut make = || Box::new(Builtin::new("lowest-rtt", &[]).unwrap()) as Box<dyn plait_sched::Scheduler>;
//! let report = check("lowest-rtt", &mut make, Options { cases: 20, ..Options::default() }).unwrap();
//! assert_eq!(report.cases, 20);
//! ```
//!
//! [`record`] shows every call of such a case with its answer. [`record_extremes`] shows calls with
//! combinations of facts that no engine ever has; translations of a scheduler are compared with the
//! original by them.

mod extremes;
mod messages;
mod model;
mod random;
mod record;
mod run;
mod sender;

pub use record::{Call, Record, record, record_extremes};

use core::fmt;
use std::boxed::Box;
use std::string::String;
use std::vec::Vec;

use crate::{Connection, Decision, Path, Scheduler, Time};

/// A rule for schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// Name only paths that exist.
    KnownPath,
    /// Give data only to usable paths; to backup paths only while no active one is usable.
    UsablePath,
    /// Assign at least one segment.
    SomeSegments,
    /// Assign no more than the data queue holds.
    EnoughData,
    /// Assign only as many segments as the path and the receiver's window admit at once, unless
    /// `assign_ahead` is declared.
    WithinWindow,
    /// Use only capabilities that were declared in `needs`.
    Declared,
    /// Recall only queues that are not empty.
    FullQueue,
    /// Limit a path to one segment at least.
    OpenLimit,
    /// Reinject only segments that were sent and not delivered yet, on open paths, and the oldest
    /// one only on paths that do not carry it.
    UsefulCopy,
    /// Answer `Wait` after a bounded number of decisions.
    Ends,
    /// Wait until a moment in the future, if one is given.
    FutureWait,
    /// Assign something if nothing is in flight or queued and something could be sent.
    Progress,
    /// Bring all data to the receiver once the paths work.
    Delivery,
    /// Wait while no path has room, if the scheduler promises that (`waits_without_room`).
    Rests,
    /// Give the same answers to the same calls, whether or not the engine also asks where the
    /// scheduler promises to wait.
    Repeatable,
    /// Allocate nothing while deciding.
    NoAllocation,
    /// Never panic.
    NoPanic,
}

impl Rule {
    /// The rule in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::KnownPath => "it must name a path that exists",
            Self::UsablePath => {
                "it must choose a usable path, and a backup path only if no active one is usable"
            }
            Self::SomeSegments => "it must assign at least one segment",
            Self::EnoughData => "it must not assign more than the data queue holds",
            Self::WithinWindow => {
                "without declaring assign-ahead it must not assign more than can be sent at once"
            }
            Self::Declared => "it must declare the capabilities that it uses (needs)",
            Self::FullQueue => "it must not recall an empty queue",
            Self::OpenLimit => "it must not limit a path to less than one segment",
            Self::UsefulCopy => {
                "it must reinject only segments that were sent and not delivered yet, on open paths that do not carry them"
            }
            Self::Ends => "it must answer Wait after a bounded number of decisions",
            Self::FutureWait => "it must not wait until a moment that has come",
            Self::Progress => "it must assign something if nothing is under way and something could be sent",
            Self::Delivery => "all data must be delivered once the paths work",
            Self::Rests => "it must wait where no path has room, if it says so (waits_without_room)",
            Self::Repeatable => "it must give the same answers to the same calls",
            Self::NoAllocation => "it must not allocate",
            Self::NoPanic => "it must not panic",
        }
    }
}

/// The extent of a check.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Reads a counter of the allocations of this thread or process. Without a counter that rule is
    /// not checked.
    pub allocations: Option<&'a dyn Fn() -> u64>,
    /// Number of random cases.
    pub cases: u32,
    /// The seed of the first case; the next ones count up from it.
    pub seed: u64,
    /// Segments of a case at most. Beyond 200, congestion windows and the receiver's window grow
    /// with them, which shows the cost of decisions per segment.
    pub segments: u64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { allocations: None, cases: 200, seed: 1, segments: model::FEW }
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { allocations, cases, seed, segments } = self;
        let counted = allocations.is_some();
        write!(f, "Options {{ allocations: {counted}, cases: {cases}, seed: {seed}, segments: {segments} }}")
    }
}

/// Statistics of a check without a broken rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Number of random cases.
    pub cases: u32,
    /// Number of moments with an event.
    pub steps: u64,
    /// Number of decisions, waits included.
    pub decisions: u64,
    /// Number of delivered segments.
    pub segments: u64,
}

/// The first broken rule, and the situation.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The scheduler's name.
    pub name: String,
    /// The rule.
    pub rule: Rule,
    /// The seed of the case: `Options { seed, cases: 1, .. }` repeats it.
    pub seed: u64,
    /// Number of moments since the beginning of the case.
    pub step: u64,
    /// The time.
    pub now: Time,
    /// The facts that the scheduler saw.
    pub connection: Connection,
    /// The facts of the paths.
    pub paths: Vec<Path>,
    /// The last answer of the scheduler, if any.
    pub decision: Option<Decision>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, rule, seed, step, now, connection, paths, decision } = self;
        writeln!(f, "scheduler {name} broke a rule: {}", rule.text())?;
        writeln!(f, "seed {seed}, step {step}, {now}")?;
        match decision {
            Some(decision) => writeln!(f, "it answered {decision:?} to")?,
            None => writeln!(f, "the facts are")?,
        }
        write!(f, "{connection:?}")?;
        for path in paths {
            let Path { id, state, in_recovery, srtt, cwnd, in_flight, queued, .. } = path;
            write!(f, "\npath {}: {state:?}, srtt {srtt}, cwnd {cwnd}, in flight {in_flight}", id.0)?;
            write!(f, ", queued {queued}{}", if *in_recovery { ", in recovery" } else { "" })?;
        }
        Ok(())
    }
}

impl core::error::Error for Failure {}

/// Checks the schedulers that `make` builds. Each case uses two new ones, which must agree.
pub fn check(
    name: &str,
    make: &mut dyn FnMut() -> Box<dyn Scheduler>,
    options: Options<'_>,
) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    for case in 0..options.cases {
        let seed = options.seed.wrapping_add(u64::from(case));
        run::Run::new(name, (seed, options.segments), make(), make(), options.allocations)
            .case(&mut report)?;
        report.cases += 1;
    }
    Ok(report)
}
