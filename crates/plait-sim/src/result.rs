//! What a run gives: metrics in the shape of its JSON, and the tables that were asked for.

use crate::capacity::Capacities;
use crate::recorder::decisions::DecisionLog;
use crate::recorder::frames::{ConnectionSeries, DecisionFrame, DecisionPaths, PacketFrame, PathSeries};
use crate::recorder::statistics::{LevelSummary, SpanSummary};
use crate::scenario::Scenario;
use crate::simulation::{FlowInRun, Simulation};
use plait_sched::{Scheduler, Time};
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
    /// Packets sent again because they were considered lost.
    pub retransmissions: u64,
    /// Retransmissions and copies that arrived although the packet had arrived before.
    pub spurious_retransmissions: u64,
    /// Copies sent because the scheduler asked.
    pub reinjections: u64,
    /// Of the retransmissions, probes of a tail that nobody acknowledged (MPTCP and TCP).
    pub tail_probes: u64,
    /// Retransmission timers that ran out.
    pub timeouts: u64,
    /// Decisions of the scheduler, without its answers to wait.
    pub decisions: u64,
    /// Answers to wait.
    pub waits: u64,
    /// Kaspar's measure: −1…1; 0 = the best single path, 1 = all capacity used.
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
    /// Simulated events.
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
    /// Data packets that found the queue full.
    pub packets_dropped: u64,
    /// Smoothed round-trip time at the end; null if it was never measured.
    pub srtt_ms: Option<f64>,
    /// One-way delay of the data at the end, as timestamps tell it: smoothed, the offset between the clocks contained; null
    /// if it was never measured (CMT-SCTP does not).
    pub forward_delay_ms: Option<f64>,
    /// One-way delay of the acknowledgements likewise.
    pub backward_delay_ms: Option<f64>,
    /// Congestion window at the end, in packets.
    pub cwnd_packets: f64,
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
    /// Packets that found a queue full.
    pub packets_dropped: u64,
    /// Sending to arrival, per datagram; null for connections.
    pub delay_ms: Option<SpanSummary>,
    /// When the last byte of a finite flow was delivered, in seconds; null if it was not.
    pub completion_time_s: Option<f64>,
}

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult {
    /// Metrics of the connection.
    pub metrics: Metrics,
    /// Metrics of the paths.
    pub paths: Vec<PathMetrics>,
    /// Metrics of the competing flows.
    pub flows: Vec<FlowMetrics>,
    /// One row per transmission, if asked for.
    pub packets: Option<PacketFrame>,
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
    seed: u64,
    scheduler: &'a str,
    metrics: &'a Metrics,
    paths: &'a [PathMetrics],
    flows: &'a [FlowMetrics],
}

impl RunResult {
    /// The run's JSON. `scheduler` is the name under which it is shown.
    pub fn to_json(&self, scenario: &Scenario, scheduler: &str) -> String {
        let document = Document {
            scenario: &scenario.name,
            engine: "sim",
            seed: scenario.seed,
            scheduler,
            metrics: &self.metrics,
            paths: &self.paths,
            flows: &self.flows,
        };
        #[expect(clippy::expect_used, reason = "plain structs with string keys always serialize")]
        serde_json::to_string(&document).expect("serializable")
    }
}

