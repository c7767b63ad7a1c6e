//! A window that limits waiting data grows, as long as there are no losses.

use super::account::{round_trip, traced};
use plait_sched::{Duration, Time};
use plait_sim::application::{Bulk, ConstantRate, File};
use plait_sim::recorder::RecordOptions;
use plait_sim::recorder::frames::PacketFrame;
use plait_sim::result::RunResult;
use plait_sim::scenario::{Direction, Scenario, Workload};
use plait_sim::simulation::{Sighting, Tap};
use plait_transport::congestion::{Algorithm, Family};
use std::collections::BTreeMap;

/// Records one row per transmission, and windows each second.
pub(super) const OPTIONS: RecordOptions = RecordOptions {
    packets: true,
    series: Some(Duration::from_secs(1)),
    decisions: false,
    decisions_from: Time::ZERO,
};

/// The longest time that a window may stay at its minimum while data waits for it without losses.
const LONGEST: Duration = Duration::from_secs(60);

/// Number of packets that must arrive before the window has to grow. In an infinite queue that others
/// overload, a round trip can take minutes.
const ARRIVALS: usize = 20;

/// One or two packets, by protocol, with a margin: windows are recorded in packets of full size.
const LEAST: f64 = 2.01;

/// The times at which marked packets of the sender arrived, in nanoseconds.
#[derive(Default)]
pub(super) struct Marks(Vec<i64>);

impl Tap for Marks {
    fn arrived(&mut self, seen: &Sighting<'_>) {
        if seen.id.direction == Direction::Forward && seen.packet.ecn().is_some_and(|ecn| ecn.congested) {
            self.0.push(seen.time.as_nanos() as i64);
        }
    }
}

/// Bytes that the application has written by `at`; `None` if that is not known.
fn written(scenario: &Scenario, at: Time) -> Option<u64> {
    let since = |start: Duration| at.since(Time::ZERO + start);
    match scenario.workload {
        Workload::Bulk(Bulk { start }) => Some(if since(start).is_zero() { 0 } else { u64::MAX }),
        Workload::File(File { size, start, .. }) => Some(if since(start).is_zero() { 0 } else { size }),
        Workload::ConstantRate(ConstantRate { rate, block, start, stop, .. }) => {
            let end = stop.map_or(at, |stop| (Time::ZERO + stop).min(at));
            let nanos = end.since(Time::ZERO + start).as_nanos();
            let bytes = u128::from(nanos) * u128::from(rate) / 8_000_000_000;
            Some(bytes as u64 / block * block)
        }
        Workload::WriteTrace(ref trace) => Some(traced(trace, at).iter().map(|(_, write)| write.bytes).sum()),
        Workload::OnOff(_) | Workload::RequestResponse(_) | Workload::Own(_) => None,
    }
}

