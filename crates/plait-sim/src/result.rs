//! The result of a run: metrics in the shape of its JSON, and the requested tables.

use crate::capacity::Capacities;
use crate::recorder::decisions::DecisionLog;
use crate::recorder::frames::{
    ConnectionSeries, DecisionFrame, DecisionPaths, PacketFrame, PathSeries, RequestFrame,
};
use crate::recorder::{PathRecord, Recorder};
use crate::scenario::Scenario;
use crate::statistics::{LatencySummary, LevelSummary, SpanSummary};
use plait_sched::{Duration, Time};
use serde::Serialize;

/// The metrics of a run, from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Metrics {
    /// In-order payload delivered to the application, in bits per second.
    pub goodput_bps: f64,
    /// Delay from first transmission to in-order delivery, per packet.
    pub app_delay_ms: Option<SpanSummary>,
    /// Delay from arrival to in-order delivery, per packet.
    pub blocking_ms: Option<SpanSummary>,
    /// Packets waiting for in-order delivery.
    pub receive_buffer_packets: LevelSummary,
    /// Payload bytes waiting for in-order delivery.
    pub receive_buffer_bytes: LevelSummary,
    /// Delay from the writing of a block to the delivery of its last byte (workloads of blocks).
    pub block_delay_ms: Option<SpanSummary>,
    /// Difference of the delays of consecutive blocks (workloads of blocks).
    pub delay_variance_ms: Option<SpanSummary>,
    /// Delay from the client's writing of a request to the delivery of its response's last byte
    /// (workloads of requests).
    pub request_latency_ms: Option<LatencySummary>,
    /// Requests written; null if the workload has none.
    pub requests_begun: Option<u64>,
    /// Responses delivered wholly; null if the workload has none.
    pub requests_completed: Option<u64>,
    /// Share of the messages (blocks, responses, the file) that were delivered wholly by their
    /// deadline. A message is judged when it is delivered, or when its deadline passes. Null if the
    /// workload has no deadline, or no message was judged.
    pub in_time_share: Option<f64>,
    /// Messages delivered by their deadline; null if the workload has no deadline.
    pub messages_in_time: Option<u64>,
    /// Messages not delivered by their deadline; null if the workload has no deadline.
    pub messages_late: Option<u64>,
    /// Retransmissions of packets that were considered lost.
    pub retransmissions: u64,
    /// Retransmissions and reinjections of packets that had already arrived.
    pub spurious_retransmissions: u64,
    /// Copies that the scheduler requested.
    pub reinjections: u64,
    /// Retransmissions that were tail loss probes (MPTCP and TCP); null if the engine does not
    /// count them.
    pub tail_probes: Option<u64>,
    /// Expired retransmission timers; null if the engine does not count them.
    pub timeouts: Option<u64>,
    /// Spurious timeouts: data arrived that was never retransmitted (MPTCP and TCP). Null if the
    /// engine does not count them.
    pub spurious_timeouts: Option<u64>,
    /// Reports of duplicates (D-SACK; MPTCP and TCP); null if the engine does not count them.
    pub duplicate_reports: Option<u64>,
    /// Acknowledgements that report a packet that was sent once and arrived after a later packet of
    /// its path (MPTCP and TCP). Null if the engine does not count them.
    pub reorderings: Option<u64>,
    /// Reductions of a congestion window that turned out to be unnecessary and were undone (MPTCP
    /// and TCP). Null if the engine does not count them.
    pub undone_reductions: Option<u64>,
    /// Decisions of the scheduler other than to wait; null if the engine does not count them.
    pub decisions: Option<u64>,
    /// Decisions to wait; null if the engine does not count them.
    pub waits: Option<u64>,
    /// Kaspar's measure: −1…1; 0 = the best single path, 1 = all capacity used. Not a number (null
    /// in JSON) if the capacities are unknown.
    pub aggregation_benefit: f64,
    /// Delivery time of the last byte of a finite workload, in seconds; null if it was not
    /// delivered.
    pub completion_time_s: Option<f64>,
    /// Packets delivered in order.
    pub packets_delivered: u64,
    /// Payload bytes delivered in order since the start, warm-up included.
    pub delivered_bytes: u64,
    /// Payload bytes that were written and not delivered when the run ended; null for endless
    /// workloads.
    pub undelivered_bytes: Option<u64>,
    /// Seconds that the metrics cover.
    pub measured_s: f64,
    /// Simulated events; captured packets if nothing is simulated.
    pub events: u64,
}

