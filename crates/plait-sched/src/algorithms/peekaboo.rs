//! Peekaboo: learns from the rewards of earlier answers whether to use a slower path while the
//! fastest one is full.
//!
//! # Source
//! Wu, Alay, Brunstrom, Ferlin, Caso, *Peekaboo: Learning-Based Multipath Scheduling for Dynamic
//! Heterogeneous Environments* (IEEE JSAC 38(10), 2020). The open path f with the lowest round-trip
//! time takes as much data as it can. When f is full and a slower path s is not, there are two
//! actions: to send on s, or to wait for f. For each action LinUCB keeps A (at first the identity)
//! and b (zero). It takes the action with the largest θᵀx + α √(xᵀ A⁻¹ x), θ = A⁻¹ b. x has six
//! features: w/r, in flight/r, and the send window/r, of both paths. Once the reward R of an action
//! is known, A grows by x xᵀ and b by R x.
//!
//! The reward of an answer is the sum of γ · size/T over newly in-order acknowledged data, T after
//! the answer. γ begins with 1. Each acknowledgement multiplies it by 0.9, 0.7 or 0.5, for T up to
//! T_ref, 2 T_ref or 3 T_ref; then the sum ends. T_ref = max(2 (r_f + σ_f), r_s + σ_s). After
//! `learn` MB the scheduler is deployed: it takes the action with the larger θᵀx with a certain
//! probability.
//!
//! # Readings
//! The paper's rule is known to us; its open points are read as follows:
//!
//! * A deployed scheduler waits with the probability 0.7 if waiting is better, and sends with 0.9
//!   if sending is better, as in the published code. In the paper these depend on the quality of
//!   the reward prediction, in a way that is not known to us, and on a table that it does not
//!   print. So learning again after a change of that quality is left out. Paths that come or go
//!   restart the learning.
//! * A wait lasts until f is open, as in the published code.
//! * Features are in segments per millisecond, and so are rewards. The send window is the
//!   receiver's whole window.
//! * α is 0.75 as in the code; the other published code has 0.8, and takes A b for θ.
//!
//! # Departures
//! * A⁻¹ is kept instead of A, by the formula of Sherman and Morrison. The square root uses
//!   Newton's method. So there are only additions, multiplications and divisions, with the same
//!   results on every machine. Random numbers follow from `seed`.
//! * Six answers are followed at a time. Answers in between have no reward; neither has one that is
//!   never acknowledged.
//! * The time of an acknowledgement is that of the next decision, which follows every event.
//! * f must work: the scheduler does not wait for a path that timed out and has acknowledged
//!   nothing since.
//!
//! # Progress
//! It waits only while f has data in flight.

use super::clip;
use super::numeric::sqrt;
use super::suspects::Suspects;
use crate::decision::{Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, Path, PathId, usable};

/// Number of features of an opportunity.
const FEATURES: usize = 6;
/// Number of answers whose rewards are summed at a time.
const FOLLOWED: usize = 6;
/// Factors of γ up to one, two and three T_ref.
const DISCOUNTS: [f64; 3] = [0.9, 0.7, 0.5];
/// When deployed: the probability of sending if that is better, and of waiting if that is better.
/// In 2^-32.
const FOLLOWS: [u64; 2] = [3_865_470_566, 3_006_477_107];
/// Bound of features and rewards, so that their squares can be represented.
const MOST: f64 = 1e9;

type Features = [f64; FEATURES];

/// To send, or to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Send,
    Wait,
}

/// The state of LinUCB for one action.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Arm {
    /// A⁻¹.
    inverse: [Features; FEATURES],
    b: Features,
}

impl Arm {
    const NEW: Self = {
        let mut inverse = [[0.0; FEATURES]; FEATURES];
        let mut row = 0;
        while row < FEATURES {
            inverse[row][row] = 1.0;
            row += 1;
        }
        Self { inverse, b: [0.0; FEATURES] }
    };

    /// A⁻¹ x.
    fn solve(&self, x: &Features) -> Features {
        let mut solved = [0.0; FEATURES];
        for (place, row) in solved.iter_mut().zip(&self.inverse) {
            *place = dot(row, x);
        }
        solved
    }

