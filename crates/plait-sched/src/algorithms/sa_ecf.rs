//! Stream-aware earliest completion first (SA-ECF): [ECF](super::ecf) for each stream separately,
//! so that a path that one stream leaves unused serves another.
//!
//! # Source
//! Rabitsch, Hurtig and Brunstrom, *A Stream-Aware Multipath QUIC Scheduler for Heterogeneous
//! Paths* (ACM EPIQ 2018), as read in code for multipath QUIC (ytxing_scheduler.go of mpquic-hbes).
//! f is the path with the smallest round-trip time, s the path that lowest RTT would use now.
//! * While f has room, it serves the streams in turn.
//! * For s, the streams are examined in that order. Let k = min(all unassigned segments, rest of
//!   the stream's message). A stream waits for f if (1 + k/w_f) r_f < (1 + waiting · β) (r_s + δ)
//!   and r_s · max(k, w_s) > w_s (2 r_f + δ). The first stream that does not wait gets s. If all
//!   wait, s stays unused.
//! * Each stream has its own `waiting`. Waiting sets it, and it is cleared if the first inequality
//!   does not hold.
//!
//! # Readings
//! * The turns have equal weights, a segment each. They are those of f; segments on s do not move
//!   them.
//! * Each stream has its own k. In the code, the minimum of one stream is carried over to the next.
//!
//! # Departures
//! * f must work, as in [`super::ecf`], and no stream waits for an unmeasured path.
//! * Priorities come first: only streams of the highest one are served. If such a stream waits, s
//!   does not go to a lower one.
//! * `waiting` is kept for 1,024 streams; further streams share the value of one of those.
//! * With a protocol that has one stream (MPTCP, TCP), this is ECF with the end of the message as
//!   the end of the data.
//!
//! # Progress
//! As in ECF: it waits only while f is full. The walk over the streams ends after one round, with
//! their order as before.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, Path, usable};

/// One, in the unit of β.
const ONE: u64 = 1_000;

/// A boolean for each of 1,024 streams.
#[derive(Clone, Debug)]
struct Marks([u64; 16]);

impl Marks {
    const fn contains(&self, stream: u32) -> bool {
        self.0[stream as usize / 64 % 16] >> (stream % 64) & 1 == 1
    }

    const fn set(&mut self, stream: u32, value: bool) {
        let (word, bit) = (&mut self.0[stream as usize / 64 % 16], 1 << (stream % 64));
        *word = if value { *word | bit } else { *word & !bit };
    }
}

/// The state of SA-ECF.
#[derive(Clone, Debug)]
pub struct SaEcf {
    /// β, in thousandths.
    beta: u64,
    waiting: Marks,
    suspects: Suspects,
    /// Number of streams that were examined in this walk and wait for f.
    asked: u32,
    /// The stream that f has served: its turn is over.
    served: Option<u32>,
    /// Number of streams still to be deferred until the order is as before the walk.
    restored: u32,
}

impl SaEcf {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "sa-ecf",
        title: "Stream-aware earliest completion first",
        summary: "ECF for each stream separately: where one stream leaves a slower path unused, the next stream may use it.",
        source: "Rabitsch et al., ACM EPIQ 2018",
        needs: Capabilities { messages: true, ..Capabilities::NONE },
        parameters: &[ParameterInfo {
            name: "beta",
            doc: "Hysteresis: the extra time that a stream continues to wait, compared with beginning to wait, as a share, in steps of 0.001.",
            default: Value::Number(0.25),
            domain: Domain::Number { min: 0.0, max: 100.0 },
        }],
    };

    /// Creates the state, with β in thousandths.
    pub const fn new(beta: u64) -> Self {
        Self { beta, waiting: Marks([0; 16]), suspects: Suspects::NONE, asked: 0, served: None, restored: 0 }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new((parameters.number("beta") * ONE as f64 + 0.5) as u64)
    }

    /// Whether a stream with `left` remaining segments waits for `fast`.
    fn waits(&mut self, fast: &Path, slow: &Path, stream: u32, left: u64) -> bool {
        let (fast_window, slow_window) = (u64::from(fast.cwnd.max(1)), u64::from(slow.cwnd.max(1)));
        let (fast_round, slow_round) = (fast.srtt.as_nanos(), slow.srtt.as_nanos());
        let margin = fast.rttvar.max(slow.rttvar).as_nanos();
        let patience = ONE + if self.waiting.contains(stream) { self.beta } else { 0 };
        let fast_is_done = fast_round.saturating_mul(left.saturating_add(fast_window)).saturating_mul(ONE);
        let slow_arrives =
            slow_round.saturating_add(margin).saturating_mul(fast_window).saturating_mul(patience);
        if fast_is_done >= slow_arrives {
            self.waiting.set(stream, false);
            return false;
        }
        let worth = slow_round.saturating_mul(left.max(slow_window))
            > fast_round.saturating_mul(2).saturating_add(margin).saturating_mul(slow_window);
        if worth {
            self.waiting.set(stream, true);
        }
        worth
    }
}

impl Default for SaEcf {
    fn default() -> Self {
        Self::new(ONE / 4)
    }
}

impl Scheduler for SaEcf {
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let (stream, left) =
            connection.message.map_or((0, u64::MAX), |message| (message.stream, message.segments_left));
        let several = connection.streams > 1;
        // The order of the streams is restored first.
        if core::mem::take(&mut self.served) == Some(stream) && several {
            return Decision::Defer;
        }
        if self.restored > 0 {
            self.restored -= 1;
            return Decision::Defer;
        }
        let asked = core::mem::take(&mut self.asked);
        let sendable = connection.sendable();
        let open = usable(paths).filter(|path| path.is_open()).min_by_key(|path| path.srtt);
        let Some(slow) = open.filter(|_| sendable > 0) else { return Decision::WAIT };
        let Some(fast) = self.suspects.faster(slow, paths) else {
            self.served = Some(stream);
            let segments = if several { 1 } else { clip(slow.room(), sendable.min(left)) };
            return Decision::Assign { path: slow.id, segments };
        };
        if asked > 0 && asked >= connection.streams {
            // All streams wait, and each has been deferred once.
            return Decision::WAIT;
        }
        if !self.waits(fast, slow, stream, left.min(connection.unassigned)) {
            // If this segment ends the message, its stream leaves the round.
            let staying = connection.streams - u32::from(left == 1 && connection.streams > 0);
            self.restored = if asked > 0 { staying.saturating_sub(asked) } else { 0 };
            return Decision::Assign { path: slow.id, segments: 1 };
        }
        if several {
            self.asked = asked + 1;
            return Decision::Defer;
        }
        Decision::WAIT
    }

    #[inline]
    fn on_event(&mut self, event: &Event, _connection: &Connection, _paths: &[Path]) {
        self.suspects.on_event(event);
    }

    fn needs(&self) -> Capabilities {
        Self::INFO.needs
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