/// Fails if a window in use stays at its minimum for too long without a retransmission or a mark:
/// both halve a window. Data must wait in the send buffer, and the receiver must have room for it.
pub(super) fn check(scenario: &Scenario, result: &RunResult, marks: &Marks) -> Result<(), String> {
    let (Some(paths), Some(connection), Some(packets)) =
        (&result.path_series, &result.connection_series, &result.packets)
    else {
        return Err("no series".to_owned());
    };
    // A penalty may keep a window at one packet, as long as the scheduler repeats it.
    if scenario.scheduler.name().contains("+rp") {
        return Ok(());
    }
    // With Max.Burst = 1, each SACK cuts the window to the data in flight plus one packet (RFC 9260
    // section 6.1, rule D). One packet in flight then gets at most one more, and may still fill a
    // short link.
    if scenario.transport.max_burst == Some(1) {
        return Ok(());
    }
    // A coupled controller leaves a path at its minimum, if another one is much better: OLIA's window
    // grows by (w/rtt²)/(Σ w/rtt)² per acknowledgement there, in 100 s by thousandths of a packet.
    let control = scenario.transport.congestion_control.algorithm(Family::Tcp);
    if scenario.paths.len() > 1 && control.is_some_and(Algorithm::is_coupled) {
        return Ok(());
    }
    let packet = u64::from(scenario.transport.packet);
    // Smaller send buffers limit the sender, and not the window.
    let least_buffer = 4 * packet * scenario.paths.len() as u64;
    if scenario.transport.send_buffer.is_some_and(|bytes| bytes < least_buffer) {
        return Ok(());
    }
    let repeated = repetitions(packets);
    let within = |events: &[i64], time: i64| {
        let first = events.partition_point(|&at| at <= time - 1_000_000_000);
        events.get(first).is_some_and(|&at| at <= time)
    };
    let sent = sent_bytes(packets);
    let sent_by = |time: i64| match sent.partition_point(|&(at, _)| at <= time) {
        0 => 0,
        count => sent[count - 1].1,
    };
    let mut in_flight: BTreeMap<i64, u64> = BTreeMap::new();
    for (&time, &count) in paths.time.iter().zip(&paths.in_flight) {
        *in_flight.entry(time).or_default() += u64::from(count);
    }
    // The send buffer keeps data in flight and data behind a gap. A full one limits the sender.
    let has_room = |row: usize, time: i64| {
        let held = in_flight.get(&time).copied().unwrap_or(0) * packet + connection.buffer_bytes[row];
        scenario.transport.send_buffer.is_none_or(|bytes| held + packet <= bytes)
    };
    let moments = connection.time.iter().enumerate();
    let waits: Vec<bool> = moments
        .map(|(row, &time)| {
            let at = Time::from_nanos(time.unsigned_abs());
            let backlog = written(scenario, at).map(|bytes| bytes.saturating_sub(sent_by(time)));
            backlog.is_some_and(|bytes| bytes > 64 * packet)
                && connection.window_left[row] > 2
                && has_room(row, time)
        })
        .collect();
    for path in 0..scenario.paths.len() {
        let most = LONGEST.max(round_trip(scenario, path) * 20);
        let mut since: Option<i64> = None;
        let rows = (0..paths.time.len()).filter(|&row| usize::from(paths.path[row]) == path);
        for row in rows {
            let time = paths.time[row];
            let sample = connection.time.binary_search(&time).ok();
            let stuck = paths.cwnd[row] <= LEAST
                && paths.in_flight[row] > 0
                && sample.is_some_and(|sample| waits[sample])
                && !within(&repeated, time)
                && !within(&marks.0, time);
            since = if stuck { since.or(Some(time)) } else { None };
            let lasts = |since: &i64| (time - since) as u64 > most.as_nanos();
            if since.filter(lasts).is_some_and(|since| arrivals(packets, path, since, time) >= ARRIVALS) {
                return Err(format!(
                    "the window of path {path} is at its minimum since {since:?} ns, at {time} ns"
                ));
            }
        }
    }
    Ok(())
}

/// The number of packets that a path carried wholly within this time.
fn arrivals(packets: &PacketFrame, path: usize, since: i64, until: i64) -> usize {
    let within = |&row: &usize| packets.sent[row] >= since && (since..=until).contains(&packets.arrived[row]);
    (0..packets.len()).filter(|row| usize::from(packets.path[*row]) == path).filter(within).count()
}

/// The times of all first transmissions, with the bytes sent by then.
fn sent_bytes(packets: &PacketFrame) -> Vec<(i64, u64)> {
    let first = (0..packets.len()).filter(|&row| !packets.retransmission[row]);
    let mut bytes = 0;
    first
        .map(|row| {
            bytes += u64::from(packets.bytes[row]);
            (packets.sent[row], bytes)
        })
        .collect()
}

/// The times of all retransmissions.
fn repetitions(packets: &PacketFrame) -> Vec<i64> {
    (0..packets.len()).filter(|&row| packets.retransmission[row]).map(|row| packets.sent[row]).collect()
}