/// The metrics of one path.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathMetrics {
    /// The path's name.
    pub name: String,
    /// Payload that arrived for the first time over this path, in bits per second.
    pub throughput_bps: f64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Data packets lost on the way.
    pub packets_lost: u64,
    /// Data packets that found the queue full; null if the engine cannot distinguish them from lost
    /// packets.
    pub packets_dropped: Option<u64>,
    /// Smoothed round-trip time at the end; null if it was never measured.
    pub srtt_ms: Option<f64>,
    /// Smoothed one-way delay of the data at the end, from timestamps. It includes the offset
    /// between the clocks. Null if it was never measured (CMT-SCTP does not measure it).
    pub forward_delay_ms: Option<f64>,
    /// Smoothed one-way delay of the acknowledgements at the end, measured as `forward_delay_ms`.
    pub backward_delay_ms: Option<f64>,
    /// Congestion window at the end, in packets; null if the path had no window then.
    pub cwnd_packets: Option<f64>,
}

/// The metrics of a competing flow, from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowMetrics {
    /// The flow's name.
    pub name: String,
    /// The kind of traffic.
    pub kind: &'static str,
    /// Payload delivered in order, in bits per second; for datagrams, all bytes that arrived,
    /// headers included.
    pub goodput_bps: f64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Data packets delivered.
    pub packets_delivered: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
    /// Packets that found a queue full; null if the engine cannot distinguish them from lost
    /// packets.
    pub packets_dropped: Option<u64>,
    /// Delay from sending to arrival, per datagram; null for connections.
    pub delay_ms: Option<SpanSummary>,
    /// Delivery time of the last byte of a finite flow, in seconds; null if it was not delivered.
    pub completion_time_s: Option<f64>,
}

/// The metrics of an active queue: one direction of a link whose discipline is not drop-tail. They
/// count from the end of the warm-up to the end of the run. They cover packets of the connection
/// and of all flows, data and acknowledgements.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueMetrics {
    /// The name of the link, or of the path that has the wire.
    pub name: String,
    /// The direction.
    pub direction: &'static str,
    /// The discipline.
    pub discipline: &'static str,
    /// Packets that left the queue for transmission.
    pub packets_sent: u64,
    /// Packets marked.
    pub packets_marked: u64,
    /// Packets that the discipline dropped because of their delay.
    pub packets_dropped: u64,
    /// Packets that were dropped because the queue was full.
    pub packets_over_limit: u64,
    /// Delay from arrival in the queue to the start of transmission, of the sent packets.
    pub sojourn_ms: Option<SpanSummary>,
}

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

/// The engine of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// The simulator.
    #[default]
    Simulator,
    /// The Linux kernel's own MPTCP and TCP.
    Linux,
    /// The transport of real paths in virtual time: QUIC connections over the simulator's links
    /// (`plait-quic`).
    Quic,
    /// The transport of real paths on real paths, from the sender's view alone (`plait-quic`).
    Sockets,
}

impl Engine {
    /// The engine's name in commands and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Simulator => "sim",
            Self::Linux => "linux",
            Self::Quic => "quic",
            Self::Sockets => "sockets",
        }
    }
}

/// An engine's data at the end of a run that its [`Recorder`] does not have. Counts begin at the
/// end of the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ending {
    /// The engine of the run.
    pub engine: Engine,
    /// The reason why a connection of MPTCP fell back to TCP, over its first path alone, if it did.
    /// Connections of the simulator may fall back in profile "linux".
    pub fallback: Option<String>,
    /// Data about the kernel that made the run: its release, its build, its counters.
    pub kernel: Option<serde_json::Value>,
    /// The end of the run.
    pub end: Time,
    /// Payload bytes that the application wrote since the start; without meaning for endless
    /// workloads.
    pub written_bytes: u64,
    /// See [`Metrics::spurious_retransmissions`].
    pub spurious_retransmissions: u64,
    /// See [`Metrics::tail_probes`].
    pub tail_probes: Option<u64>,
    /// See [`Metrics::timeouts`].
    pub timeouts: Option<u64>,
    /// See [`Metrics::spurious_timeouts`].
    pub spurious_timeouts: Option<u64>,
    /// See [`Metrics::duplicate_reports`].
    pub duplicate_reports: Option<u64>,
    /// See [`Metrics::reorderings`].
    pub reorderings: Option<u64>,
    /// See [`Metrics::undone_reductions`].
    pub undone_reductions: Option<u64>,
    /// See [`Metrics::decisions`].
    pub decisions: Option<u64>,
    /// See [`Metrics::waits`].
    pub waits: Option<u64>,
    /// See [`Metrics::events`].
    pub events: u64,
    /// One entry per path of the scenario.
    pub paths: Vec<PathEnding>,
    /// One entry per flow of the scenario.
    pub flows: Vec<FlowEnding>,
    /// One entry per direction of a link with an active queue, in the order of
    /// [`Scenario::directions`].
    pub queues: Vec<QueueMetrics>,
    /// The table, if requested.
    pub path_series: Option<PathSeries>,
    /// The table, if requested.
    pub connection_series: Option<ConnectionSeries>,
}

