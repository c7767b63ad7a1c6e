//! Invariants of every run.

use super::round_trips;
use super::silence::Silences;
use super::windows::{self, Marks};
use crate::common::scenario;
use plait_sched::{Duration, Time};
use plait_sim::application::{Bulk, ConstantRate, File, OnOff, RequestResponse, TracedWrite, WriteTrace};
use plait_sim::link::{Capacity, LinkConfig, Loss, Outages, QueueLimit};
use plait_sim::recorder::frames::{NEVER, PacketFrame};
use plait_sim::result::{Metrics, RunResult};
use plait_sim::scenario::{Direction, Scenario, Workload};
use plait_sim::simulation::{self, Control, Origin, PacketId, RunError, Sighting, Tap};
use plait_transport::Error;

/// More events than in any of these scenarios: a run with more never ends. Blocks of 24 bytes, each
/// a segment of its own on five paths for 150 s, take 40 million.
const MOST_EVENTS: u64 = 100_000_000;

/// All outages that end have ended by then.
const HEALTHY_FROM: Time = Time::from_nanos(60_000_000_000);

/// The longest pause of data on healthy paths: many times the longest timeout and heartbeat
/// interval.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Facts about packets on the wire, for the checks.
struct Observed {
    silences: Silences,
    marks: Marks,
}

impl Tap for Observed {
    fn sent(&mut self, seen: &Sighting<'_>, origin: Origin<'_>) {
        self.silences.sent(seen, origin);
    }

    fn arrived(&mut self, seen: &Sighting<'_>) {
        self.silences.arrived(seen);
        self.marks.arrived(seen);
    }

    fn gone(&mut self, id: PacketId) {
        self.silences.gone(id);
    }
}

/// Runs the scenario. Returns an error if the run breaks an invariant.
pub(crate) fn check(text: &str) -> Result<(), String> {
    let scenario = scenario(text);
    let mut checks = 0;
    let mut control = |_share: f64| {
        checks += 1;
        if checks * (1 << 14) > MOST_EVENTS { Control::Interrupt } else { Control::Continue }
    };
    let mut observed = Observed { silences: Silences::new(&scenario), marks: Marks::default() };
    let run = simulation::run_tapped(
        &scenario,
        scenario.scheduler.build(),
        &windows::OPTIONS,
        &mut observed,
        &mut control,
    );
    match run {
        Ok(result) => check_result(&scenario, &result, &observed.marks),
        Err(RunError::Connection(Error::PeerUnreachable { at })) => {
            observed.silences.check_given_up(&scenario, at)
        }
        Err(RunError::Flow { error: Error::PeerUnreachable { at }, .. }) => {
            check_flow_given_up(&scenario, at)
        }
        Err(RunError::Interrupted) => Err("it runs for ever".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule()) }
}

fn check_result(scenario: &Scenario, result: &RunResult, marks: &Marks) -> Result<(), String> {
    let packets = result.packets.as_ref().ok_or("no packets were recorded")?;
    check_packets(scenario, result, packets)?;
    check_bytes(scenario, result)?;
    check_spurious(scenario, result)?;
    check_progress(scenario, result, packets)?;
    round_trips::check(scenario, result)?;
    windows::check(scenario, result, marks)
}

/// Each transmission has one fate, and each segment is delivered once, in order, after its arrival.
fn check_packets(scenario: &Scenario, result: &RunResult, packets: &PacketFrame) -> Result<(), String> {
    let mut delivered: Vec<(u64, i64)> = Vec::new();
    let mut sent = vec![0; scenario.paths.len()];
    let mut arrived = vec![0; scenario.paths.len()];
    for row in 0..packets.len() {
        let path = usize::from(packets.path[row]);
        sent[path] += 1;
        let (start, arrival, delivery) = (packets.sent[row], packets.arrived[row], packets.delivered[row]);
        if arrival != NEVER {
            arrived[path] += 1;
            let least = scenario.route(path, Direction::Forward).map(|link| link.delays().0);
            let delay = least.fold(Duration::ZERO, |sum, one| sum + one).as_nanos() as i64;
            ensure(arrival >= start + delay, || format!("row {row} arrived before its delay was over"))?;
        }
        if delivery != NEVER {
            ensure(arrival != NEVER && delivery >= arrival, || {
                format!("row {row} was delivered before it arrived")
            })?;
            delivered.push((packets.sequence[row], delivery));
        }
    }
    delivered.sort_unstable();
    for (index, (sequence, _)) in delivered.iter().enumerate() {
        ensure(*sequence == index as u64, || format!("segment {sequence} was delivered as number {index}"))?;
    }
    ensure(delivered.is_sorted_by_key(|(_, time)| *time), || "delivered out of order".to_owned())?;
    ensure(result.metrics.packets_delivered == delivered.len() as u64, || {
        format!("{} packets delivered, {} in the frame", result.metrics.packets_delivered, delivered.len())
    })?;
    for (index, path) in result.paths.iter().enumerate() {
        let (sent, arrived) = (sent[index], arrived[index]);
        ensure(path.packets_sent == sent, || {
            format!("path {index}: {sent} rows, {} sent", path.packets_sent)
        })?;
        ensure(arrived <= sent, || format!("path {index}: {arrived} of {sent} arrived"))?;
    }
    Ok(())
}

