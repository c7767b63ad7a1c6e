//! An engine's data at the end of a run that its [`Recorder`] does not have.

use super::metrics::{QueueMetrics, SenderCounters};
use crate::recorder::frames::{ConnectionSeries, PathSeries};
use crate::recorder::{PathRecord, Recorder};
use crate::statistics::SpanSummary;
use plait_sched::{Duration, Time};

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
    /// FreeBSD's SCTP stack in virtual time, over the simulator's links (`plait-usrsctp`).
    Usrsctp,
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
            Self::Usrsctp => "usrsctp",
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
    /// See [`Metrics::spurious_retransmissions`](super::Metrics::spurious_retransmissions).
    pub spurious_retransmissions: u64,
    /// See [`Metrics::counters`](super::Metrics::counters).
    pub counters: SenderCounters,
    /// See [`Metrics::events`](super::Metrics::events).
    pub events: u64,
    /// One entry per path of the scenario.
    pub paths: Vec<PathEnding>,
    /// One entry per flow of the scenario.
    pub flows: Vec<FlowEnding>,
    /// One entry per direction of a link with an active queue, in the order of
    /// [`Scenario::directions`](crate::scenario::Scenario::directions).
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
    /// See [`PathMetrics::forward_delay_ms`](super::PathMetrics::forward_delay_ms); in nanoseconds.
    pub forward_delay: Option<i64>,
    /// See [`PathMetrics::backward_delay_ms`](super::PathMetrics::backward_delay_ms); in nanoseconds.
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
