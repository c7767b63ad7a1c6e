//! BLEST: a slower path stays unused while its segments would block the receiver's window for
//! longer than the fastest path needs to fill it.
//!
//! # Source
//! Ferlin, Alay, Mehani, Boreli, *BLEST: Blocking Estimation-based MPTCP Scheduler for
//! Heterogeneous Networks* (IFIP Networking 2016), and its authors' code (mptcp_blest.c of MPTCP
//! 0.95).
//!
//! Let f be the path with the lowest round-trip time, which is full, and s the path that lowest RTT
//! would use now. While a segment on s is in flight, f could send X segments, all behind it in the
//! receiver's window. If they have no place there beside the segments of s, s would block f, so
//! nothing is sent.
//!
//! # Readings
//! M is the whole receiver's window, w a congestion window, r a smoothed round-trip time. x is the
//! number of segments that a path holds: in flight, lost or queued. All amounts are in segments.
//!
//! * "kernel" (the default) is the code. It keeps the least and the largest r of each path. A
//!   segment on s takes r_max if s is full, otherwise a value between r_min and r_max in proportion
//!   to the filling of s, and at least r_s. That time lasts R = ⌊time / mean of f's least and
//!   largest⌋ + 1 rounds of f. In its first slow start f sends X = w_f (2^R − 1), with R ≤ 16,
//!   otherwise X = (max(w_f, ssthresh_f + 1) + ⌊(R − 1)/2⌋) R. The scheduler waits if λ X > M − 1 −
//!   x_s. λ begins with 1.2 and stays between 1 and 1.3. At most once per r_min of s, when s is
//!   considered, λ grows by 0.04 if f was blocked since, otherwise it shrinks by 0.01.
//! * "paper" is the text: X = (w_f + (ρ − 1)/2) ρ with ρ = r_s / r_f. The scheduler waits if δ X >
//!   M − (x_s + 1). δ begins with 1. Each r_f it grows by `correction` if f was blocked in that
//!   time, otherwise it shrinks by `correction`.
//! * f is *blocked* if the receiver's window is full while a path could send and data is waiting.
//!
//! # Departures
//! * f must work: the scheduler does not wait for a path that timed out and has acknowledged
//!   nothing since, while another path has not. Nor does it wait for an unmeasured path, which goes
//!   first, as in [`super::lowest_rtt`].
//! * The code's products are cut to 32 bits (a window of 100 segments and 16 rounds make 2.8
//!   instead of 11.4 GB); here nothing is cut.
//! * In the code a full send buffer counts as blocked too; here an engine does not ask then.
//! * Opportunistic retransmission and penalization, which the code has as lowest RTT does, are the
//!   option `+rp`.
//!
//! # Progress
//! It waits only while f is full. Then f has data in flight, and its acknowledgement is the next
//! occasion; so is a timeout, which makes f a suspect.

use core::fmt;

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// The estimate of the data that f could send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// As the authors' code does.
    #[default]
    Kernel,
    /// As the paper says.
    Paper,
}

/// One, in the unit of λ, δ and `correction`.
const ONE: u64 = 1_000;
/// The first value of λ, and its bounds.
const LAMBDA: [u64; 3] = [1_200, 1_000, 1_300];
/// The growth of λ after blocking, and its decrease without.
const LAMBDA_STEPS: [u64; 2] = [40, 10];
/// The largest λ and δ.
const LARGEST: u64 = 1_000_000;
/// The largest number of rounds of the first slow start.
const MAX_ROUNDS: u64 = 16;

/// The two sides of the rule, multiplied by the denominator of the formula.
struct Quantities {
    /// X.
    sent: u128,
    /// M − 1 − x_s.
    left: u128,
    /// The denominator.
    per: u128,
}

/// x: the segments that a path holds.
fn carried(path: &Path) -> u64 {
    u64::from(path.in_flight) + u64::from(path.lost) + u64::from(path.queued)
}