/// An engine's data about one path at the end of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PathEnding {
    /// Data packets lost on the way.
    pub packets_lost: u64,
    /// Data packets that found the queue full, if the engine can distinguish them.
    pub packets_dropped: Option<u64>,
    /// Smoothed round-trip time, if it was measured.
    pub srtt: Option<Duration>,
    /// See [`PathMetrics::forward_delay_ms`]; in nanoseconds.
    pub forward_delay: Option<i64>,
    /// See [`PathMetrics::backward_delay_ms`]; in nanoseconds.
    pub backward_delay: Option<i64>,
    /// Congestion window in packets.
    pub cwnd_packets: Option<f64>,
}

/// An engine's data about a competing flow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowEnding {
    /// Data packets sent.
    pub packets_sent: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Data packets delivered.
    pub packets_delivered: u64,
    /// Bytes delivered: the payload of connections, all bytes of datagrams.
    pub delivered_bytes: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
    /// Packets that found a queue full, if the engine can distinguish them.
    pub packets_dropped: Option<u64>,
    /// Delay of datagrams from sending to arrival.
    pub delay: Option<SpanSummary>,
    /// Delivery time of the last byte of a finite flow, if it was delivered.
    pub completed: Option<Time>,
}

impl FlowEnding {
    /// Builds the data of a flow that is a connection. `size` is the amount of data of a finite
    /// flow. The network, not the recorder, counts lost packets.
    pub fn of_connection(recorder: &Recorder, size: Option<u64>) -> Self {
        let sum = |count: fn(&PathRecord) -> u64| recorder.paths.iter().map(count).sum();
        Self {
            packets_sent: sum(|path| path.packets_sent),
            retransmissions: sum(|path| path.retransmissions),
            packets_delivered: recorder.delivered_packets - recorder.delivered_packets_in_warmup,
            delivered_bytes: recorder.delivered_bytes - recorder.delivered_in_warmup,
            completed: size.filter(|&size| size == recorder.delivered_bytes).map(|_| recorder.last_delivery),
            ..Self::default()
        }
    }
}