pub(crate) fn summarize<S: Scheduler>(simulation: Simulation<'_, S>) -> RunResult {
    let scenario = simulation.scenario;
    let start = scenario.warmup.as_nanos();
    let end = simulation.network.now.as_nanos();
    let recorder = &simulation.main.observer;
    let seconds = end.saturating_sub(start) as f64 / 1e9;
    let per_second = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    let goodput_bps = per_second(recorder.delivered_bytes - recorder.delivered_in_warmup);
    let counters = simulation.main.sender.counters();
    let baseline = &simulation.baseline;
    let metrics = Metrics {
        goodput_bps,
        app_delay_ms: recorder.app_delay.summary(),
        blocking_ms: recorder.blocking.summary(),
        receive_buffer_packets: recorder.buffer_packets.summary(start, end),
        receive_buffer_bytes: recorder.buffer_bytes.summary(start, end),
        block_delay_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.delay.summary()),
        delay_variance_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.variance.summary()),
        retransmissions: counters.retransmissions - baseline.sender.retransmissions,
        spurious_retransmissions: simulation.main.sender.spurious_retransmissions() - baseline.spurious,
        reinjections: counters.reinjections - baseline.sender.reinjections,
        tail_probes: counters.tail_probes - baseline.sender.tail_probes,
        timeouts: counters.timeouts - baseline.sender.timeouts,
        decisions: counters.decisions - baseline.sender.decisions,
        waits: counters.waits - baseline.sender.waits,
        aggregation_benefit: benefit(goodput_bps, &capacities(scenario, simulation.network.now)),
        completion_time_s: simulation.is_complete().then(|| recorder.last_delivery.as_secs_f64()),
        packets_delivered: recorder.delivered_packets - recorder.delivered_packets_in_warmup,
        delivered_bytes: recorder.delivered_bytes,
        undelivered_bytes: simulation.undelivered_bytes(),
        measured_s: seconds,
        events: simulation.events,
    };
    let counted = scenario.transport.counted_packet();
    let paths = scenario.paths.iter().zip(simulation.main.sender.paths()).enumerate().map(
        |(index, (path, facts))| {
            let (packets_lost, packets_dropped) = simulation.forward_counters(index);
            let record = &recorder.paths[index];
            let delays = simulation.main.sender.delays(facts.id);
            PathMetrics {
                name: path.name.clone(),
                throughput_bps: per_second(record.arrived_bytes),
                packets_sent: record.packets_sent,
                retransmissions: record.retransmissions,
                packets_lost,
                packets_dropped,
                srtt_ms: facts.has_rtt().then(|| facts.srtt.as_millis_f64()),
                cwnd_packets: simulation.main.sender.window(facts.id).0 as f64 / counted,
                forward_delay_ms: delays.map(|delays| delays.forward as f64 / 1e6),
                backward_delay_ms: delays.map(|delays| delays.backward as f64 / 1e6),
            }
        },
    );
    let paths = paths.collect();
    let flows = flows(&simulation, per_second);
    let (decisions, decision_paths) = simulation.main.observer.decisions.map(DecisionLog::finish).unzip();
    let sampled = !simulation.connection_series.time.is_empty();
    RunResult {
        metrics,
        paths,
        flows,
        path_series: sampled.then_some(simulation.path_series),
        connection_series: sampled.then_some(simulation.connection_series),
        packets: simulation.main.observer.packets,
        decisions,
        decision_paths,
    }
}

fn flows<S: Scheduler>(simulation: &Simulation<'_, S>, per_second: impl Fn(u64) -> f64) -> Vec<FlowMetrics> {
    let flows = simulation.scenario.flows.iter().zip(&simulation.flows).zip(&simulation.baseline.flows);
    let metrics = flows.map(|((flow, running), before)| {
        let totals = running.totals(&simulation.network);
        FlowMetrics {
            name: flow.name.clone(),
            kind: flow.kind.word(),
            goodput_bps: per_second(totals.delivered_bytes - before.delivered_bytes),
            packets_sent: totals.sent - before.sent,
            retransmissions: totals.retransmissions - before.retransmissions,
            packets_delivered: totals.delivered_packets - before.delivered_packets,
            packets_lost: totals.lost - before.lost,
            packets_dropped: totals.dropped - before.dropped,
            delay_ms: match running {
                FlowInRun::Datagrams(datagrams) => datagrams.delay.summary(),
                FlowInRun::Connection(_) => None,
            },
            completion_time_s: running.completed().map(Time::as_secs_f64),
        }
    });
    metrics.collect()
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