    /// θᵀx and xᵀ A⁻¹ x. A is symmetric, so θᵀx is bᵀ A⁻¹ x.
    fn judge(&self, x: &Features) -> (f64, f64) {
        let solved = self.solve(x);
        (dot(&self.b, &solved), dot(x, &solved).max(0.0))
    }

    /// A += x xᵀ, b += R x.
    fn learn(&mut self, x: &Features, reward: f64) {
        let solved = self.solve(x);
        let scale = 1.0 + dot(x, &solved).max(0.0);
        for (row, &left) in self.inverse.iter_mut().zip(&solved) {
            for (entry, &right) in row.iter_mut().zip(&solved) {
                *entry -= left * right / scale;
            }
        }
        for (entry, &feature) in self.b.iter_mut().zip(x) {
            *entry += reward * feature;
        }
    }
}

fn dot(one: &Features, other: &Features) -> f64 {
    one.iter().zip(other).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// An answer whose reward is being summed.
#[derive(Clone, Copy, Debug)]
struct Answer {
    action: Action,
    x: Features,
    at: Time,
    reference: Duration,
    discount: f64,
    reward: f64,
}

/// The state of Peekaboo.
#[derive(Clone, Debug)]
pub struct Peekaboo {
    alpha: f64,
    /// Bytes that are acknowledged before it is deployed.
    learn: u64,
    acknowledged: u64,
    send: Arm,
    wait: Arm,
    answers: [Option<Answer>; FOLLOWED],
    /// All segments below this number have arrived.
    in_order: u64,
    /// The path for which the scheduler waits.
    waits_for: Option<PathId>,
    drawn: u64,
    suspects: Suspects,
}

impl Peekaboo {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "peekaboo",
        title: "Peekaboo",
        summary: "Lowest RTT, but the choice between a slower path and waiting for the fastest one is learned from the rewards of earlier choices.",
        source: "Wu et al., Peekaboo, IEEE JSAC 2020",
        needs: crate::Capabilities::NONE,
        parameters: &[
            ParameterInfo {
                name: "alpha",
                doc: "α of LinUCB: the weight of the uncertainty. A larger value tries less known actions more often.",
                default: Value::Number(0.75),
                domain: Domain::Number { min: 0.0, max: 100.0 },
            },
            ParameterInfo {
                name: "learn",
                doc: "The data in MB after which the scheduler is deployed: from then on it draws its actions and does not learn.",
                default: Value::Number(4.0),
                domain: Domain::Number { min: 0.0, max: 1_000_000.0 },
            },
            ParameterInfo {
                name: "seed",
                doc: "The seed of its random draws.",
                default: Value::Integer(1),
                domain: Domain::Integer { min: 0, max: 1_000_000_000 },
            },
        ],
    };

    /// Creates the state with α, the number of bytes to learn from, and a seed.
    pub const fn new(alpha: f64, learn: u64, seed: u64) -> Self {
        Self {
            alpha,
            learn,
            acknowledged: 0,
            send: Arm::NEW,
            wait: Arm::NEW,
            answers: [None; FOLLOWED],
            in_order: 0,
            waits_for: None,
            drawn: seed,
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let learn = (parameters.number("learn") * 1e6 + 0.5) as u64;
        Self::new(parameters.number("alpha"), learn, parameters.integer("seed") as u64)
    }

    /// The next random number, of 32 bits (SplitMix64).
    fn draw(&mut self) -> u64 {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.drawn;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) >> 32
    }

    /// Rewards earlier answers for data that arrived in order since the last decision.
    fn reward(&mut self, now: Time, connection: &Connection) {
        // Without a known segment in flight, no arrivals are known.
        let Some(oldest) = connection.oldest_unacked else { return };
        let arrived = oldest.segment.saturating_sub(self.in_order);
        self.in_order = self.in_order.max(oldest.segment);
        for place in 0..FOLLOWED {
            let Some(answer) = &mut self.answers[place] else { continue };
            let after = now.since(answer.at);
            let whole = answer.reference.as_nanos().max(1);
            let stage = (after.as_nanos().saturating_sub(1) / whole) as usize;
            let Some(discount) = DISCOUNTS.get(stage) else {
                let Answer { action, x, reward, .. } = *answer;
                self.answers[place] = None;
                self.arm(action).learn(&x, reward);
                continue;
            };
            if arrived > 0 {
                let per_millisecond = arrived as f64 * 1e6 / (after.as_nanos().max(1) as f64);
                answer.reward = (answer.reward + answer.discount * per_millisecond).min(MOST);
                answer.discount *= discount;
            }
        }
    }

    fn arm(&mut self, action: Action) -> &mut Arm {
        match action {
            Action::Send => &mut self.send,
            Action::Wait => &mut self.wait,
        }
    }

    /// Returns the action to take: the better one, or by chance the other.
    fn choose(&mut self, now: Time, (fast, slow): (&Path, &Path), window: u64) -> Action {
        let x = features(fast, slow, window);
        let (send, wait) = (self.send.judge(&x), self.wait.judge(&x));
        if self.acknowledged >= self.learn {
            let follows = |drawn: u64, action: usize| drawn < FOLLOWS[action];
            let drawn = self.draw();
            return match send.0 >= wait.0 {
                true if follows(drawn, 0) => Action::Send,
                false if !follows(drawn, 1) => Action::Send,
                _ => Action::Wait,
            };
        }
        let score = |(mean, spread): (f64, f64)| mean + self.alpha * sqrt(spread);
        let action = if score(send) >= score(wait) { Action::Send } else { Action::Wait };
        if let Some(free) = self.answers.iter_mut().find(|answer| answer.is_none()) {
            let with_spread = |path: &Path| path.srtt.as_nanos().saturating_add(path.rttvar.as_nanos());
            let longest = with_spread(fast).saturating_mul(2).max(with_spread(slow));
            let reference = Duration::from_nanos(longest);
            *free = Some(Answer { action, x, at: now, reference, discount: 1.0, reward: 0.0 });
        }
        action
    }

    /// Restarts the learning, but not the random numbers.
    fn begin_anew(&mut self) {
        *self = Self {
            in_order: self.in_order,
            suspects: self.suspects,
            ..Self::new(self.alpha, self.learn, self.drawn)
        };
    }
}