/// Checks that every request is answered once and in order, as far as the run went. Responses
/// arrive in the same order unless they are `streams`. Returns the bytes of the written responses.
fn check_requests(workload: &RequestResponse, streams: bool, result: &RunResult) -> Result<u64, String> {
    let frame = result.requests.as_ref().ok_or("no requests")?;
    let [begun, answered, delivered] = [&frame.written, &frame.answered, &frame.delivered]
        .map(|moments| moments.iter().filter(|&&at| at != NEVER).count());
    for (what, moments) in [("answered", &frame.answered), ("delivered", &frame.delivered)] {
        let count = if what == "answered" { answered } else { delivered };
        let ordered = moments[..count].is_sorted() && !moments[..count].contains(&NEVER);
        ensure(ordered || what == "delivered" && streams, || format!("{what} out of order"))?;
    }
    let whole: Vec<usize> = (0..begun).filter(|&row| frame.delivered[row] != NEVER).collect();
    for &row in &whole {
        ensure(
            frame.written[row] < frame.answered[row] && frame.answered[row] < frame.delivered[row],
            || format!("request {row} took no time"),
        )?;
    }
    ensure(begun - delivered <= workload.parallel as usize, || {
        format!("{begun} begun, {delivered} delivered")
    })?;
    let counted = (result.metrics.requests_begun, result.metrics.requests_completed);
    ensure(counted == (Some(begun as u64), Some(delivered as u64)), || format!("{counted:?} counted"))?;
    ensure(workload.count.is_none_or(|count| begun as u64 <= count), || format!("{begun} requests"))?;
    // The client received all complete responses, and no byte that was not written.
    let written = frame.response_bytes[..answered].iter().sum::<u64>();
    let whole = whole.iter().map(|&row| frame.response_bytes[row]).sum::<u64>();
    let arrived = result.metrics.delivered_bytes;
    ensure(whole <= arrived && arrived <= written, || {
        format!("{arrived} bytes delivered, {whole} of whole responses, {written} written")
    })?;
    check_deadlines(workload, result)?;
    Ok(written)
}

/// Checks the numbers of responses in time, and late, against the table of requests.
fn check_deadlines(workload: &RequestResponse, result: &RunResult) -> Result<(), String> {
    let Some(deadline) = workload.deadline else { return Ok(()) };
    let frame = result.requests.as_ref().ok_or("no requests")?;
    let within = deadline.as_nanos() as i64;
    let latencies = frame.written.iter().zip(&frame.delivered).filter(|(_, delivered)| **delivered != NEVER);
    let in_time =
        latencies.clone().filter(|(written, delivered)| **delivered - **written <= within).count() as u64;
    let late = latencies.count() as u64 - in_time;
    let Metrics { messages_in_time, messages_late, .. } = result.metrics;
    // Responses that never arrived may be late, too.
    let open = frame.delivered.iter().filter(|delivered| **delivered == NEVER).count() as u64;
    let judged = messages_late.is_some_and(|judged| (late..=late + open).contains(&judged));
    ensure(messages_in_time == Some(in_time) && judged, || {
        format!("{messages_in_time:?} in time, {messages_late:?} late; {in_time}, {late}, and {open} open")
    })
}

/// The writes of a trace before `end`, with their times.
pub(super) fn traced(trace: &WriteTrace, end: Time) -> Vec<(Time, TracedWrite)> {
    let (mut begin, mut found) = (Time::ZERO + trace.start, Vec::new());
    loop {
        let writes = trace.writes.iter().map(|write| (begin + write.at, *write));
        found.extend(writes.filter(|(at, _)| *at < end));
        match trace.repeat {
            Some(period) if begin + period < end => begin += period,
            _ => return found,
        }
    }
}

