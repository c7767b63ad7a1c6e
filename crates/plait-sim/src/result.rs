//! What a run gives: metrics in the shape of its JSON, and the tables that were asked for.

use crate::link::Capacity;
use crate::recorder::decisions::DecisionLog;
use crate::recorder::frames::{ConnectionSeries, DecisionFrame, DecisionPaths, PacketFrame, PathSeries};
use crate::recorder::statistics::{LevelSummary, SpanSummary};
use crate::scenario::{Scenario, Workload};
use crate::simulation::Simulation;
use plait_sched::Scheduler;
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
    /// Write of a block to the delivery of its last byte (constant-rate workloads).
    pub block_delay_ms: Option<SpanSummary>,
    /// Difference of the delays of consecutive blocks (constant-rate workloads).
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

/// A finished run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunResult {
    /// Metrics of the connection.
    pub metrics: Metrics,
    /// Metrics of the paths.
    pub paths: Vec<PathMetrics>,
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
        };
        #[expect(clippy::expect_used, reason = "plain structs with string keys always serialize")]
        serde_json::to_string(&document).expect("serializable")
    }
}

pub(crate) fn summarize<S: Scheduler>(simulation: Simulation<'_, S>) -> RunResult {
    let scenario = simulation.scenario;
    let start = scenario.warmup.as_nanos();
    let end = simulation.now.as_nanos();
    let recorder = &simulation.recorder;
    let seconds = end.saturating_sub(start) as f64 / 1e9;
    let per_second = |bytes: u64| if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    let goodput_bps = per_second(recorder.delivered_bytes - recorder.delivered_in_warmup);
    let counters = simulation.sender.counters();
    let baseline = &simulation.baseline;
    let complete = matches!(scenario.workload, Workload::File { size } if recorder.delivered_bytes == size);
    let metrics = Metrics {
        goodput_bps,
        app_delay_ms: recorder.app_delay.summary(),
        blocking_ms: recorder.blocking.summary(),
        receive_buffer_packets: recorder.buffer_packets.summary(start, end),
        receive_buffer_bytes: recorder.buffer_bytes.summary(start, end),
        block_delay_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.delay.summary()),
        delay_variance_ms: recorder.blocks.as_ref().and_then(|blocks| blocks.variance.summary()),
        retransmissions: counters.retransmissions - baseline.sender.retransmissions,
        spurious_retransmissions: simulation.sender.spurious_retransmissions() - baseline.spurious,
        reinjections: counters.reinjections - baseline.sender.reinjections,
        tail_probes: counters.tail_probes - baseline.sender.tail_probes,
        timeouts: counters.timeouts - baseline.sender.timeouts,
        decisions: counters.decisions - baseline.sender.decisions,
        waits: counters.waits - baseline.sender.waits,
        aggregation_benefit: aggregation_benefit(goodput_bps, &capacities(scenario)),
        completion_time_s: complete.then(|| recorder.last_delivery.as_secs_f64()),
        packets_delivered: recorder.delivered_packets - recorder.delivered_packets_in_warmup,
        delivered_bytes: recorder.delivered_bytes,
        undelivered_bytes: simulation.undelivered_bytes(),
        measured_s: seconds,
        events: simulation.events,
    };
    let counted = scenario.transport.counted_packet();
    let paths =
        scenario.paths.iter().zip(simulation.sender.paths()).enumerate().map(|(index, (path, facts))| {
            let (packets_lost, packets_dropped) = simulation.forward_counters(index);
            let record = &recorder.paths[index];
            let delays = simulation.sender.delays(facts.id);
            PathMetrics {
                name: path.name.clone(),
                throughput_bps: per_second(record.arrived_bytes),
                packets_sent: record.packets_sent,
                retransmissions: record.retransmissions,
                packets_lost,
                packets_dropped,
                srtt_ms: facts.has_rtt().then(|| facts.srtt.as_millis_f64()),
                forward_delay_ms: delays.map(|delays| delays.forward as f64 / 1e6),
                backward_delay_ms: delays.map(|delays| delays.backward as f64 / 1e6),
                cwnd_packets: simulation.sender.window(facts.id).0 as f64 / counted,
            }
        });
    let paths = paths.collect();
    let (decisions, decision_paths) = simulation.recorder.decisions.map(DecisionLog::finish).unzip();
    let sampled = !simulation.connection_series.time.is_empty();
    RunResult {
        metrics,
        paths,
        path_series: sampled.then_some(simulation.path_series),
        connection_series: sampled.then_some(simulation.connection_series),
        packets: simulation.recorder.packets,
        decisions,
        decision_paths,
    }
}

/// What each path could carry at most, in payload bits per second.
fn capacities(scenario: &Scenario) -> Vec<f64> {
    let packet = f64::from(scenario.transport.packet);
    let payload = packet - f64::from(scenario.transport.protocol.overhead().of_data());
    let rate = |capacity: &Capacity| capacity.mean_rate() as f64;
    scenario.paths.iter().map(|path| rate(&path.forward.capacity) * payload / packet).collect()
}

/// Kaspar's aggregation benefit of a goodput over paths with these capacities: (g − C_max)/(ΣC_i − C_max) if
/// g ≥ C_max, else (g − C_max)/C_max.
pub fn aggregation_benefit(goodput: f64, capacities: &[f64]) -> f64 {
    let best = capacities.iter().copied().fold(0.0, f64::max);
    let others = capacities.iter().sum::<f64>() - best;
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
