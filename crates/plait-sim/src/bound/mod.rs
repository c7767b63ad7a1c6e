//! Bounds that no scheduler beats: of goodput, of the mean delay of blocks, of a file's completion.
//!
//! A bound holds for every run of the scenario as it is written, with any scheduler. The proofs are
//! in `docs/bound.md`. A bound ignores competing flows, so it is loose where there are some.
//!
//! | file | content |
//! |---|---|
//! | `curve.rs`, `delays.rs` | one link: bytes by time; departures by arrival |
//! | `network.rs` | all paths: the earliest arrival of an amount of data, over shared links too |
//! | `file.rs`, `blocks.rs`, `joint.rs`, `bulk.rs` | L0 of each workload; L0-joint |
//! | `window.rs` | L1, the receiver's window |
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
#[cfg(test)]
mod tests;
mod window;

use crate::result::Metrics;
use crate::scenario::{Profile, Scenario, Workload};
use network::Network;
use serde_json::{Value, json};

/// A bound of a metric, or a reference beside it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bound {
    /// Its name on the page of the proofs.
    pub name: &'static str,
    /// The metric, as a run's JSON has it, with dots.
    pub metric: &'static str,
    /// The largest possible goodput, or the least possible delay or time, in the metric's unit.
    pub value: f64,
    /// Whether it is a bound. Otherwise it is a reference, which runs may beat.
    pub valid: bool,
    /// The runs for which it holds.
    pub condition: Condition,
    /// What it counts, and how loose it is known to be.
    pub note: String,
}

/// The runs for which a bound holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Condition {
    /// All.
    None,
    /// Those that delivered this share of the written payload at least.
    Delivered(f64),
    /// Those without retransmission timeouts.
    NoTimeouts,
}

impl Bound {
    /// Whether the metric is better if it is larger.
    pub fn is_upper(&self) -> bool {
        self.metric == "goodput_bps"
    }

    /// Whether the bound holds for a run with these metrics.
    pub fn holds_for(&self, metrics: &Metrics) -> bool {
        match self.condition {
            Condition::None => true,
            Condition::Delivered(share) => metrics.undelivered_bytes.is_some_and(|left| {
                let delivered = metrics.delivered_bytes as f64;
                delivered >= share * (delivered + left as f64)
            }),
            Condition::NoTimeouts => metrics.counters.timeouts == Some(0),
        }
    }

    /// The run's value of the bound's metric.
    pub fn measured(&self, metrics: &Metrics) -> Option<f64> {
        match self.metric {
            "goodput_bps" => Some(metrics.goodput_bps),
            "completion_time_s" => metrics.completion_time_s,
            _ => metrics.block_delay_ms.map(|delay| delay.mean),
        }
    }

    fn to_json(&self) -> Value {
        let condition = match self.condition {
            Condition::None => Value::Null,
            Condition::Delivered(share) => json!({ "delivered_share": share }),
            Condition::NoTimeouts => json!({ "timeouts": 0 }),
        };
        json!({
            "name": self.name,
            "metric": self.metric,
            "value": self.value,
            "valid": self.valid,
            "condition": condition,
            "note": self.note,
        })
    }
}

/// The bounds of a scenario, the tightest one first; none for requests, whose sizes are random.
pub fn bounds(scenario: &Scenario) -> Vec<Bound> {
    let network = Network::new(scenario);
    let mut bounds = match &scenario.workload {
        Workload::Bulk(bulk) => bulk::bounds(scenario, &network, bulk),
        Workload::File(file) => file::bounds(scenario, &network, file),
        Workload::ConstantRate(blocks) => blocks::bounds(scenario, &network, blocks),
        Workload::OnOff(_) | Workload::RequestResponse(_) => Vec::new(),
    };
    bounds.retain(|bound| bound.value.is_finite());
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