impl RunResult {
    /// Computes the result of a run of `scenario`. All metrics of all engines are computed here.
    pub fn new(scenario: &Scenario, recorder: Recorder, ending: Ending) -> Self {
        let start = scenario.warmup.as_nanos();
        let end = ending.end.as_nanos();
        let seconds = end.saturating_sub(start) as f64 / 1e9;
        let per_second = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
        let goodput_bps = per_second(recorder.delivered_bytes - recorder.delivered_in_warmup);
        let endless = scenario.workload.is_endless();
        let requests = recorder.requests.as_ref();
        let deadlines = recorder.deadlines(ending.end);
        let total = |count: fn(&PathRecord) -> u64| recorder.paths.iter().map(count).sum();
        let metrics = Metrics {
            goodput_bps,
            app_delay_ms: recorder.app_delay.summary(),
            blocking_ms: recorder.blocking.summary(),
            receive_buffer_packets: recorder.buffer_packets.summary(start, end),
            receive_buffer_bytes: recorder.buffer_bytes.summary(start, end),
            block_delay_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.delay.summary()),
            delay_variance_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.variance.summary()),
            request_latency_ms: requests.and_then(|requests| requests.latency.latencies()),
            requests_begun: requests.map(|requests| requests.begun),
            requests_completed: requests.map(|requests| requests.completed),
            in_time_share: deadlines.and_then(|deadlines| deadlines.share()),
            messages_in_time: deadlines.map(|deadlines| deadlines.in_time),
            messages_late: deadlines.map(|deadlines| deadlines.late),
            retransmissions: total(|path| path.retransmissions),
            spurious_retransmissions: ending.spurious_retransmissions,
            reinjections: total(|path| path.reinjections),
            tail_probes: ending.tail_probes,
            timeouts: ending.timeouts,
            spurious_timeouts: ending.spurious_timeouts,
            duplicate_reports: ending.duplicate_reports,
            reorderings: ending.reorderings,
            undone_reductions: ending.undone_reductions,
            decisions: ending.decisions,
            waits: ending.waits,
            aggregation_benefit: match ending.engine {
                Engine::Sockets => f64::NAN,
                _ => benefit(goodput_bps, &capacities(scenario, ending.end)),
            },
            completion_time_s: recorder.completed(&scenario.workload).map(Time::as_secs_f64),
            packets_delivered: recorder.delivered_packets - recorder.delivered_packets_in_warmup,
            delivered_bytes: recorder.delivered_bytes,
            undelivered_bytes: (!endless)
                .then(|| ending.written_bytes.saturating_sub(recorder.delivered_bytes)),
            measured_s: seconds,
            events: ending.events,
        };
        let paths = scenario.paths.iter().zip(&recorder.paths).zip(ending.paths);
        let paths = paths.map(|((path, record), ending)| PathMetrics {
            name: path.name.clone(),
            throughput_bps: per_second(record.arrived_bytes),
            packets_sent: record.packets_sent,
            retransmissions: record.retransmissions,
            packets_lost: ending.packets_lost,
            packets_dropped: ending.packets_dropped,
            srtt_ms: ending.srtt.map(Duration::as_millis_f64),
            forward_delay_ms: ending.forward_delay.map(|delay| delay as f64 / 1e6),
            backward_delay_ms: ending.backward_delay.map(|delay| delay as f64 / 1e6),
            cwnd_packets: ending.cwnd_packets,
        });
        let flows = scenario.flows.iter().zip(ending.flows).map(|(flow, ending)| FlowMetrics {
            name: flow.name.clone(),
            kind: flow.kind.word(),
            goodput_bps: per_second(ending.delivered_bytes),
            packets_sent: ending.packets_sent,
            retransmissions: ending.retransmissions,
            packets_delivered: ending.packets_delivered,
            packets_lost: ending.packets_lost,
            packets_dropped: ending.packets_dropped,
            delay_ms: ending.delay,
            completion_time_s: ending.completed.map(Time::as_secs_f64),
        });
        let (paths, flows) = (paths.collect(), flows.collect());
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

/// The paths' maximum capacities during the measurement, in payload bits per second.
fn capacities(scenario: &Scenario, end: Time) -> Capacities {
    let packet = f64::from(scenario.transport.packet);
    let payload = packet - f64::from(scenario.transport.overhead().of_data());
    let start = (Time::ZERO + scenario.warmup).min(end);
    Capacities::new(scenario, start, end, |rate| rate * payload / packet)
}

/// Kaspar's aggregation benefit of a goodput over paths with these capacities: (g − C_max)/(ΣC_i −
/// C_max) if g ≥ C_max, else (g − C_max)/C_max.
pub fn aggregation_benefit(goodput: f64, capacities: &[f64]) -> f64 {
    benefit(goodput, &Capacities { paths: capacities.to_vec(), total: capacities.iter().sum() })
}

/// The benefit over paths that may share links. The joint capacity takes the place of ΣC_i.
fn benefit(goodput: f64, capacities: &Capacities) -> f64 {
    let best = capacities.paths.iter().copied().fold(0.0, f64::max);
    let others = capacities.total - best;
    let gain = goodput - best;
    if gain < 0.0 {
        gain / best
    } else if others > 0.0 {
        gain / others
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::aggregation_benefit;

    #[test]
    fn benefit_is_minus_one_to_one() {
        let paths = [10.0, 5.0];
        assert_eq!(aggregation_benefit(0.0, &paths), -1.0);
        assert_eq!(aggregation_benefit(10.0, &paths), 0.0);
        assert_eq!(aggregation_benefit(15.0, &paths), 1.0);
        assert_eq!(aggregation_benefit(4.0, &[4.0]), 0.0);
    }
}
