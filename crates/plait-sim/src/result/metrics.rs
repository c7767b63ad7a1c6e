//! The metrics of a run, in the shape of its JSON: meaning and computation.

use super::benefit::{benefit, capacities};
use super::ending::{Ending, Engine, FlowEnding, PathEnding};
use crate::recorder::{PathRecord, Recorder};
use crate::scenario::{Flow, PathOptions, Scenario};
use crate::statistics::{LatencySummary, LevelSummary, SpanSummary};
use plait_sched::{Duration, Time};
use plait_transport::Counters;
use serde::Serialize;

/// The time that metrics cover, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    start: u64,
    end: u64,
}

impl Interval {
    /// From the end of the warm-up to the end of the run.
    pub(super) fn of(scenario: &Scenario, ending: &Ending) -> Self {
        Self { start: scenario.warmup.as_nanos(), end: ending.end.as_nanos() }
    }

    fn seconds(self) -> f64 {
        self.end.saturating_sub(self.start) as f64 / 1e9
    }

    /// Returns an amount of data as a rate in bits per second.
    fn rate(self, bytes: u64) -> f64 {
        let seconds = self.seconds();
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
}

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
    /// Delay from the writing of a block to the delivery of its last byte (workloads of blocks, and
    /// traces of writes).
    pub block_delay_ms: Option<SpanSummary>,
    /// Difference of the delays of blocks that were delivered one after the other.
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
    /// The counters that only a sender knows.
    #[serde(flatten)]
    pub counters: SenderCounters,
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

impl Metrics {
    pub(super) fn new(scenario: &Scenario, recorder: &Recorder, ending: &Ending, interval: Interval) -> Self {
        let Interval { start, end } = interval;
        let goodput_bps = interval.rate(recorder.delivered_bytes - recorder.delivered_in_warmup);
        let endless = scenario.workload.is_endless();
        let blocks = recorder.blocks.as_ref();
        let requests = recorder.requests.as_ref();
        let deadlines = recorder.deadlines(ending.end);
        let total = |count: fn(&PathRecord) -> u64| recorder.paths.iter().map(count).sum();
        Self {
            goodput_bps,
            app_delay_ms: recorder.app_delay.summary(),
            blocking_ms: recorder.blocking.summary(),
            receive_buffer_packets: recorder.buffer_packets.summary(start, end),
            receive_buffer_bytes: recorder.buffer_bytes.summary(start, end),
            block_delay_ms: blocks.and_then(|blocks| blocks.delay.summary()),
            delay_variance_ms: blocks.and_then(|blocks| blocks.variance.summary()),
            request_latency_ms: requests.and_then(|requests| requests.latency.latencies()),
            requests_begun: requests.map(|requests| requests.begun),
            requests_completed: requests.map(|requests| requests.completed),
            in_time_share: deadlines.and_then(|deadlines| deadlines.share()),
            messages_in_time: deadlines.map(|deadlines| deadlines.in_time),
            messages_late: deadlines.map(|deadlines| deadlines.late),
            retransmissions: total(|path| path.retransmissions),
            spurious_retransmissions: ending.spurious_retransmissions,
            reinjections: total(|path| path.reinjections),
            counters: ending.counters,
            aggregation_benefit: match ending.engine {
                Engine::Sockets => f64::NAN,
                _ => benefit(goodput_bps, &capacities(scenario, ending.end)),
            },
            completion_time_s: recorder.completed(&scenario.workload).map(Time::as_secs_f64),
            packets_delivered: recorder.delivered_packets - recorder.delivered_packets_in_warmup,
            delivered_bytes: recorder.delivered_bytes,
            undelivered_bytes: (!endless)
                .then(|| ending.written_bytes.saturating_sub(recorder.delivered_bytes)),
            measured_s: interval.seconds(),
            events: ending.events,
        }
    }
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

impl PathMetrics {
    pub(super) fn new(
        path: &PathOptions,
        record: &PathRecord,
        ending: &PathEnding,
        interval: Interval,
    ) -> Self {
        Self {
            name: path.name.clone(),
            throughput_bps: interval.rate(record.arrived_bytes),
            packets_sent: record.packets_sent,
            retransmissions: record.retransmissions,
            packets_lost: ending.packets_lost,
            packets_dropped: ending.packets_dropped,
            srtt_ms: ending.srtt.map(Duration::as_millis_f64),
            forward_delay_ms: ending.forward_delay.map(|delay| delay as f64 / 1e6),
            backward_delay_ms: ending.backward_delay.map(|delay| delay as f64 / 1e6),
            cwnd_packets: ending.cwnd_packets,
        }
    }
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

impl FlowMetrics {
    pub(super) fn new(flow: &Flow, ending: &FlowEnding, interval: Interval) -> Self {
        Self {
            name: flow.name.clone(),
            kind: flow.kind.word(),
            goodput_bps: interval.rate(ending.delivered_bytes),
            packets_sent: ending.packets_sent,
            retransmissions: ending.retransmissions,
            packets_delivered: ending.packets_delivered,
            packets_lost: ending.packets_lost,
            packets_dropped: ending.packets_dropped,
            delay_ms: ending.delay,
            completion_time_s: ending.completed.map(Time::as_secs_f64),
        }
    }
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

macro_rules! counters {
    ($($(#[$doc:meta])* $counter:ident,)+) => {
        /// The counters that only a sender knows, since the end of the warm-up; null if the engine
        /// does not count them. Their list is that of the transport.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
        pub struct SenderCounters {
            $($(#[$doc])* pub $counter: Option<u64>,)+
        }

        impl From<Counters> for SenderCounters {
            fn from(counters: Counters) -> Self {
                Self { $($counter: Some(counters.$counter),)+ }
            }
        }
    };
}

plait_transport::sender_counters!(counters);