/// Checks that every message whose deadline has passed was judged, and no other that is missing.
/// Returns the bytes of all writes.
fn check_trace(trace: &WriteTrace, scenario: &Scenario, result: &RunResult) -> Result<u64, String> {
    let end = Time::ZERO + scenario.duration;
    let writes = traced(trace, end);
    let bytes = writes.iter().map(|(_, write)| write.bytes).sum();
    let Metrics { messages_in_time, messages_late, completion_time_s, delivered_bytes, .. } = result.metrics;
    let whole = trace.repeat.is_none() && delivered_bytes == trace.bytes;
    ensure(completion_time_s.is_some() == whole, || format!("{completion_time_s:?}, complete: {whole}"))?;
    ensure(result.metrics.block_delay_ms.is_some() || delivered_bytes < bytes || bytes == 0, || {
        "no delays".to_owned()
    })?;
    let limited = writes.iter().filter_map(|(at, write)| Some(*at + write.deadline?));
    let (all, passed) =
        (limited.clone().count() as u64, limited.filter(|deadline| *deadline < end).count() as u64);
    let judged = messages_in_time.zip(messages_late).map(|(in_time, late)| in_time + late);
    let expected = if delivered_bytes == bytes { all..=all } else { passed..=all };
    let asked = trace.writes.iter().any(|write| write.deadline.is_some());
    ensure(judged.is_some() == asked && judged.is_none_or(|judged| expected.contains(&judged)), || {
        format!("{judged:?} messages judged of {all}, {passed} deadlines passed")
    })?;
    Ok(bytes)
}

/// Every written byte is delivered or counted as undelivered.
fn check_bytes(scenario: &Scenario, result: &RunResult) -> Result<(), String> {
    let metrics = &result.metrics;
    let accounted = metrics.undelivered_bytes.map(|left| left + metrics.delivered_bytes);
    let written = match scenario.workload {
        Workload::Bulk(_) | Workload::Own(_) => None,
        Workload::File(File { size, .. }) => Some(if accounted == Some(0) { 0 } else { size }),
        // The amount is random: whole blocks.
        Workload::OnOff(OnOff { blocks, .. }) => accounted.map(|bytes| bytes / blocks.block * blocks.block),
        Workload::ConstantRate(ConstantRate { rate, block, start, stop, .. }) => {
            let end = stop.map_or(scenario.duration, |stop| stop.min(scenario.duration));
            let span = end.as_nanos().saturating_sub(start.as_nanos());
            // Block k is written at start + ⌊k · block · 8 · 10⁹ / rate⌋, if that is before the
            // end.
            let before =
                |k: u128| k * u128::from(block) * 8_000_000_000 / u128::from(rate) < u128::from(span);
            let guess = u128::from(span) * u128::from(rate) / (u128::from(block) * 8_000_000_000);
            let blocks =
                (guess.saturating_sub(2)..guess + 3).filter(|k| before(*k)).max().map_or(0, |k| k + 1);
            Some(blocks as u64 * block)
        }
        Workload::RequestResponse(requests) => {
            let streams =
                matches!(scenario.transport.protocol.name(), "cmt-sctp" | "mpquic") && requests.parallel > 1;
            Some(check_requests(&requests, streams, result)?)
        }
        Workload::WriteTrace(ref trace) => Some(check_trace(trace, scenario, result)?),
    };
    ensure(accounted == written, || format!("{written:?} written, {accounted:?} accounted for"))?;
    let arrived: f64 = result.paths.iter().map(|path| path.throughput_bps).sum();
    ensure(arrived >= metrics.goodput_bps * (1.0 - 1e-9), || {
        format!("{arrived} bit/s arrived, {} were delivered", metrics.goodput_bps)
    })
}

fn links(scenario: &Scenario) -> impl Iterator<Item = &LinkConfig> {
    let wires = scenario.paths.iter().filter_map(|path| path.wire.as_ref());
    let wires = wires.flat_map(|wire| [&wire.forward, &wire.backward]);
    wires.chain(scenario.links.iter().flat_map(|link| link.forward.iter().chain(&link.backward)))
}

/// Without losses and reordering, no packet is declared lost because of later arrivals.
fn check_spurious(scenario: &Scenario, result: &RunResult) -> Result<(), String> {
    let orderly = |link: &LinkConfig| {
        link.loss == Loss::None.into()
            && link.queue == QueueLimit::Infinite.into()
            && link.discipline.is_none()
            && link.outages == Outages::List(Vec::new())
            && link.duplicate.is_none()
            && !link.reorders()
    };
    let metrics = &result.metrics;
    ensure(
        !links(scenario).all(orderly)
            || metrics.counters.timeouts > Some(0)
            || Some(metrics.retransmissions) <= metrics.counters.tail_probes,
        || format!("{} retransmissions although nothing was lost", metrics.retransmissions),
    )
}

