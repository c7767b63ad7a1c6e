//! `observed.json`: facts that only the guest knows and that no capture shows.

use crate::error::ObservationError;
use plait_sim::scenario::Scenario;
use serde::Deserialize;
use std::net::Ipv4Addr;
use std::path::Path;

/// File names.
pub(crate) const OBSERVED: &str = "observed.json";
pub(crate) const SENDER: &str = "sender.pcap";
pub(crate) const RECEIVER: &str = "receiver.pcap";
pub(crate) const WRITES: &str = "writes.bin";
pub(crate) const READS: &str = "reads.bin";
pub(crate) const REQUESTS: &str = "requests.bin";
pub(crate) const DECISIONS: &str = "decisions.bin";
pub(crate) const SERIES: &str = "series.bin";
/// Data that the receiver dropped after it had arrived. Real hosts write no such file.
pub(crate) const DROPS: &str = "drops.bin";

/// The version of the folder's formats.
const VERSION: u64 = 1;

/// The document.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Observed {
    version: u64,
    /// The clock at the scenario's time 0, and at the end of the run.
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// TCP port of the end that accepts the connection: the receiver, or the sender if it answers
    /// requests.
    pub(crate) port: u16,
    pub(crate) paths: Vec<ObservedPath>,
    #[serde(default)]
    pub(crate) scheduler: Option<Readings<SchedulerCounts>>,
    pub(crate) written_bytes: u64,
    /// Reason why the connection fell back from MPTCP, if it did.
    #[serde(default)]
    pub(crate) fallback: Option<String>,
    /// Copied to the result unchanged.
    #[serde(default)]
    pub(crate) kernel: Option<serde_json::Value>,
    #[serde(default)]
    pub(crate) flows: Vec<ObservedFlow>,
    #[serde(default)]
    pub(crate) queues: Vec<ObservedQueue>,
}

/// A queue that is not drop-tail.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ObservedQueue {
    /// Name of the queue's link, or of the path that owns the link.
    pub(crate) name: String,
    pub(crate) direction: String,
    /// File with the packets that arrived at the queue's router and those that left it.
    pub(crate) capture: String,
    /// Address of all receivers: packets to this address go forward.
    pub(crate) receiver: Ipv4Addr,
    pub(crate) warmup: QueueCounts,
    pub(crate) end: QueueCounts,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct QueueCounts {
    pub(crate) marked: u64,
    /// Packets dropped for any reason.
    pub(crate) dropped: u64,
    pub(crate) over_limit: u64,
}

/// Counters at the end of the warm-up and at the end of the run.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Readings<T> {
    pub(crate) warmup: T,
    pub(crate) end: T,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ObservedPath {
    name: String,
    pub(crate) sender: Ipv4Addr,
    pub(crate) receiver: Ipv4Addr,
    pub(crate) warmup: PathCounts,
    pub(crate) end: PathCounts,
    #[serde(default)]
    pub(crate) srtt_us: Option<f64>,
    #[serde(default)]
    pub(crate) cwnd: Option<f64>,
    #[serde(default)]
    pub(crate) forward_delay_us: Option<f64>,
    #[serde(default)]
    pub(crate) backward_delay_us: Option<f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct PathCounts {
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
    #[serde(default)]
    pub(crate) timeouts: Option<u64>,
    #[serde(default)]
    pub(crate) tail_probes: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct SchedulerCounts {
    pub(crate) decisions: u64,
    pub(crate) waits: u64,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ObservedFlow {
    pub(crate) name: String,
    /// Absent for connections over several paths, which use the paths' addresses.
    #[serde(default)]
    pub(crate) sender: Option<Ipv4Addr>,
    #[serde(default)]
    pub(crate) receiver: Option<Ipv4Addr>,
    pub(crate) port: u16,
}

impl Observed {
    /// Reads the document, and checks that it matches `scenario`.
    pub(crate) fn read(folder: &Path, scenario: &Scenario) -> Result<Self, ObservationError> {
        let text = std::fs::read(folder.join(OBSERVED)).map_err(|error| ObservationError::File {
            file: OBSERVED.to_owned(),
            reason: error.to_string(),
        })?;
        let observed: Self = serde_json::from_slice(&text).map_err(|error| ObservationError::Format {
            file: OBSERVED.to_owned(),
            record: None,
            reason: error.to_string(),
        })?;
        let refused = |reason: String| Err(ObservationError::whole(OBSERVED, reason));
        if observed.version != VERSION {
            return refused(format!("version {} is not known (valid: {VERSION})", observed.version));
        }
        if observed.end_ns < observed.start_ns {
            return refused(format!("end_ns = {} is before start_ns", observed.end_ns));
        }
        let names = |given: &mut dyn Iterator<Item = &str>| given.collect::<Vec<_>>().join(", ");
        let found = names(&mut observed.paths.iter().map(|path| path.name.as_str()));
        let expected = names(&mut scenario.paths.iter().map(|path| path.name.as_str()));
        if found != expected {
            return refused(format!("the paths are {found}; the scenario's are {expected}"));
        }
        let found = names(&mut observed.flows.iter().map(|flow| flow.name.as_str()));
        let expected = names(&mut scenario.flows.iter().map(|flow| flow.name.as_str()));
        if found != expected {
            return refused(format!("the flows are {found:?}; the scenario's are {expected:?}"));
        }
        Ok(observed)
    }
}

/// Returns the difference of two readings of a counter.
pub(crate) fn grown(before: u64, after: u64) -> Result<u64, ObservationError> {
    after.checked_sub(before).ok_or_else(|| {
        ObservationError::whole(
            OBSERVED,
            format!("a counter fell from {before} to {after} after the warm-up"),
        )
    })
}
