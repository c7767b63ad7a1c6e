//! ECF, earliest completion first: a slower path stays unused while the fastest one, though full,
//! would complete earlier.
//!
//! # Source
//! Lim, Nahum, Towsley, Gibbens, *ECF: An MPTCP Path Scheduler to Manage Heterogeneous Paths* (ACM
//! CoNEXT 2017), Algorithm 1. Let f be the path with the lowest round-trip time, s the path that
//! lowest RTT would use now that f is full, and k the number of unassigned segments. w are the
//! windows, r the smoothed round-trip times, σ their variations, δ = max(σ_f, σ_s) and n = 1 +
//! k/w_f. The scheduler waits for f if
//!
//! * n · r_f < (1 + waiting · β) (r_s + δ), so that f would send all of it before a segment arrives
//!   over s, and
//! * (k/w_s) · r_s ≥ 2 r_f + δ, so that s would not complete all of it before f.
//!
//! Waiting sets `waiting`. It is cleared if the first inequality does not hold; if only the second
//! does not hold, it stays.
//!
//! # Readings
//! * `rounds`: "fraction" is the text. "clamped" (the default) is the authors' code (mptcp_ecf.c of
//!   MPTCP 0.95), which takes max(k, w) for k: a transfer takes a round trip at least. Without
//!   that, the last segment goes over a path of any round trip.
//! * δ uses the variations of RFC 6298 (RTTVAR). The code halves Linux' `rttvar`, which is four
//!   times that value and never below the minimum retransmission timeout, so its δ is 100 ms at
//!   least. The code's products are cut to 32 bits, so its decisions are random from about 4 · 10⁹
//!   µs · bytes on. Neither was intended.
//!
//! # Departures
//! * f must work: the scheduler does not wait for a path that timed out and has acknowledged
//!   nothing since, while another path has not. The code waits for a dead path until it is given
//!   up.
//! * The scheduler never waits for an unmeasured path. Such a path goes first, as in
//!   [`super::lowest_rtt`].
//! * As many segments as give the same answers are assigned at once.
//!
//! # Progress
//! It waits only while f is full. Then f has data in flight, and its acknowledgement is the next
//! occasion; so is a timeout, which makes f a suspect.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// The rounds that a path needs for the remaining segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rounds {
    /// One at least.
    #[default]
    Clamped,
    /// A fraction of one for less than a window.
    Fraction,
}

/// The state of ECF.
#[derive(Clone, Debug)]
pub struct Ecf {
    /// β, in thousandths.
    beta: u64,
    rounds: Rounds,
    /// True if the last answer was to wait for f.
    waiting: bool,
    suspects: Suspects,
}

/// One, in the unit of β.
const ONE: u64 = 1_000;

impl Ecf {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "ecf",
        title: "Earliest completion first",
        summary: "Lowest RTT, but a slower path stays unused while the fastest one, although full, would deliver all data earlier.",
        source: "Lim et al., ECF, ACM CoNEXT 2017: Algorithm 1",
        needs: crate::Capabilities::NONE,
        parameters: &[
            ParameterInfo {
                name: "beta",
                doc: "Hysteresis: the extra time that the scheduler continues to wait, compared with beginning to wait, as a share, in steps of 0.001. A smaller share changes the decision more often.",
                default: Value::Number(0.25),
                domain: Domain::Number { min: 0.0, max: 100.0 },
            },
            ParameterInfo {
                name: "rounds",
                doc: "\"clamped\": the remaining data takes a round trip at least (the authors' code). \"fraction\": less than a window takes a fraction of a round trip (the paper's formula).",
                default: Value::Text("clamped"),
                domain: Domain::Choice(&["clamped", "fraction"]),
            },
        ],
    };

    /// Creates the state, with β in thousandths.
    pub const fn new(beta: u64, rounds: Rounds) -> Self {
        Self { beta, rounds, waiting: false, suspects: Suspects::NONE }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let rounds = if parameters.text("rounds") == "fraction" { Rounds::Fraction } else { Rounds::Clamped };
        // Without the standard library there is no rounding function: half a step is added.
        Self::new((parameters.number("beta") * ONE as f64 + 0.5) as u64, rounds)
    }

    /// Whether `slow` stays unused with `left` unassigned segments.
    pub(super) fn waits(&mut self, fast: &Path, slow: &Path, left: u64) -> bool {
        let (fast_window, slow_window) = (u64::from(fast.cwnd.max(1)), u64::from(slow.cwnd.max(1)));
        let (by_fast, by_slow) = match self.rounds {
            Rounds::Clamped => (left.max(fast_window), left.max(slow_window)),
            Rounds::Fraction => (left, left),
        };
        let (fast_round, slow_round) = (fast.srtt.as_nanos(), slow.srtt.as_nanos());
        let margin = fast.rttvar.max(slow.rttvar).as_nanos();
        let patience = ONE + if self.waiting { self.beta } else { 0 };
        // Both inequalities, multiplied by their denominators. A saturated product is larger than
        // any other.
        let fast_is_done = fast_round.saturating_mul(by_fast.saturating_add(fast_window)).saturating_mul(ONE);
        let slow_arrives = (slow_round + margin).saturating_mul(fast_window).saturating_mul(patience);
        if fast_is_done >= slow_arrives {
            self.waiting = false;
            return false;
        }
        let worth =
            slow_round.saturating_mul(by_slow) >= (2 * fast_round + margin).saturating_mul(slow_window);
        self.waiting |= worth;
        worth
    }
}

impl Default for Ecf {
    fn default() -> Self {
        Self::new(ONE / 4, Rounds::default())
    }
}

impl Scheduler for Ecf {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let sendable = connection.sendable();
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let Some(slow) = open.filter(|_| sendable > 0) else { return Decision::WAIT };
        let fast = (usable(paths).filter(|path| !self.suspects.excludes(path, paths)))
            .min_by_key(|path| path.srtt)
            .filter(|fast| fast.has_rtt() && fast.srtt < slow.srtt);
        let Some(fast) = fast else {
            return Decision::Assign { path: slow.id, segments: clip(slow.room(), sendable) };
        };
        if self.waits(fast, slow, connection.unassigned) {
            return Decision::WAIT;
        }
        // Each segment less may change the answer, so each needs its own decision.
        Decision::Assign { path: slow.id, segments: 1 }
    }

    #[inline]
    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }

    fn waits_without_room(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
