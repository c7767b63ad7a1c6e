//! From a run folder to a result: assigns packets to connections and flows, and computes the
//! ending.

use crate::connection::CapturedConnection;
use crate::datagrams::Datagrams;
use crate::decisions;
use crate::error::ObservationError;
use crate::feed::Feed;
use crate::folder::{
    DECISIONS, OBSERVED, Observed, ObservedPath, PathCounts, RECEIVER, REQUESTS, Readings, SENDER, grown,
};
use crate::packet::Content;
use crate::queues;
use crate::records::Records;
use crate::replay::{Replay, ReplayedFlow, at};
use crate::route::{PacketRole, Routes, TrafficKind};
use crate::segments::Segments;
use crate::sending::{CapturedSender, RecordPosition};
use crate::translation::Translations;
use plait_sched::{Decision, Duration, Time};
use plait_sim::application::ConnectionEnd;
use plait_sim::recorder::{RecordOptions, Recorder};
use plait_sim::result::{Ending, Engine, FlowEnding, PathEnding, QueueMetrics, RunResult, SenderCounters};
use plait_sim::scenario::{Direction, FlowKind, FlowRoute, Protocol, Scenario, Workload};
use plait_transport::Observer as _;
use std::path::Path;

/// Reason of a fall-back that only the captures show.
const UNEXPLAINED_FALLBACK: &str = "its data came without mappings, or with an infinite one";

/// Returns the result of the run of `scenario` that was observed in `folder`. The result has the
/// tables of `options` for which the folder has the data.
///
/// # Errors
/// If a file is missing or malformed, or if the files contradict each other or the scenario.
pub fn observe(
    scenario: &Scenario,
    folder: &Path,
    options: &RecordOptions,
) -> Result<RunResult, ObservationError> {
    let observed = Observed::read(folder, scenario)?;
    let protocol = scenario.transport.protocol;
    if !matches!(protocol, Protocol::Mptcp | Protocol::Tcp) {
        let reason = format!("{} cannot be observed (valid: mptcp, tcp)", protocol.name());
        return Err(ObservationError::whole(OBSERVED, &reason));
    }
    let routes = routes(scenario, &observed)?;
    let mut senders = senders(scenario, &observed);
    let (mut streams, translations) = survey(folder, senders.clone(), &routes)?;
    let mut log = if options.decisions { Records::open(folder, DECISIONS)? } else { None };
    let recorded = RecordOptions { decisions: log.is_some(), ..*options };
    let mut recorder = Recorder::new(scenario.paths.len(), scenario.warmup, &scenario.workload, &recorded);
    let logged = match &mut log {
        Some(log) => Some(replay_decisions(log, observed.start_ns, scenario.warmup, &mut recorder)?),
        None => None,
    };
    let main = CapturedConnection::new(senders[0].clone(), std::mem::take(&mut streams[0]), recorder);
    let parties = senders.drain(1..).zip(streams.drain(1..));
    let flows = scenario.flows.iter().zip(parties).map(|(flow, (sender, stream))| match &flow.kind {
        FlowKind::Tcp { .. } | FlowKind::Multipath { .. } => {
            let plain = RecordOptions::default();
            let recorder = Recorder::new(sender.paths(), scenario.warmup, &Workload::DEFAULT, &plain);
            ReplayedFlow::Connection(CapturedConnection::new(sender, stream, recorder))
        }
        FlowKind::ConstantRate { .. } | FlowKind::OnOff { .. } => {
            ReplayedFlow::Datagrams(Datagrams::new(scenario.warmup.is_zero()))
        }
    });
    let span = (observed.start_ns, observed.end_ns);
    let mut replay =
        Replay::new(scenario, folder, span, (&routes, translations), main, flows.collect(), options.series)?;
    replay.run()?;
    // This comes last: with the last response of a count the run would be over.
    replay_requests(scenario, folder, observed.start_ns, observed.end_ns, &mut replay.main.recorder)?;
    let queues = queues::metrics(scenario, folder, &observed.queues, span)?;
    finish(scenario, &observed, replay, logged, queues)
}

