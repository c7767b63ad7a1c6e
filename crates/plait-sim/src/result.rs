//! What a run gives: metrics in the shape of its JSON, and the tables that were asked for.

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

/// The metrics of a run. Everything counts from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Metrics {
    /// In-order payload delivered to the application, in bits per second.
    pub goodput_bps: f64,
    /// First transmission to in-order delivery, per packet.
    pub app_delay_ms: Option<SpanSummary>,
    /// Arrival to in-order delivery, per packet.
    pub blocking_ms: Option<SpanSummary>,
    /// Packets waiting for in-order delivery.
    pub receive_buffer_packets: LevelSummary,
    /// Payload bytes waiting for in-order delivery.
    pub receive_buffer_bytes: LevelSummary,
    /// Write of a block to the delivery of its last byte (workloads of blocks).
    pub block_delay_ms: Option<SpanSummary>,
    /// Difference of the delays of consecutive blocks (workloads of blocks).
    pub delay_variance_ms: Option<SpanSummary>,
    /// Write of a request at the client to the delivery of its response's last byte there (workloads of requests).
    pub request_latency_ms: Option<LatencySummary>,
    /// Requests written; null if the workload has none.
    pub requests_begun: Option<u64>,
    /// Responses delivered wholly; null likewise.
    pub requests_completed: Option<u64>,
    /// Share of the messages (blocks, responses, the file) that were delivered wholly by their deadline; null if the workload has no deadline, or
    /// none was judged. A message is judged when it is delivered, or when its deadline passes.
    pub in_time_share: Option<f64>,
    /// Messages delivered by their deadline; null if the workload has no deadline.
    pub messages_in_time: Option<u64>,
    /// Messages not delivered by their deadline; null likewise.
    pub messages_late: Option<u64>,
    /// Packets sent again because they were considered lost.
    pub retransmissions: u64,
    /// Retransmissions and copies that arrived although the packet had arrived before.
    pub spurious_retransmissions: u64,
    /// Copies sent because the scheduler asked.
    pub reinjections: u64,
    /// Of the retransmissions, probes of a tail that nobody acknowledged (MPTCP and TCP); null if the engine does not
    /// tell.
    pub tail_probes: Option<u64>,
    /// Retransmission timers that ran out; null if the engine does not tell.
    pub timeouts: Option<u64>,
    /// Of the timeouts, needless ones: something arrived that was never sent again (MPTCP and TCP); null if the engine does not
    /// tell.
    pub spurious_timeouts: Option<u64>,
    /// Reports of packets that arrived twice (D-SACK; MPTCP and TCP); null if the engine does not tell.
    pub duplicate_reports: Option<u64>,
    /// Acknowledgements that told of a packet, sent once, that arrived after a later one of its path (MPTCP and TCP); null if the
    /// engine does not tell.
    pub reorderings: Option<u64>,
    /// Reductions of a congestion window that turned out to be needless and were taken back (MPTCP and TCP); null if the engine
    /// does not tell.
    pub undone_reductions: Option<u64>,
    /// Decisions of the scheduler, without its answers to wait; null if it does not count them.
    pub decisions: Option<u64>,
    /// Answers to wait; null likewise.
    pub waits: Option<u64>,
    /// Kaspar's measure: −1…1; 0 = the best single path, 1 = all capacity used. Not a number, in JSON null, where nobody knows the capacities.
    pub aggregation_benefit: f64,
    /// When the last byte of a finite workload was delivered, in seconds; null if it was not.
    pub completion_time_s: Option<f64>,
    /// Packets delivered in order.
    pub packets_delivered: u64,
    /// Payload bytes delivered in order since the start, warm-up included.
    pub delivered_bytes: u64,
    /// Payload bytes that were written and not delivered when the run ended; null for endless workloads.
    pub undelivered_bytes: Option<u64>,
    /// Seconds that the metrics cover.
    pub measured_s: f64,
    /// Simulated events; captured packets where nothing is simulated.
    pub events: u64,
}

/// One path's part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathMetrics {
    /// The path's name.
    pub name: String,
    /// Payload that arrived for the first time over this path, in bits per second.
    pub throughput_bps: f64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Data packets lost on the way.
    pub packets_lost: u64,
    /// Data packets that found the queue full; null if the engine cannot tell, and counts them as lost.
    pub packets_dropped: Option<u64>,
    /// Smoothed round-trip time at the end; null if it was never measured.
    pub srtt_ms: Option<f64>,
    /// One-way delay of the data at the end, as timestamps tell it: smoothed, the offset between the clocks contained; null
    /// if it was never measured (CMT-SCTP does not).
    pub forward_delay_ms: Option<f64>,
    /// One-way delay of the acknowledgements likewise.
    pub backward_delay_ms: Option<f64>,
    /// Congestion window at the end, in packets; null if the path had none then.
    pub cwnd_packets: Option<f64>,
}

/// What a competing flow did. Everything counts from the end of the warm-up to the end of the run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowMetrics {
    /// The flow's name.
    pub name: String,
    /// What kind of traffic.
    pub kind: &'static str,
    /// Payload delivered in order, in bits per second; of datagrams, what arrived, with their headers.
    pub goodput_bps: f64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Data packets delivered.
    pub packets_delivered: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
    /// Packets that found a queue full; null if the engine cannot tell, and counts them as lost.
    pub packets_dropped: Option<u64>,
    /// Sending to arrival, per datagram; null for connections.
    pub delay_ms: Option<SpanSummary>,
    /// When the last byte of a finite flow was delivered, in seconds; null if it was not.
    pub completion_time_s: Option<f64>,
}