/// The state of BLEST.
#[derive(Clone, Debug)]
pub struct Blest {
    reading: Reading,
    correction: u64,
    /// λ or δ.
    factor: u64,
    /// The time of the last change.
    changed: Time,
    /// True if f was blocked since then.
    blocked: bool,
    /// The least and the largest smoothed round-trip time of each path; zero if it was never
    /// measured.
    round_trips: [(Duration, Duration); MAX_PATHS],
    suspects: Suspects,
}

impl Blest {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "blest",
        title: "BLEST",
        summary: "Lowest RTT, but a slower path stays unused where its segments would block the fastest one by the receiver's window.",
        source: "Ferlin et al., BLEST, IFIP Networking 2016",
        needs: crate::Capabilities::NONE,
        parameters: &[
            ParameterInfo {
                name: "reading",
                doc: "The estimate of the segments that the fastest path could send meanwhile: that of the authors' code (kernel), or the paper's formula (paper).",
                default: Value::Text("kernel"),
                domain: Domain::Choice(&["kernel", "paper"]),
            },
            ParameterInfo {
                name: "correction",
                doc: "With reading = \"paper\": the factor of that estimate grows by this after a round trip with blocking, and shrinks by this after one without, in steps of 0.001. The paper tries 0.001 to 0.02.",
                default: Value::Number(0.01),
                domain: Domain::Number { min: 0.0, max: 1.0 },
            },
        ],
    };

    /// Creates the state, with the correction in thousandths.
    pub const fn new(reading: Reading, correction: u64) -> Self {
        Self {
            reading,
            correction,
            factor: match reading {
                Reading::Kernel => LAMBDA[0],
                Reading::Paper => ONE,
            },
            changed: Time::ZERO,
            blocked: false,
            round_trips: [(Duration::ZERO, Duration::ZERO); MAX_PATHS],
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let reading = if parameters.text("reading") == "paper" { Reading::Paper } else { Reading::Kernel };
        Self::new(reading, (parameters.number("correction") * ONE as f64 + 0.5) as u64)
    }

    /// The least and the largest round-trip time of a path in nanoseconds, including the present
    /// one.
    fn extremes(&mut self, path: &Path) -> (u64, u64) {
        let known = &mut self.round_trips[path.id.index() % MAX_PATHS];
        if path.has_rtt() {
            known.0 = if known.0.is_zero() { path.srtt } else { known.0.min(path.srtt) };
            known.1 = known.1.max(path.srtt);
        }
        (known.0.as_nanos(), known.1.as_nanos())
    }

    /// Adapts λ or δ when its period is over.
    fn adapt(&mut self, now: Time, fast: &Path, slow: &Path) {
        let period = match self.reading {
            Reading::Kernel => Duration::from_nanos(self.extremes(slow).0),
            Reading::Paper => fast.srtt,
        };
        if now.since(self.changed) < period {
            return;
        }
        self.changed = now;
        let blocked = core::mem::take(&mut self.blocked);
        self.factor = match (self.reading, blocked) {
            (Reading::Kernel, true) => (self.factor + LAMBDA_STEPS[0]).min(LAMBDA[2]),
            (Reading::Kernel, false) => (self.factor - LAMBDA_STEPS[1]).max(LAMBDA[1]),
            (Reading::Paper, true) => (self.factor + self.correction).min(LARGEST),
            (Reading::Paper, false) => self.factor.saturating_sub(self.correction),
        };
    }

    /// Whether `slow` would block `fast`.
    #[inline]
    fn blocks(&mut self, fast: &Path, slow: &Path, window: u64) -> bool {
        let Quantities { sent, left, .. } = self.weigh(fast, slow, window);
        sent * u128::from(self.factor) > left * u128::from(ONE)
    }

    /// The quantities of the rule.
    #[inline]
    fn weigh(&mut self, fast: &Path, slow: &Path, window: u64) -> Quantities {
        // Values beyond 32 bits are unreasonable, and the products have to fit into 128 bits.
        let left = u128::from(window.saturating_sub(carried(slow) + 1).min(u32::MAX.into()));
        let fast_window = u64::from(fast.cwnd.max(1));
        match self.reading {
            Reading::Kernel => {
                Quantities { sent: self.sent_meanwhile(fast, slow, fast_window), left, per: 1 }
            }
            Reading::Paper => {
                // X = (2 w r_f + r_s − r_f) r_s / (2 r_f²), multiplied out, with round trips in
                // microseconds.
                let micros =
                    |path: &Path| u128::from((path.srtt.as_nanos() / 1_000).clamp(1, u32::MAX.into()));
                let (fast_round, slow_round) = (micros(fast), micros(slow));
                let sent = (2 * u128::from(fast_window) * fast_round + slow_round - fast_round) * slow_round;
                let per = 2 * fast_round * fast_round;
                Quantities { sent, left: left * per, per }
            }
        }
    }

    /// The segments that `fast` could send while a segment is in flight on `slow`, by the formula
    /// of the code.
    fn sent_meanwhile(&mut self, fast: &Path, slow: &Path, fast_window: u64) -> u128 {
        let (least, most) = self.extremes(slow);
        // Queued segments count too: whether they have left yet does not change the answer.
        let place = u64::from(slow.in_flight) + u64::from(slow.queued) + 1;
        let window = u64::from(slow.cwnd.max(1));
        let filled = if place >= window {
            most
        } else {
            let share = u128::from(most - least) * u128::from(place) / u128::from(window);
            least + u64::try_from(share).unwrap_or(u64::MAX)
        };
        let lasts = filled.max(slow.srtt.as_nanos());
        let (least, most) = self.extremes(fast);
        let rounds = lasts.checked_div(u64::midpoint(least, most)).unwrap_or(0).min(u32::MAX.into()) + 1;
        if fast.ssthresh == u32::MAX {
            return u128::from(fast_window) * ((1 << rounds.min(MAX_ROUNDS)) - 1);
        }
        let window = fast_window.max(u64::from(fast.ssthresh) + 1);
        (u128::from(window) + u128::from((rounds - 1) / 2)) * u128::from(rounds)
    }
}