/// While there is data, it flows, at the latest from the end of the last outage on.
fn check_progress(scenario: &Scenario, result: &RunResult, packets: &PacketFrame) -> Result<(), String> {
    let end = Time::ZERO + scenario.duration;
    // The capacity that competing flows leave may be zero, or an endless queue.
    if !scenario.flows.is_empty() || !recovers(scenario) || end.since(HEALTHY_FROM) < LONGEST_PAUSE * 3 / 2 {
        return Ok(());
    }
    let late = Time::ZERO + (end.since(Time::ZERO) - LONGEST_PAUSE);
    let waiting_since = match scenario.workload {
        Workload::Bulk(Bulk { start }) => Some(Time::ZERO + start),
        Workload::File(File { size, start, .. }) => {
            (result.metrics.delivered_bytes < size).then_some(Time::ZERO + start)
        }
        // The time of the next block is random.
        Workload::OnOff(_) | Workload::Own(_) => None,
        Workload::ConstantRate(ConstantRate { stop: Some(_), .. }) => None,
        Workload::ConstantRate(ConstantRate { rate, block, start, stop: None, .. }) => {
            let blocks = u128::from(result.metrics.delivered_bytes / block);
            let offset = blocks * u128::from(block) * 8_000_000_000 / u128::from(rate);
            Some(Time::ZERO + start + Duration::from_nanos(offset as u64)).filter(|written| *written < end)
        }
        Workload::WriteTrace(ref trace) => {
            let mut delivered = result.metrics.delivered_bytes;
            let missing = |(_, write): &(Time, TracedWrite)| {
                let left = delivered.checked_sub(write.bytes);
                delivered = left.unwrap_or(0);
                left.is_none()
            };
            traced(trace, end).into_iter().find(missing).map(|(at, _)| at)
        }
        Workload::RequestResponse(_) => result.requests.as_ref().and_then(|frame| {
            let oldest = frame.delivered.iter().position(|&at| at == NEVER)?;
            Some(Time::from_nanos(frame.written[oldest].unsigned_abs()))
        }),
    };
    let last = packets.delivered.iter().copied().max().unwrap_or(NEVER);
    let stands_still = last < late.as_nanos() as i64 && waiting_since.is_some_and(|since| since < late);
    ensure(!stands_still, || format!("no progress since {last} ns, although the paths work"))
}

/// Whether every path works from [`HEALTHY_FROM`] on.
fn recovers(scenario: &Scenario) -> bool {
    let repaired = links(scenario).all(|link| match &link.outages {
        Outages::List(outages) => outages.iter().all(|outage| outage.to <= HEALTHY_FROM),
        Outages::Periodic { .. } => false,
    });
    repaired
        && (0..scenario.paths.len()).all(|path| scenario.transport.rto_max > round_trip(scenario, path) * 3)
}

/// The longest round trip of a full packet on an idle path. A sender with a shorter longest timeout
/// only floods the path with copies.
pub(crate) fn round_trip(scenario: &Scenario, path: usize) -> Duration {
    let one_way = |link: &LinkConfig| {
        let slowest = match &link.capacity {
            Capacity::Steps(steps) => steps.slowest(),
            capacity => capacity.nominal_rate(),
        };
        let packet = u64::from(scenario.transport.packet) * 8_000_000_000 / slowest;
        Duration::from_nanos(packet) + link.delays().1
    };
    let links = scenario.route(path, Direction::Forward).chain(scenario.route(path, Direction::Backward));
    links.map(one_way).fold(scenario.transport.ack_delay, |sum, one| sum + one)
}

/// Competing flows are not observed on the wire. If every path works again, a patient flow must
/// continue: one whose consecutive timeouts on all paths cannot reach the limit during the run.
fn check_flow_given_up(scenario: &Scenario, at: Time) -> Result<(), String> {
    let limit = scenario.transport.association_max_retransmissions;
    let of_one_path = u64::from(limit) / scenario.paths.len() as u64;
    let patient = limit >= 100_000 && scenario.transport.rto_max * of_one_path > scenario.duration;
    ensure(!(patient && recovers(scenario)), || format!("a flow's peer was given up at {at}"))
}