/// What an active queue did: one direction of a link whose discipline is not drop-tail. Everything counts from the end of the warm-up to the
/// end of the run, packets of the connection and of all flows, data and acknowledgements alike.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QueueMetrics {
    /// The name of the link, or of the path whose wire it is.
    pub name: String,
    /// Which direction.
    pub direction: &'static str,
    /// The discipline.
    pub discipline: &'static str,
    /// Packets that left the queue to be transmitted.
    pub packets_sent: u64,
    /// Packets marked.
    pub packets_marked: u64,
    /// Packets that the discipline dropped because of their delay.
    pub packets_dropped: u64,
    /// Packets that were dropped because the queue was full.
    pub packets_over_limit: u64,
    /// From arrival in the queue to the start of transmission, of the packets sent.
    pub sojourn_ms: Option<SpanSummary>,
}

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult {
    /// Which engine made it.
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
    /// One row per transmission, if asked for.
    pub packets: Option<PacketFrame>,
    /// One row per request, if the workload has requests.
    pub requests: Option<RequestFrame>,
    /// One row per path and sampling moment, if asked for.
    pub path_series: Option<PathSeries>,
    /// One row per sampling moment, if asked for.
    pub connection_series: Option<ConnectionSeries>,
    /// One row per decision, if asked for.
    pub decisions: Option<DecisionFrame>,
    /// One row per decision and path, if decisions were asked for.
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
    /// The run's JSON. `scheduler` is the name under which it is shown.
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

/// Which engine made a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// The simulator.
    #[default]
    Simulator,
    /// The Linux kernel's own MPTCP and TCP.
    Linux,
    /// The transport of real paths in virtual time: QUIC connections over the simulator's links (`plait-quic`).
    Quic,
    /// The transport of real paths on real paths, as the sender alone saw it (`plait-quic`).
    Sockets,
}

impl Engine {
    /// As the command and JSON name it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Simulator => "sim",
            Self::Linux => "linux",
            Self::Quic => "quic",
            Self::Sockets => "sockets",
        }
    }
}

/// What an engine knows at the end of a run and its [`Recorder`] does not. Counts begin at the end of the warm-up.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ending {
    /// Which engine it was.
    pub engine: Engine,
    /// Why a connection of MPTCP went on as one of TCP, over its first path alone, if it did. The simulator's do in profile "linux".
    pub fallback: Option<String>,
    /// What is to be told of the kernel that made the run: its release, its build, its counters.
    pub kernel: Option<serde_json::Value>,
    /// When the run ended.
    pub end: Time,
    /// Payload bytes that the application wrote since the start; without meaning for endless workloads.
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
    /// One for each of the scenario's paths.
    pub paths: Vec<PathEnding>,
    /// One for each of the scenario's flows.
    pub flows: Vec<FlowEnding>,
    /// One for each direction of a link with an active queue, in the order of [`Scenario::directions`].
    pub queues: Vec<QueueMetrics>,
    /// The table, if it was asked for.
    pub path_series: Option<PathSeries>,
    /// The table, if it was asked for.
    pub connection_series: Option<ConnectionSeries>,
}

/// What an engine knows of one path at the end.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PathEnding {
    /// Data packets lost on the way.
    pub packets_lost: u64,
    /// Data packets that found the queue full, if the engine can tell.
    pub packets_dropped: Option<u64>,
    /// Smoothed round-trip time, once it was measured.
    pub srtt: Option<Duration>,
    /// See [`PathMetrics::forward_delay_ms`]; in nanoseconds.
    pub forward_delay: Option<i64>,
    /// Likewise of the acknowledgements.
    pub backward_delay: Option<i64>,
    /// Congestion window in packets.
    pub cwnd_packets: Option<f64>,
}

/// What a competing flow did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowEnding {
    /// Data packets sent.
    pub packets_sent: u64,
    /// Of these, retransmissions.
    pub retransmissions: u64,
    /// Data packets delivered.
    pub packets_delivered: u64,
    /// Bytes delivered: payload of connections, all of datagrams.
    pub delivered_bytes: u64,
    /// Packets lost on the way.
    pub packets_lost: u64,
    /// Packets that found a queue full, if the engine can tell.
    pub packets_dropped: Option<u64>,
    /// Sending to arrival, of datagrams.
    pub delay: Option<SpanSummary>,
    /// When the last byte of a finite flow was delivered, if it was.
    pub completed: Option<Time>,
}

impl FlowEnding {
    /// What a recorder says of a flow that is a connection, with so much to send if it is finite. Lost packets are the network's
    /// knowledge.
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
    /// The result of a run of `scenario`. Every metric of every engine is computed here.
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

/// What the paths could carry at most while metrics were taken, in payload bits per second.
fn capacities(scenario: &Scenario, end: Time) -> Capacities {
    let packet = f64::from(scenario.transport.packet);
    let payload = packet - f64::from(scenario.transport.overhead().of_data());
    let start = (Time::ZERO + scenario.warmup).min(end);
    Capacities::new(scenario, start, end, |rate| rate * payload / packet)
}

/// Kaspar's aggregation benefit of a goodput over paths with these capacities: (g − C_max)/(ΣC_i − C_max) if
/// g ≥ C_max, else (g − C_max)/C_max.
pub fn aggregation_benefit(goodput: f64, capacities: &[f64]) -> f64 {
    benefit(goodput, &Capacities { paths: capacities.to_vec(), total: capacities.iter().sum() })
}

/// The same where paths share links: ΣC_i is what they carry together.
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