/// Returns the result of a replayed run. `logged`: number of decisions in the log other than waits,
/// and number of waits.
fn finish(
    scenario: &Scenario,
    observed: &Observed,
    mut replay: Replay<'_>,
    logged: Option<(u64, u64)>,
    queues: Vec<QueueMetrics>,
) -> Result<RunResult, ObservationError> {
    let total = |count: fn(&PathCounts) -> Option<u64>| -> Result<Option<u64>, ObservationError> {
        let mut sum = Some(0);
        for path in &observed.paths {
            let (before, after) = (count(&path.warmup), count(&path.end));
            let counted = before.zip(after).map(|(before, after)| grown(before, after)).transpose()?;
            sum = sum.zip(counted).map(|(sum, counted): (u64, u64)| sum.saturating_add(counted));
        }
        Ok(sum)
    };
    let counted = match &observed.scheduler {
        Some(Readings { warmup, end }) => {
            Some((grown(warmup.decisions, end.decisions)?, grown(warmup.waits, end.waits)?))
        }
        None => logged,
    };
    let flows = scenario.flows.iter().zip(&replay.flows).map(|(flow, replayed)| match replayed {
        ReplayedFlow::Connection(connection) => FlowEnding {
            packets_lost: connection.lost(),
            ..FlowEnding::of_connection(&connection.recorder, flow.kind.size())
        },
        ReplayedFlow::Datagrams(datagrams) => datagrams.ending(),
    });
    let flows = flows.collect();
    let (path_series, connection_series) = replay.take_series();
    let ending = Ending {
        engine: Engine::Linux,
        fallback: observed
            .fallback
            .clone()
            .or_else(|| replay.main.fell_back().then(|| UNEXPLAINED_FALLBACK.to_owned())),
        kernel: observed.kernel.clone(),
        end: replay.end,
        written_bytes: observed.written_bytes,
        spurious_retransmissions: replay.main.recorder.duplicates(),
        counters: SenderCounters {
            tail_probes: total(|counts| counts.tail_probes)?,
            timeouts: total(|counts| counts.timeouts)?,
            decisions: counted.map(|(decisions, _)| decisions),
            waits: counted.map(|(_, waits)| waits),
            ..SenderCounters::default()
        },
        events: replay.packets,
        paths: observed.paths.iter().map(path_ending).collect::<Result<_, _>>()?,
        flows,
        queues,
        path_series,
        connection_series,
    };
    Ok(RunResult::new(scenario, replay.main.recorder, ending))
}

fn path_ending(path: &ObservedPath) -> Result<PathEnding, ObservationError> {
    let nanos = |micros: f64| (micros * 1e3).round();
    Ok(PathEnding {
        packets_lost: grown(path.warmup.lost, path.end.lost)?,
        packets_dropped: Some(grown(path.warmup.dropped, path.end.dropped)?),
        srtt: path.srtt_us.map(|srtt| Duration::from_nanos(nanos(srtt) as u64)),
        forward_delay: path.forward_delay_us.map(|delay| nanos(delay) as i64),
        backward_delay: path.backward_delay_us.map(|delay| nanos(delay) as i64),
        cwnd_packets: path.cwnd,
    })
}

fn subflows(route: &FlowRoute) -> usize {
    match route {
        FlowRoute::Paths(paths) => paths.len(),
        FlowRoute::Links(_) => 1,
    }
}

/// Assigns addresses and ports to the scenario's connection and to its flows.
fn routes(scenario: &Scenario, observed: &Observed) -> Result<Routes, ObservationError> {
    let mut routes = Routes::default();
    let kind = match scenario.workload.client() {
        ConnectionEnd::Near => TrafficKind::Connection,
        ConnectionEnd::Far => TrafficKind::Served,
    };
    for (path, ends) in observed.paths.iter().enumerate() {
        routes.add(kind, (ends.sender, ends.receiver, observed.port), 0, path, 0)?;
    }
    for (index, (flow, ends)) in scenario.flows.iter().zip(&observed.flows).enumerate() {
        let from = usize::from(flow.direction == Direction::Backward);
        let party = index + 1;
        if let (FlowKind::Multipath { .. }, FlowRoute::Paths(paths)) = (&flow.kind, &flow.route) {
            for (flow_path, &path) in paths.iter().enumerate() {
                let ends = &observed.paths[path];
                let ends =
                    if from == 0 { (ends.sender, ends.receiver) } else { (ends.receiver, ends.sender) };
                routes.add(
                    TrafficKind::Connection,
                    (ends.0, ends.1, observed.flows[index].port),
                    party,
                    flow_path,
                    from,
                )?;
            }
            continue;
        }
        let kind = match flow.kind {
            FlowKind::Tcp { .. } | FlowKind::Multipath { .. } => TrafficKind::Connection,
            FlowKind::ConstantRate { .. } | FlowKind::OnOff { .. } => TrafficKind::Datagrams,
        };
        let (Some(sender), Some(receiver)) = (ends.sender, ends.receiver) else {
            let reason = format!("flow {:?} has no addresses", flow.name);
            return Err(ObservationError::whole(OBSERVED, reason));
        };
        routes.add(kind, (sender, receiver, ends.port), party, 0, from)?;
    }
    routes.finish();
    Ok(routes)
}

