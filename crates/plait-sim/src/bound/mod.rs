//! Bounds that no scheduler beats: of goodput, of the mean delay of blocks, of a file's completion.
//!
//! A bound holds for every run of the scenario as it is written, with any scheduler. The proofs are
//! in `docs/bound-proofs.md`. A bound ignores competing flows, so it is loose where there are some.
//!
//! | file | content |
//! |---|---|
//! | `curve.rs`, `delays.rs` | one link: bytes by time; departures by arrival |
//! | `network.rs` | all paths: the earliest arrival of an amount of data, over shared links too |
//! | `file.rs`, `blocks.rs`, `joint.rs`, `bulk.rs` | L0 of each workload; L0-joint |
//! | `window.rs` | L1, the receiver's window |
//! | `rules.rs` | the rules of each protocol |
//! | `envelope.rs` | L2a, handshakes and slow start |
//! | `loss.rs` | L3, known losses |

mod blocks;
mod bulk;
mod curve;
mod delays;
mod envelope;
mod file;
mod joint;
mod loss;
mod network;
mod rules;
#[cfg(test)]
mod tests;
mod window;

use crate::result::Metrics;
use crate::scenario::{Profile, Scenario, Workload};
use network::Network;
use serde_json::{Value, json};

/// Metrics, as a run's JSON has them.
const GOODPUT: &str = "goodput_bps";
const COMPLETION: &str = "completion_time_s";
const BLOCK_DELAY: &str = "block_delay_ms.mean";

/// A bound of a metric, or a reference beside it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// Its name on the page of the proofs.
    pub name: &'static str,
    /// The metric, as a run's JSON has it, with dots.
    pub metric: &'static str,
    /// The largest possible goodput, or the least possible delay or time, in the metric's unit.
    pub value: f64,
    /// The runs for which it holds.
    pub runs: Runs,
    /// The limits that it counts, and its known looseness.
    pub note: &'static str,
}

/// The runs for which a bound holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Runs {
    /// All.
    All,
    /// Those that delivered this share of the written payload at least.
    Delivered(f64),
    /// Those without retransmissions and timeouts.
    WithoutRetransmissions,
    /// None in particular: the value is only a reference, which runs may beat.
    Reference,
}

impl Bound {
    /// Whether it holds for every run.
    pub fn is_valid(&self) -> bool {
        self.runs == Runs::All
    }

    /// Whether the metric is better if it is larger.
    pub fn is_upper(&self) -> bool {
        self.metric == GOODPUT
    }

    /// Whether the bound holds for a run with these metrics.
    pub fn holds_for(&self, metrics: &Metrics) -> bool {
        match self.runs {
            Runs::All => true,
            Runs::Delivered(share) => metrics.undelivered_bytes.is_some_and(|left| {
                let delivered = metrics.delivered_bytes as f64;
                delivered >= share * (delivered + left as f64)
            }),
            Runs::WithoutRetransmissions => {
                metrics.retransmissions == 0 && metrics.counters.timeouts == Some(0)
            }
            Runs::Reference => false,
        }
    }

    /// The run's value of the bound's metric.
    pub fn measured(&self, metrics: &Metrics) -> Option<f64> {
        match self.metric {
            GOODPUT => Some(metrics.goodput_bps),
            COMPLETION => metrics.completion_time_s,
            _ => metrics.block_delay_ms.map(|delay| delay.mean),
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "metric": self.metric,
            "value": self.value,
            "valid": self.is_valid(),
            "note": self.note,
        })
    }
}

/// The bounds of a scenario, the tightest valid one first; none for requests, for random on times,
/// for traces of writes and for classes of the caller's own.
pub fn bounds(scenario: &Scenario) -> Vec<Bound> {
    let network = Network::new(scenario);
    let mut bounds = match &scenario.workload {
        Workload::Bulk(bulk) => bulk::bounds(scenario, &network, bulk),
        Workload::File(file) => file::bounds(scenario, &network, file),
        Workload::ConstantRate(blocks) => blocks::bounds(scenario, &network, blocks),
        _ => Vec::new(),
    };
    bounds.retain(|bound| bound.value.is_finite());
    let tightness = |bound: &Bound| if bound.is_upper() { -bound.value } else { bound.value };
    bounds.sort_by(|one, other| {
        (other.is_valid().cmp(&one.is_valid())).then(tightness(other).total_cmp(&tightness(one)))
    });
    bounds
}

/// The bounds of a scenario as one JSON document.
pub fn to_json(scenario: &Scenario) -> Value {
    let bounds: Vec<Value> = bounds(scenario).iter().map(Bound::to_json).collect();
    json!({ "scenario": scenario.name, "bounds": bounds })
}

/// Whether every segment is full that does not end a write. Linux also ends segments with windows,
/// and a send buffer with its room.
fn has_full_segments(scenario: &Scenario) -> bool {
    scenario.transport.profile() == Profile::Standard && scenario.transport.send_buffer.is_none()
}