/// Segments per millisecond: window, in flight and send window of both paths.
fn features(fast: &Path, slow: &Path, window: u64) -> Features {
    let per_millisecond =
        |amount: u64, path: &Path| (amount as f64 * 1e6 / (path.srtt.as_nanos().max(1) as f64)).min(MOST);
    let of = |path: &Path| {
        [u64::from(path.cwnd), u64::from(path.in_flight), window].map(|amount| per_millisecond(amount, path))
    };
    let ([a, b, c], [d, e, f]) = (of(fast), of(slow));
    [a, b, c, d, e, f]
}

impl Default for Peekaboo {
    fn default() -> Self {
        Self::new(0.75, 4_000_000, 1)
    }
}

impl Scheduler for Peekaboo {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.reward(now, connection);
        let sendable = connection.sendable();
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let Some(slow) = open.filter(|_| sendable > 0) else { return Decision::WAIT };
        let Some(fast) = self.suspects.faster(slow, paths).filter(|fast| fast.in_flight > 0) else {
            self.waits_for = None;
            return Decision::Assign { path: slow.id, segments: clip(slow.room(), sendable) };
        };
        if self.waits_for == Some(fast.id) {
            return Decision::WAIT;
        }
        match self.choose(now, (fast, slow), connection.window) {
            Action::Send => Decision::Assign { path: slow.id, segments: 1 },
            Action::Wait => {
                self.waits_for = Some(fast.id);
                Decision::WAIT
            }
        }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        self.suspects.on_event(event);
        match *event {
            Event::Acked { path, segments, .. } => {
                let size = paths.get(path.index()).map_or(0, |path| path.mss);
                let bytes = u64::from(segments) * u64::from(size);
                self.acknowledged = self.acknowledged.saturating_add(bytes);
            }
            Event::PathUp { .. } | Event::PathDown { .. } => self.begin_anew(),
            _ => {}
        }
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
