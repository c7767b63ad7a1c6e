//! Options for any scheduler: they act around the scheduler, which does not know of them.
//!
//! [`WithOptions`] is a scheduler with its options. Built-in schedulers get options by name: every
//! scheduler takes the parameters in [`OPTIONS`] besides its own, and `lowest-rtt+rp+bm` is short
//! for two of them being true.
//!
//! An option acts before the scheduler is asked: it makes a decision of its own, or shows other
//! facts to the scheduler. Bufferbloat mitigation shows capped windows as the windows. `rtt_error`
//! shows wrong round-trip times to the scheduler and to the other options.

mod bufferbloat;
mod retransmission;
mod rtt_error;

pub use bufferbloat::Mitigation;
pub use retransmission::{Interval, Penalization};
pub use rtt_error::RttError;

use core::fmt;

use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, OptionInfo, ParameterInfo, Parameters, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathId};

const PENALIZATION: OptionInfo = OptionInfo {
    parameter: ParameterInfo {
        name: "retransmission_penalization",
        doc: "With a full receiver's window: sends the blocking segment on a faster path too, and halves the congestion window of the slower path.",
        default: Value::Boolean(false),
        domain: Domain::Boolean,
    },
    suffix: Some("rp"),
    needs: Capabilities { reinject: true, penalize: true, ..Capabilities::NONE },
    source: "Raiciu et al., How Hard Can It Be?, USENIX NSDI 2012; Paasch et al., CSWS 2014",
};

const INTERVAL: OptionInfo = OptionInfo {
    parameter: ParameterInfo {
        name: "penalization_interval",
        doc: "With retransmission_penalization: a path is penalized at most once per round trip of the path that could send (fast, as in Linux), or of its own (slow, as in the paper of NSDI 2012). The slow one penalizes less often, and a long queue blocks the fast path longer.",
        default: Value::Text("fast"),
        domain: Domain::Choice(&["fast", "slow"]),
    },
    suffix: None,
    needs: Capabilities::NONE,
    source: PENALIZATION.source,
};

const MITIGATION: OptionInfo = OptionInfo {
    parameter: ParameterInfo {
        name: "bufferbloat_mitigation",
        doc: "Limits a path's window when its round-trip time exceeds bufferbloat_lambda times the smallest one.",
        default: Value::Boolean(false),
        domain: Domain::Boolean,
    },
    suffix: Some("bm"),
    needs: Capabilities { limit: true, ..Capabilities::NONE },
    source: "Ferlin-Oliveira et al., IEEE IWQoS 2014; Paasch et al., CSWS 2014",
};

const LAMBDA: OptionInfo = OptionInfo {
    parameter: ParameterInfo {
        name: "bufferbloat_lambda",
        doc: "With bufferbloat_mitigation: the largest ratio of the round-trip time to the smallest one. A smaller value makes shorter queues, and may leave a path without enough data.",
        default: Value::Number(3.0),
        domain: Domain::Number { min: 1.0, max: 1_000.0 },
    },
    suffix: None,
    needs: Capabilities::NONE,
    source: MITIGATION.source,
};

const RTT_ERROR: OptionInfo = OptionInfo {
    parameter: ParameterInfo {
        name: "rtt_error",
        doc: "An instrument for experiments: the scheduler sees round-trip times with this relative error, too long on the first, third … path and too short on the others.",
        default: Value::Number(0.0),
        domain: Domain::Number { min: -RttError::MAX, max: RttError::MAX },
    },
    suffix: None,
    needs: Capabilities::NONE,
    source: "none: it measures the cost of inexact round-trip times",
};

/// The parameters that every built-in scheduler takes.
pub static OPTIONS: &[OptionInfo] = &[PENALIZATION, INTERVAL, MITIGATION, LAMBDA, RTT_ERROR];

/// The options of a scheduler; none by default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Retransmission and penalization.
    pub penalization: Option<Penalization>,
    /// Bufferbloat mitigation.
    pub mitigation: Option<Mitigation>,
    /// Error of the round-trip times that the scheduler sees.
    pub rtt_error: Option<RttError>,
}

impl Options {
    /// Builds the options from checked parameters. `suffixed` tells whether the name has a suffix,
    /// which makes its option true.
    pub(crate) fn from_parameters(parameters: &Parameters<'_>, suffixed: impl Fn(&str) -> bool) -> Self {
        let is_on = |option: &OptionInfo| {
            parameters.boolean(option.parameter.name) || option.suffix.is_some_and(&suffixed)
        };
        let interval = match parameters.text(INTERVAL.parameter.name) {
            "slow" => Interval::Slow,
            _ => Interval::Fast,
        };
        let rtt_error = parameters.number(RTT_ERROR.parameter.name);
        Self {
            rtt_error: (rtt_error != 0.0).then(|| RttError::new(rtt_error)),
            penalization: is_on(&PENALIZATION).then(|| Penalization::new(interval)),
            mitigation: is_on(&MITIGATION).then(|| Mitigation::new(parameters.number(LAMBDA.parameter.name))),
        }
    }
}

/// Writes the suffixes, as in `+rp+bm`.
impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffixes =
            [(self.penalization.is_some(), &PENALIZATION), (self.mitigation.is_some(), &MITIGATION)];
        for suffix in suffixes.iter().filter(|(is_on, _)| *is_on).filter_map(|(_, option)| option.suffix) {
            write!(f, "+{suffix}")?;
        }
        Ok(())
    }
}

/// A scheduler and its options.
///
/// ```
/// use plait_sched::options::{Mitigation, Options, WithOptions};
/// use plait_sched::{Scheduler, algorithms::lowest_rtt::LowestRtt};
///
/// let options = Options { mitigation: Some(Mitigation::new(3.0)), ..Options::default() };
/// assert!(WithOptions::new(LowestRtt, options).needs().limit);
/// ```
#[derive(Clone, Debug)]
pub struct WithOptions<S> {
    scheduler: S,
    options: Options,
    /// True if there is any option: the only check for schedulers without options.
    any: bool,
}