/// Returns the sender of every party before it has sent anything: the scenario's connection, then
/// its flows.
fn senders(scenario: &Scenario, observed: &Observed) -> Vec<CapturedSender> {
    let multipath = scenario.transport.protocol == Protocol::Mptcp;
    let mut senders = vec![CapturedSender::new(multipath, observed.fallback.is_some(), scenario.paths.len())];
    senders.extend(scenario.flows.iter().map(|flow| {
        CapturedSender::new(matches!(flow.kind, FlowKind::Multipath { .. }), false, subflows(&flow.route))
    }));
    senders
}

/// Reads both captures in a first pass. Returns the segments of every party's stream, and the
/// identities of the subflows of either host.
fn survey(
    folder: &Path,
    mut senders: Vec<CapturedSender>,
    routes: &Routes,
) -> Result<(Vec<Segments>, [Translations; 2]), ObservationError> {
    let mut segments = vec![Segments::default(); senders.len()];
    let mut translations = [Translations::default(), Translations::default()];
    for (side, name) in [SENDER, RECEIVER].into_iter().enumerate() {
        if !routes.sends_from(side) {
            continue;
        }
        let mut feed = Feed::open(folder, name)?;
        while let Some((_, record, packet)) = feed.head.take() {
            if let (Some(route), Content::Tcp(tcp)) = (routes.find(&packet), packet.content)
                && route.role == PacketRole::Data
                && route.from == side
            {
                translations[side].leaves(&packet);
                let position = RecordPosition { file: feed.name(), record };
                if let Some(payload) = senders[route.party].read(position, route.path, &tcp)? {
                    let end = payload.offset + u64::from(payload.length);
                    segments[route.party].collect(payload.offset, end);
                }
            }
            feed.advance()?;
        }
    }
    segments.iter_mut().for_each(Segments::finish);
    Ok((segments, translations))
}

/// Replays the requests up to the end into the recorder, if the workload has requests.
fn replay_requests(
    scenario: &Scenario,
    folder: &Path,
    start: i64,
    end: i64,
    recorder: &mut Recorder,
) -> Result<(), ObservationError> {
    if !matches!(scenario.workload, Workload::RequestResponse(_)) {
        return Ok(());
    }
    let Some(mut records) = Records::open(folder, REQUESTS)? else {
        let reason = "it is missing; a workload of requests needs it".to_owned();
        return Err(ObservationError::File { file: REQUESTS.to_owned(), reason });
    };
    let end = at(start, end).min(Time::ZERO + scenario.duration);
    let moment = |time: i64| (time >= 0).then(|| at(start, time)).filter(|time| *time <= end);
    while let Some(request) = records.request()? {
        let Some(written) = moment(request.written) else { continue };
        let (answered, delivered) = (moment(request.answered), moment(request.delivered));
        if answered.is_some_and(|answered| answered < written) || delivered.is_some() && delivered < answered
        {
            return Err(records.malformed("its response comes before it"));
        }
        let deadline = scenario.workload.deadline();
        recorder.requested(written, request.request_bytes, request.response_bytes, deadline);
        answered.into_iter().for_each(|answered| recorder.answered(answered));
        delivered.into_iter().for_each(|delivered| recorder.responded(delivered));
    }
    Ok(())
}

/// Replays the decisions into the recorder. Counts from the end of the warm-up on, and returns the
/// number of decisions other than waits, and the number of waits.
fn replay_decisions(
    log: &mut Records,
    start: i64,
    warmup: Duration,
    recorder: &mut Recorder,
) -> Result<(u64, u64), ObservationError> {
    let (mut decisions, mut waits) = (0, 0);
    while let Some(logged) = decisions::next(log, |time| at(start, time))? {
        recorder.decided(logged.time, &logged.decision, &logged.connection, &logged.paths);
        if logged.time >= Time::ZERO + warmup {
            let wait = matches!(logged.decision, Decision::Wait { .. });
            waits += u64::from(wait);
            decisions += u64::from(!wait);
        }
    }
    Ok((decisions, waits))
}
