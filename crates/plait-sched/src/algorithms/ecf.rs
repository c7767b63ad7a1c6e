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

use core::fmt;

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

/// The sides of both inequalities in nanoseconds, multiplied by the denominators.
struct Inequalities {
    /// n r_f and (1 + waiting · β) (r_s + δ).
    first: (u64, u64),
    /// (k/w_s) r_s and 2 r_f + δ.
    second: (u64, u64),
    /// The denominators.
    per: (u64, u64),
    /// Whether β counts.
    waited: bool,
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
    #[inline]
    pub(super) fn waits(&mut self, fast: &Path, slow: &Path, left: u64) -> bool {
        let Inequalities {
            first: (fast_is_done, slow_arrives), second: (slow_is_done, fast_returns), ..
        } = self.weigh(fast, slow, left);
        if fast_is_done >= slow_arrives {
            self.waiting = false;
            return false;
        }
        let worth = slow_is_done >= fast_returns;
        self.waiting |= worth;
        worth
    }

    /// The sides of both inequalities.
    #[inline]
    fn weigh(&self, fast: &Path, slow: &Path, left: u64) -> Inequalities {
        let (fast_window, slow_window) = (u64::from(fast.cwnd.max(1)), u64::from(slow.cwnd.max(1)));
        let (by_fast, by_slow) = match self.rounds {
            Rounds::Clamped => (left.max(fast_window), left.max(slow_window)),
            Rounds::Fraction => (left, left),
        };
        let (fast_round, slow_round) = (fast.srtt.as_nanos(), slow.srtt.as_nanos());
        let margin = fast.rttvar.max(slow.rttvar).as_nanos();
        let patience = ONE + if self.waiting { self.beta } else { 0 };
        // A saturated product is larger than any other.
        let fast_is_done = fast_round.saturating_mul(by_fast.saturating_add(fast_window)).saturating_mul(ONE);
        let slow_arrives = (slow_round + margin).saturating_mul(fast_window).saturating_mul(patience);
        let slow_is_done = slow_round.saturating_mul(by_slow);
        let fast_returns = (2 * fast_round + margin).saturating_mul(slow_window);
        Inequalities {
            first: (fast_is_done, slow_arrives),
            second: (slow_is_done, fast_returns),
            per: (fast_window.saturating_mul(ONE), slow_window),
            waited: patience > ONE,
        }
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
        let Some(fast) = self.suspects.faster(slow, paths) else {
            return Decision::Assign { path: slow.id, segments: clip(slow.room(), sendable) };
        };
        if self.waits(fast, slow, connection.unassigned) {
            return Decision::WAIT;
        }
        // Each segment less may change the answer, so each needs its own decision.
        Decision::Assign { path: slow.id, segments: 1 }
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let slow = open.filter(|_| connection.sendable() > 0);
        if let Some((slow, fast)) = slow.and_then(|slow| Some((slow, self.suspects.faster(slow, paths)?))) {
            let Inequalities { first, second, per, waited } = self.weigh(fast, slow, connection.unassigned);
            let ms = |product: u64, per: u64| match product {
                u64::MAX => f64::INFINITY,
                product => product as f64 / per as f64 / 1e6,
            };
            let sign = |(left, right): (u64, u64)| if left < right { '<' } else { '≥' };
            let beta = if waited { "(1 + β) " } else { "" };
            let (f, s) = (fast.id.0, slow.id.0);
            // Writing to a text in memory cannot fail.
            let _ = write!(
                reason,
                "f is {{{f}}}, s is {{{s}}}; n r_f = {:.1} ms {} {beta}(r_s + δ) = {:.1} ms; \
                 k/w_s r_s = {:.1} ms {} 2 r_f + δ = {:.1} ms",
                ms(first.0, per.0),
                sign(first),
                ms(first.1, per.0),
                ms(second.0, per.1),
                sign(second),
                ms(second.1, per.1),
            );
        }
        self.decide(now, connection, paths)
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
