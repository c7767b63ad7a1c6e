//! The result of a run: metrics in the shape of its JSON, and the requested tables.
//!
//! | file | content |
//! |---|---|
//! | `metrics.rs` | the metrics: meaning and computation |
//! | `ending.rs` | an engine's data at the end of a run |
//! | `benefit.rs` | the aggregation benefit |

mod benefit;
mod ending;
mod metrics;

pub use benefit::aggregation_benefit;
pub use ending::{Ending, Engine, FlowEnding, PathEnding};
pub use metrics::{FlowMetrics, Metrics, PathMetrics, QueueMetrics, SenderCounters};

use crate::recorder::Recorder;
use crate::recorder::decisions::DecisionLog;
use crate::recorder::frames::{
    ConnectionSeries, DecisionFrame, DecisionPaths, PacketFrame, PathSeries, RequestFrame,
};
use crate::scenario::Scenario;
use metrics::Interval;
use serde::Serialize;

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult {
    /// The engine of the run.
    pub engine: Engine,
    /// See [`Ending::fallback`].
    pub fallback: Option<String>,
    /// See [`Ending::kernel`].
    pub kernel: Option<serde_json::Value>,
    /// Metrics of the connection.
    pub metrics: Metrics,
    /// Metrics of the paths.
    pub paths: Vec<PathMetrics>,
    /// Metrics of the competing flows.
    pub flows: Vec<FlowMetrics>,
    /// Metrics of the active queues.
    pub queues: Vec<QueueMetrics>,
    /// One row per transmission, if requested.
    pub packets: Option<PacketFrame>,
    /// One row per request, if the workload has requests.
    pub requests: Option<RequestFrame>,
    /// One row per path and sampling time, if requested.
    pub path_series: Option<PathSeries>,
    /// One row per sampling time, if requested.
    pub connection_series: Option<ConnectionSeries>,
    /// One row per decision, if requested.
    pub decisions: Option<DecisionFrame>,
    /// One row per decision and path, if decisions were requested.
    pub decision_paths: Option<DecisionPaths>,
}

#[derive(Serialize)]
struct Document<'a> {
    scenario: &'a str,
    engine: &'a str,
    kernel: Option<&'a serde_json::Value>,
    seed: u64,
    scheduler: &'a str,
    fallback: Option<&'a str>,
    metrics: &'a Metrics,
    paths: &'a [PathMetrics],
    flows: &'a [FlowMetrics],
    #[serde(skip_serializing_if = "<[QueueMetrics]>::is_empty")]
    queues: &'a [QueueMetrics],
}

impl RunResult {
    /// The run's JSON. `scheduler` is the scheduler's name for display.
    pub fn to_json(&self, scenario: &Scenario, scheduler: &str) -> String {
        let document = Document {
            scenario: &scenario.name,
            engine: self.engine.word(),
            kernel: self.kernel.as_ref(),
            seed: scenario.seed,
            scheduler,
            fallback: self.fallback.as_deref(),
            metrics: &self.metrics,
            paths: &self.paths,
            flows: &self.flows,
            queues: &self.queues,
        };
        #[expect(clippy::expect_used, reason = "plain structs with string keys always serialize")]
        serde_json::to_string(&document).expect("serializable")
    }
}

impl RunResult {
    /// Computes the result of a run of `scenario`. All engines have their results from here.
    pub fn new(scenario: &Scenario, recorder: Recorder, ending: Ending) -> Self {
        let interval = Interval::of(scenario, &ending);
        let metrics = Metrics::new(scenario, &recorder, &ending, interval);
        let paths = scenario.paths.iter().zip(&recorder.paths).zip(&ending.paths);
        let paths = paths.map(|((path, record), ending)| PathMetrics::new(path, record, ending, interval));
        let paths = paths.collect();
        let flows = scenario.flows.iter().zip(&ending.flows);
        let flows = flows.map(|(flow, ending)| FlowMetrics::new(flow, ending, interval)).collect();
        let (decisions, decision_paths) = recorder.decisions.map(DecisionLog::finish).unzip();
        Self {
            engine: ending.engine,
            fallback: ending.fallback,
            kernel: ending.kernel,
            metrics,
            paths,
            flows,
            queues: ending.queues,
            packets: recorder.packets,
            requests: recorder.requests.map(|requests| requests.frame),
            path_series: ending.path_series,
            connection_series: ending.connection_series,
            decisions,
            decision_paths,
        }
    }
}
