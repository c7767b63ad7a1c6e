//! Active queues: sojourn times from captures made at the router, and the queues' counters.
//!
//! A router's capture shows each packet twice. First the packet arrives and is queued. Then the
//! packet leaves the queueing discipline, and its transmission begins. In between, its time to live
//! has fallen by one, and it may have been marked. The packets of a flow keep their order. A packet
//! was dropped if it does not leave although a later packet of its flow does.

use crate::capture::CaptureReader;
use crate::error::ObservationError;
use crate::folder::{OBSERVED, ObservedQueue, grown};
use plait_sched::Duration;
use plait_sim::result::QueueMetrics;
use plait_sim::scenario::{Direction, Scenario};
use plait_sim::statistics::Spans;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

/// Key of a flow: protocol, addresses, ports.
type FlowKey = [u8; 13];

/// A packet as it was queued.
struct Queued {
    since: i64,
    lifetime: u8,
    /// The headers without the fields that a router changes.
    identity: Vec<u8>,
}

/// Returns the metrics of every active queue of the scenario, in the order of its directions.
pub(crate) fn metrics(
    scenario: &Scenario,
    folder: &Path,
    observed: &[ObservedQueue],
    (start_ns, end_ns): (i64, i64),
) -> Result<Vec<QueueMetrics>, ObservationError> {
    let mut made = Vec::new();
    for (name, direction, config) in scenario.directions() {
        let Some(settings) = &config.discipline else { continue };
        let of = |queue: &&ObservedQueue| queue.name == name && queue.direction == direction.name();
        let Some(queue) = observed.iter().find(of) else {
            let reason = format!("the queue of {name:?} {} is missing", direction.name());
            return Err(ObservationError::whole(OBSERVED, reason));
        };
        let from = start_ns + scenario.warmup.as_nanos() as i64;
        let spans = sojourns(folder, queue, direction, from..end_ns)?;
        let (before, after) = (queue.warmup, queue.end);
        let over_limit = grown(before.over_limit, after.over_limit)?;
        made.push(QueueMetrics {
            name: name.to_owned(),
            direction: direction.name(),
            discipline: settings.info().name,
            packets_sent: spans.count(),
            packets_marked: grown(before.marked, after.marked)?,
            packets_dropped: grown(before.dropped, after.dropped)?.saturating_sub(over_limit),
            packets_over_limit: over_limit,
            sojourn_ms: spans.summary(),
        });
    }
    Ok(made)
}

/// Returns the sojourn times of the packets that left within `span`.
fn sojourns(
    folder: &Path,
    queue: &ObservedQueue,
    direction: Direction,
    span: std::ops::Range<i64>,
) -> Result<Spans, ObservationError> {
    let mut spans = Spans::new();
    let mut flows: BTreeMap<FlowKey, VecDeque<Queued>> = BTreeMap::new();
    let mut capture = CaptureReader::open(folder, &queue.capture)?;
    let receiver = queue.receiver.octets();
    while let Some(record) = capture.next()? {
        let Some((flow, lifetime, identity)) = identified(record.ip) else { continue };
        let forward = record.ip[16..20] == receiver;
        if forward != (direction == Direction::Forward) {
            continue;
        }
        let waiting = flows.entry(flow).or_default();
        let left = waiting
            .iter()
            .position(|queued| queued.lifetime == lifetime.wrapping_add(1) && queued.identity == identity);
        match left {
            Some(index) => {
                let since = waiting.drain(..=index).next_back().map_or(record.time, |queued| queued.since);
                if span.contains(&record.time) {
                    spans.add(Duration::from_nanos((record.time - since).unsigned_abs()));
                }
            }
            None => waiting.push_back(Queued { since: record.time, lifetime, identity }),
        }
    }
    Ok(spans)
}

/// Returns the flow of a packet, its time to live, and its headers without the fields that a router
/// changes: time to live, checksum, ECN marks.
fn identified(ip: &[u8]) -> Option<(FlowKey, u8, Vec<u8>)> {
    let ports = usize::from(*ip.first()? & 15) * 4;
    if ports < 20 || ip.len() < ports + 8 {
        return None;
    }
    let mut flow = FlowKey::default();
    flow[0] = ip[9];
    flow[1..9].copy_from_slice(&ip[12..20]);
    flow[9..13].copy_from_slice(&ip[ports..ports + 4]);
    let mut identity = ip.to_vec();
    (identity[1], identity[8], identity[10], identity[11]) = (0, 0, 0, 0);
    Some((flow, ip[8], identity))
}