impl<S: Scheduler> WithOptions<S> {
    /// Combines `scheduler` with the given options.
    pub const fn new(scheduler: S, options: Options) -> Self {
        let any =
            options.penalization.is_some() || options.mitigation.is_some() || options.rtt_error.is_some();
        Self { scheduler, options, any }
    }

    /// The scheduler without its options.
    pub const fn scheduler(&self) -> &S {
        &self.scheduler
    }

    /// The options.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    #[inline]
    fn tell(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        if let Some(mitigation) = &mut self.options.mitigation {
            mitigation.on_event(event, paths);
        }
        self.scheduler.on_event(event, connection, paths);
    }
}

/// A scheduler that writes its reasons.
struct Explaining<'a, S> {
    scheduler: &'a mut S,
    reason: &'a mut dyn fmt::Write,
}

impl<S: Scheduler> Scheduler for Explaining<'_, S> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.scheduler.decide_with_reason(now, connection, paths, self.reason)
    }
}

/// Decides with the options around `scheduler`.
#[inline]
fn decide_around(
    scheduler: &mut impl Scheduler,
    options: &mut Options,
    now: Time,
    connection: &Connection,
    paths: &[Path],
) -> Decision {
    match options.rtt_error {
        None => decide_with_options(scheduler, options, now, connection, paths),
        Some(error) => {
            error.show(paths, |shown| decide_with_options(scheduler, options, now, connection, shown))
        }
    }
}

#[inline(never)]
fn decide_with_options(
    scheduler: &mut impl Scheduler,
    options: &mut Options,
    now: Time,
    connection: &Connection,
    paths: &[Path],
) -> Decision {
    let Options { penalization, mitigation, .. } = options;
    if let Some(decision) = mitigation.as_mut().and_then(|mitigation| mitigation.decide(paths)) {
        return decision;
    }
    if let Some(decision) = (penalization.as_mut()).and_then(|rp| rp.decide(now, connection, paths)) {
        return decision;
    }
    let Some(mitigation) = mitigation else { return scheduler.decide(now, connection, paths) };
    if !paths.iter().any(|path| mitigation.caps(path)) {
        let decision = scheduler.decide(now, connection, paths);
        if let Decision::Limit { path, in_flight } = decision {
            mitigation.limited(path, in_flight);
        }
        return decision;
    }
    // The facts are copied to the stack, because the scheduler must see the capped windows.
    // Most connections have few paths.
    match paths.len() {
        0..=4 => decide_capped::<4>(scheduler, mitigation, now, connection, paths),
        5..=8 => decide_capped::<8>(scheduler, mitigation, now, connection, paths),
        _ => decide_capped::<MAX_PATHS>(scheduler, mitigation, now, connection, paths),
    }
}

/// Asks the scheduler with the capped windows in the facts, and with its own limits instead of the
/// limits in force.
fn decide_capped<const N: usize>(
    scheduler: &mut impl Scheduler,
    mitigation: &mut Mitigation,
    now: Time,
    connection: &Connection,
    paths: &[Path],
) -> Decision {
    let mut shown: [Path; N] = core::array::from_fn(|i| match paths.get(i) {
        Some(path) => mitigation.shown(path),
        None => Path::new(PathId(0), 0),
    });
    let shown = &mut shown[..paths.len().min(N)];
    // A limit that changes nothing is not returned. The scheduler is asked again instead, a bounded
    // number of times.
    for _ in 0..2 * MAX_PATHS {
        match scheduler.decide(now, connection, shown) {
            Decision::Limit { path, in_flight } => {
                mitigation.limited(path, in_flight);
                let (Some(path), Some(seen)) = (paths.get(path.index()), shown.get_mut(path.index())) else {
                    return Decision::Limit { path, in_flight };
                };
                seen.limit = in_flight;
                let in_flight = mitigation.limit(path);
                if in_flight != path.limit {
                    return Decision::Limit { path: path.id, in_flight };
                }
            }
            decision => return decision,
        }
    }
    Decision::WAIT
}

impl<S: Scheduler> Scheduler for WithOptions<S> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if !self.any {
            return self.scheduler.decide(now, connection, paths);
        }
        decide_around(&mut self.scheduler, &mut self.options, now, connection, paths)
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let mut scheduler = Explaining { scheduler: &mut self.scheduler, reason };
        decide_around(&mut scheduler, &mut self.options, now, connection, paths)
    }

    #[inline]
    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        match self.options.rtt_error {
            None => self.tell(event, connection, paths),
            Some(error) => {
                error.show(paths, |shown| self.tell(&error.told(event), connection, shown));
            }
        }
    }

    fn needs(&self) -> Capabilities {
        let Options { penalization, mitigation, .. } = &self.options;
        let mut needs = self.scheduler.needs();
        if penalization.is_some() {
            needs = needs.and(PENALIZATION.needs);
        }
        if mitigation.is_some() {
            needs = needs.and(MITIGATION.needs);
        }
        needs
    }

    fn interest(&self) -> Interest {
        let mitigation = if self.options.mitigation.is_some() { Interest::ACKED } else { Interest::NONE };
        self.scheduler.interest().and(mitigation)
    }

    fn waits_without_room(&self) -> bool {
        let Options { penalization, mitigation, .. } = &self.options;
        penalization.is_none() && mitigation.is_none() && self.scheduler.waits_without_room()
    }

    fn send_memory(&self) -> Option<u64> {
        self.scheduler.send_memory()
    }
}

#[cfg(test)]
mod tests;
