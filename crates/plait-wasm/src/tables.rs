//! The recorded tables in JSON: an array per column, with the names and values of Python's frames.

use plait_sim::recorder::frames::{ConnectionSeries, NEVER, PacketFrame, PathSeries};
use plait_sim::result::RunResult;
use plait_sim::scenario::Scenario;
use serde_json::{Value, json};

/// Number of equal parts into which the quantiles divide the delays.
const PARTS: usize = 200;

/// The packets of the window, both series, and the distribution of delays.
pub(crate) fn of(result: &RunResult, scenario: &Scenario, window: [u64; 2]) -> Value {
    let packets = result.packets.as_ref();
    json!({
        "packets": packets.map(|frame| shown(frame, window)),
        "path_series": result.path_series.as_ref().map(path_series),
        "connection_series": result.connection_series.as_ref().map(connection_series),
        "app_delay_quantiles_ns": packets.map(|frame| quantiles(frame, scenario.warmup.as_nanos())),
    })
}

/// A column of times, with nulls for events that did not happen.
fn moments(values: &[i64]) -> Vec<Option<i64>> {
    values.iter().map(|&at| (at != NEVER).then_some(at)).collect()
}

/// A column of amounts, with nulls for unset values.
fn unless_unset(values: &[u32]) -> Vec<Option<u32>> {
    values.iter().map(|&amount| (amount != u32::MAX).then_some(amount)).collect()
}

/// The transmissions that began within the window; they are in the order of sending.
pub(crate) fn shown(frame: &PacketFrame, [from, to]: [u64; 2]) -> Value {
    let place = |moment: u64| frame.sent.partition_point(|&at| at.unsigned_abs() < moment);
    let rows = place(from)..place(to).max(place(from));
    json!({
        "transmission": rows.clone().collect::<Vec<_>>(),
        "sequence": &frame.sequence[rows.clone()],
        "path": &frame.path[rows.clone()],
        "bytes": &frame.bytes[rows.clone()],
        "sent_ns": &frame.sent[rows.clone()],
        "arrived_ns": moments(&frame.arrived[rows.clone()]),
        "duplicate_ns": moments(&frame.duplicate[rows.clone()]),
        "delivered_ns": moments(&frame.delivered[rows.clone()]),
        "retransmission": &frame.retransmission[rows.clone()],
        "reinjection": &frame.reinjection[rows],
    })
}

fn path_series(series: &PathSeries) -> Value {
    let threshold = series.ssthresh.iter().map(|&packets| packets.is_finite().then_some(packets));
    json!({
        "time_ns": series.time,
        "path": series.path,
        "cwnd_packets": series.cwnd,
        "ssthresh_packets": threshold.collect::<Vec<_>>(),
        "srtt_ns": moments(&series.srtt),
        "in_flight_packets": series.in_flight,
        "queued_packets": series.queued,
        "link_queue_packets": unless_unset(&series.link_queue),
        "arrived_bytes": series.arrived_bytes,
    })
}

fn connection_series(series: &ConnectionSeries) -> Value {
    json!({
        "time_ns": series.time,
        "buffer_packets": series.buffer_packets,
        "buffer_bytes": series.buffer_bytes,
        "delivered_bytes": series.delivered_bytes,
        "window_left_packets": series.window_left,
    })
}

/// Quantiles of the delays from first transmission to in-order delivery, of the packets that count
/// for `app_delay_ms`: those delivered after the warm-up. Empty without such packets.
fn quantiles(frame: &PacketFrame, warmup: u64) -> Vec<i64> {
    // A stream numbers its segments from 0 without gaps, so this has an entry per segment.
    let mut first_sent: Vec<i64> = Vec::new();
    for (&sequence, &sent) in frame.sequence.iter().zip(&frame.sent) {
        let place = sequence as usize;
        if place >= first_sent.len() {
            first_sent.resize(place + 1, NEVER);
        }
        if first_sent[place] == NEVER {
            first_sent[place] = sent;
        }
    }
    let rows = frame.sequence.iter().zip(&frame.delivered);
    let counted = rows.filter(|&(_, &at)| at != NEVER && at.unsigned_abs() >= warmup);
    let mut delays: Vec<i64> = counted.map(|(&sequence, &at)| at - first_sent[sequence as usize]).collect();
    delays.sort_unstable();
    if delays.is_empty() {
        return Vec::new();
    }
    let place = |part: usize| (part * delays.len()).div_ceil(PARTS).saturating_sub(1);
    (0..=PARTS).map(|part| delays[place(part)]).collect()
}