impl Default for Blest {
    fn default() -> Self {
        Self::new(Reading::default(), ONE / 100)
    }
}

impl Scheduler for Blest {
    #[inline]
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let Some(slow) = open else { return Decision::WAIT };
        let sendable = connection.sendable();
        if sendable == 0 {
            self.blocked |=
                connection.unassigned > 0 && paths.iter().any(|path| path.in_flight > 0 || path.queued > 0);
            return Decision::WAIT;
        }
        let Some(fast) = self.suspects.faster(slow, paths) else {
            return Decision::Assign { path: slow.id, segments: clip(slow.room(), sendable) };
        };
        self.adapt(now, fast, slow);
        if self.blocks(fast, slow, connection.window) {
            return Decision::WAIT;
        }
        // Each segment takes a place in the window, so each needs its own decision.
        Decision::Assign { path: slow.id, segments: 1 }
    }

    fn decide_with_reason(
        &mut self,
        now: Time,
        connection: &Connection,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> Decision {
        let decision = self.decide(now, connection, paths);
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let slow = open.filter(|_| connection.sendable() > 0);
        if let Some((slow, fast)) = slow.and_then(|slow| Some((slow, self.suspects.faster(slow, paths)?))) {
            // The rule left λ and all times as it used them.
            let Quantities { sent, per, left } = self.weigh(fast, slow, connection.window);
            let (factor, sent) = (self.factor as f64 / ONE as f64, sent as f64 / per as f64);
            let left = left / per;
            let sign = if decision == Decision::WAIT { '>' } else { '≤' };
            let name = if self.reading == Reading::Kernel { 'λ' } else { 'δ' };
            let (f, s, window, held) = (fast.id.0, slow.id.0, connection.window, carried(slow));
            // Writing to a text in memory cannot fail.
            let _ = write!(
                reason,
                "f is {{{f}}}, s is {{{s}}}; {name} X = {factor} · {sent:.1} = {:.1} {sign} \
                 M − 1 − x_s = {window} − 1 − {held} = {left}",
                factor * sent,
            );
        }
        decision
    }

    #[inline]
    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        self.suspects.on_event(event);
        if let Event::Acked { path, .. } = *event
            && let Some(path) = paths.get(path.index())
        {
            self.extremes(path);
        }
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
