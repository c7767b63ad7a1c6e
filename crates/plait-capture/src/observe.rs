//! From a run folder to a result.

use crate::capture::Capture;
use crate::connection::Connection;
use crate::datagrams::Datagrams;
use crate::decisions;
use crate::error::ObservationError;
use crate::folder::{Marks, OBSERVED, Observed, PathCounts, grown};
use crate::packet::{self, Content, Packet};
use crate::records::{Progress, Records, Sample};
use crate::route::{Direction, Kind, Route, Routes};
use crate::segments::Segments;
use crate::sending::{Place, Sending};
use plait_sched::{Decision, Duration, PathId, Time};
use plait_sim::recorder::frames::{ConnectionSeries, NEVER, PathSeries, nanos};
use plait_sim::recorder::{RecordOptions, Recorder};
use plait_sim::result::{Ending, Engine, FlowEnding, PathEnding, RunResult};
use plait_sim::scenario::{FlowKind, FlowRoute, Protocol, Scenario, Way, Workload};
use plait_transport::Observer as _;
use std::path::Path;

/// The sender's capture.
pub(crate) const SENDER: &str = "sender.pcap";
/// The receiver's capture.
pub(crate) const RECEIVER: &str = "receiver.pcap";
const WRITES: &str = "writes.bin";
const READS: &str = "reads.bin";
const DECISIONS: &str = "decisions.bin";
const SERIES: &str = "series.bin";

/// The result of the run of `scenario` that was observed in `folder`; with the tables of `options`, as far as the folder has
/// what they are made of.
///
/// # Errors
/// If a file is missing or malformed, if the files contradict each other or the scenario, or if the connection gave up
/// MPTCP.
pub fn observe(
    scenario: &Scenario,
    folder: &Path,
    options: &RecordOptions,
) -> Result<RunResult, ObservationError> {
    let observed = Observed::read(folder, scenario)?;
    let mut run = Run::new(scenario, folder, options, &observed)?;
    run.replay()?;
    run.finish(&observed)
}

/// Who sends something in a run.
#[expect(clippy::large_enum_variant, reason = "there are few")]
enum Party {
    Connection(Connection),
    Datagrams(Datagrams),
}

/// One of the two captures, one packet ahead.
struct Feed {
    capture: Capture,
    head: Option<(i64, u64, Packet)>,
}

impl Feed {
    fn open(folder: &Path, name: &str) -> Result<Self, ObservationError> {
        let mut feed = Self { capture: Capture::open(folder, name)?, head: None };
        feed.advance()?;
        Ok(feed)
    }

    /// Goes on to the next packet of a kind that matters.
    fn advance(&mut self) -> Result<(), ObservationError> {
        loop {
            let Some(record) = self.capture.next()? else {
                self.head = None;
                return Ok(());
            };
            let (time, number) = (record.time, record.number);
            match packet::parse(record.ip) {
                Ok(None) => {}
                Ok(Some(packet)) => {
                    self.head = Some((time, number, packet));
                    return Ok(());
                }
                Err(reason) => {
                    return Err(ObservationError::format(self.capture.name(), number, reason));
                }
            }
        }
    }
}

/// A file of records, one record ahead.
struct Ahead<T> {
    records: Records,
    head: Option<T>,
    read: fn(&mut Records) -> Result<Option<T>, ObservationError>,
}

impl<T> Ahead<T> {
    fn open(
        folder: &Path,
        name: &str,
        read: fn(&mut Records) -> Result<Option<T>, ObservationError>,
    ) -> Result<Option<Self>, ObservationError> {
        let Some(mut records) = Records::open(folder, name)? else { return Ok(None) };
        let head = read(&mut records)?;
        Ok(Some(Self { records, head, read }))
    }

    /// The record, with its number.
    fn take(&mut self) -> Result<Option<(T, u64)>, ObservationError> {
        let number = self.records.number();
        let Some(head) = self.head.take() else { return Ok(None) };
        self.head = (self.read)(&mut self.records)?;
        Ok(Some((head, number)))
    }
}

/// What happens next; of things at the same time the first in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Write,
    Warmup,
    Clock,
    Series,
    Sender,
    Receiver,
    Read,
}

/// A run that is being replayed.
struct Run<'a> {
    scenario: &'a Scenario,
    /// The scenario's time 0 on the guest's clock, and the end of the run in the scenario's time.
    start: i64,
    end: Time,
    now: Time,
    routes: Routes,
    parties: Vec<Party>,
    captures: [Feed; 2],
    writes: Option<Ahead<Progress>>,
    reads: Option<Ahead<Progress>>,
    samples: Option<Ahead<Sample>>,
    warmup: Option<Time>,
    clock: Option<(Time, Duration)>,
    blocks: u64,
    packets: u64,
    decisions: Option<(u64, u64)>,
    path_series: PathSeries,
    connection_series: ConnectionSeries,
}

impl<'a> Run<'a> {
    fn new(
        scenario: &'a Scenario,
        folder: &Path,
        options: &RecordOptions,
        observed: &Observed,
    ) -> Result<Self, ObservationError> {
        if scenario.transport.protocol == Protocol::CmtSctp {
            return Err(ObservationError::whole(OBSERVED, "cmt-sctp cannot be observed (valid: mptcp, tcp)"));
        }
        let routes = routes(scenario, observed)?;
        let mut segments = survey(folder, scenario, &routes)?.into_iter();
        let mut next_segments = || segments.next().unwrap_or_default();
        let reads = Ahead::open(folder, READS, Records::progress)?;
        let blocks = scenario.workload.block().is_some();
        let writes = if blocks {
            let missing = || ObservationError::File {
                file: WRITES.to_owned(),
                reason: "a workload of blocks needs it".to_owned(),
            };
            Some(Ahead::open(folder, WRITES, Records::progress)?.ok_or_else(missing)?)
        } else {
            None
        };
        let mut log = if options.decisions { Records::open(folder, DECISIONS)? } else { None };
        let options = RecordOptions { decisions: log.is_some(), ..*options };
        let paths = scenario.paths.len();
        let mut recorder = Recorder::new(paths, scenario.warmup, &scenario.workload, &options);
        let (start, warmup_end) = (observed.start_ns, Time::ZERO + scenario.warmup);
        let counted = match &mut log {
            Some(log) => Some(replay_decisions(log, start, warmup_end, &mut recorder)?),
            None => None,
        };
        let by_reads = reads.is_some();
        let multipath = scenario.transport.protocol == Protocol::Mptcp;
        let mut parties =
            vec![Party::Connection(Connection::new(multipath, paths, next_segments(), recorder, by_reads))];
        for flow in &scenario.flows {
            let segments = next_segments();
            parties.push(match &flow.kind {
                FlowKind::Tcp { .. } | FlowKind::Multipath { .. } => {
                    let bulk = Workload::DEFAULT;
                    let plain = RecordOptions::default();
                    let paths = subflows(&flow.route);
                    let recorder = Recorder::new(paths, scenario.warmup, &bulk, &plain);
                    let multipath = matches!(flow.kind, FlowKind::Multipath { .. });
                    Party::Connection(Connection::new(multipath, paths, segments, recorder, false))
                }
                FlowKind::ConstantRate { .. } | FlowKind::OnOff { .. } => {
                    Party::Datagrams(Datagrams::new(scenario.warmup.is_zero()))
                }
            });
        }
        let samples =
            if options.series.is_some() { Ahead::open(folder, SERIES, Records::sample)? } else { None };
        let observed_end = at(start, observed.end_ns);
        Ok(Self {
            scenario,
            start,
            end: observed_end.min(Time::ZERO + scenario.duration),
            now: Time::ZERO,
            routes,
            parties,
            captures: [Feed::open(folder, SENDER)?, Feed::open(folder, RECEIVER)?],
            writes,
            reads,
            samples,
            warmup: (!scenario.warmup.is_zero()).then_some(warmup_end),
            clock: options.series.map(|interval| (Time::ZERO, interval)),
            blocks: 0,
            packets: 0,
            decisions: counted,
            path_series: PathSeries::default(),
            connection_series: ConnectionSeries::default(),
        })
    }

    /// What happens next, and when.
    fn next(&self) -> Option<(Time, Source)> {
        let moment = |time: i64| at(self.start, time);
        let progress = |ahead: &Option<Ahead<Progress>>| {
            ahead.as_ref().and_then(|ahead| ahead.head).map(|head| moment(head.time))
        };
        let captured = |feed: &Feed| feed.head.as_ref().map(|&(time, ..)| moment(time));
        let sample = self.samples.as_ref().and_then(|ahead| ahead.head);
        let candidates = [
            (progress(&self.writes), Source::Write),
            (self.warmup, Source::Warmup),
            (self.clock.map(|(at, _)| at), Source::Clock),
            (sample.map(|sample| moment(sample.time)), Source::Series),
            (captured(&self.captures[0]), Source::Sender),
            (captured(&self.captures[1]), Source::Receiver),
            (progress(&self.reads), Source::Read),
        ];
        candidates.into_iter().filter_map(|(time, source)| time.map(|time| (time, source))).min()
    }

    fn replay(&mut self) -> Result<(), ObservationError> {
        while let Some((time, source)) = self.next() {
            if time >= self.end {
                break;
            }
            self.now = self.now.max(time);
            match source {
                Source::Write => self.write()?,
                Source::Warmup => self.end_warmup(),
                Source::Clock => self.sample_connection(),
                Source::Series => self.sample_path()?,
                Source::Sender => self.packet(0)?,
                Source::Receiver => self.packet(1)?,
                Source::Read => self.read()?,
            }
            if self.main().recorder.completed(&self.scenario.workload).is_some() {
                self.end = self.now;
                return Ok(());
            }
        }
        Ok(())
    }

    fn main(&self) -> &Connection {
        let Party::Connection(connection) = &self.parties[0] else {
            unreachable!("the first is the connection")
        };
        connection
    }

    fn main_mut(&mut self) -> &mut Connection {
        let Party::Connection(connection) = &mut self.parties[0] else {
            unreachable!("the first is the connection")
        };
        connection
    }

    fn end_warmup(&mut self) {
        self.warmup = None;
        for party in &mut self.parties {
            match party {
                Party::Connection(connection) => connection.end_warmup(),
                Party::Datagrams(datagrams) => datagrams.end_warmup(),
            }
        }
    }

    fn packet(&mut self, side: usize) -> Result<(), ObservationError> {
        let Some((_, record, packet)) = self.captures[side].head.take() else { return Ok(()) };
        let now = self.now;
        if let Some(Route { party, path, from, direction }) = self.routes.find(&packet) {
            self.packets += 1;
            let feed = &self.captures[side];
            let place = Place { file: feed.capture.name(), record };
            let leaves = from == side;
            match (&mut self.parties[party], packet.content, direction) {
                (Party::Connection(connection), Content::Tcp(tcp), Direction::Data) if leaves => {
                    connection.transmit(now, place, path, &packet, &tcp)?;
                }
                (Party::Connection(connection), Content::Tcp(tcp), Direction::Data) => {
                    connection.arrive(now, place, path, &packet, &tcp)?;
                }
                (Party::Connection(connection), Content::Tcp(tcp), Direction::Acknowledgements) if leaves => {
                    connection.acknowledge(path, &tcp);
                }
                (Party::Datagrams(datagrams), Content::Udp { sequence, .. }, _) if leaves => {
                    datagrams.transmit(now, place, sequence)?;
                }
                (Party::Datagrams(datagrams), Content::Udp { sequence, .. }, _) => {
                    datagrams.arrive(now, place, sequence, packet.bytes)?;
                }
                _ => {}
            }
        } else if self.routes.strays(&packet) {
            let file = self.captures[side].capture.name();
            let reason = format!(
                "a subflow from {} to {} is no path of the scenario",
                packet.source, packet.destination
            );
            return Err(ObservationError::mismatch(file, record, reason));
        }
        self.captures[side].advance()
    }

    fn write(&mut self) -> Result<(), ObservationError> {
        let (Some(writes), Some(block)) = (&mut self.writes, self.scenario.workload.block()) else {
            return Ok(());
        };
        let Some((progress, record)) = writes.take()? else { return Ok(()) };
        self.blocks += 1;
        if progress.bytes != self.blocks * block {
            let reason = format!("{} bytes are not {} blocks of {block}", progress.bytes, self.blocks);
            return Err(ObservationError::mismatch(WRITES, record, reason));
        }
        let now = self.now;
        self.main_mut().recorder.block_written(now);
        Ok(())
    }

    fn read(&mut self) -> Result<(), ObservationError> {
        let Some(reads) = &mut self.reads else { return Ok(()) };
        let Some((progress, record)) = reads.take()? else { return Ok(()) };
        let now = self.now;
        self.main_mut().read_up_to(now, Place { file: READS, record }, progress.bytes)
    }

    fn sample_connection(&mut self) {
        let Some((now, interval)) = self.clock else { return };
        self.clock = Some((now + interval, interval));
        let payload = u64::from(payload(self.scenario));
        let (packets, bytes) = self.main().recorder.waiting();
        let (delivered, left) = (self.main().recorder.delivered_bytes(), self.main().window_left());
        let series = &mut self.connection_series;
        series.time.push(nanos(now));
        series.buffer_packets.push(packets as u32);
        series.buffer_bytes.push(bytes);
        series.delivered_bytes.push(delivered);
        series.window_left.push(left / payload);
    }

    fn sample_path(&mut self) -> Result<(), ObservationError> {
        let Some(samples) = &mut self.samples else { return Ok(()) };
        let Some((sample, record)) = samples.take()? else { return Ok(()) };
        let paths = self.scenario.paths.len();
        if sample.path as usize >= paths {
            let reason = format!("it is about path {} of {paths}", sample.path);
            return Err(ObservationError::format(SERIES, record, reason));
        }
        let path = PathId(sample.path as u8);
        let arrived = self.main().recorder.arrived_bytes(path);
        let series = &mut self.path_series;
        series.time.push(nanos(self.now));
        series.path.push(path.0);
        series.cwnd.push(f64::from(sample.cwnd));
        let unset = sample.ssthresh >= i32::MAX as u32;
        series.ssthresh.push(if unset { f64::INFINITY } else { f64::from(sample.ssthresh) });
        let measured = sample.srtt_us > 0;
        series.srtt.push(if measured { i64::from(sample.srtt_us) * 1_000 } else { NEVER });
        series.in_flight.push(sample.in_flight);
        series.queued.push(sample.unsent_bytes.div_ceil(payload(self.scenario)));
        series.link_queue.push(sample.link_queue);
        series.arrived_bytes.push(arrived);
        Ok(())
    }

    fn finish(mut self, observed: &Observed) -> Result<RunResult, ObservationError> {
        if self.warmup.is_some_and(|warmup| warmup <= self.end) {
            self.end_warmup();
        }
        let paths = observed.paths.iter().map(|path| {
            let (before, after) = (&path.warmup, &path.end);
            let nanos = |micros: f64| (micros * 1e3).round();
            Ok(PathEnding {
                packets_lost: grown(before.lost, after.lost)?,
                packets_dropped: grown(before.dropped, after.dropped)?,
                srtt: path.srtt_us.map(|srtt| Duration::from_nanos(nanos(srtt) as u64)),
                forward_delay: path.forward_delay_us.map(|delay| nanos(delay) as i64),
                backward_delay: path.backward_delay_us.map(|delay| nanos(delay) as i64),
                cwnd_packets: path.cwnd,
            })
        });
        let paths = paths.collect::<Result<_, ObservationError>>()?;
        let total = |count: fn(&PathCounts) -> Option<u64>| -> Result<Option<u64>, ObservationError> {
            let mut sum = 0;
            for path in &observed.paths {
                let (Some(before), Some(after)) = (count(&path.warmup), count(&path.end)) else {
                    return Ok(None);
                };
                sum += grown(before, after)?;
            }
            Ok(Some(sum))
        };
        let counted = match &observed.scheduler {
            Some(Marks { warmup, end }) => {
                Some((grown(warmup.decisions, end.decisions)?, grown(warmup.waits, end.waits)?))
            }
            None => self.decisions,
        };
        let flows: Vec<FlowEnding> = (self.parties.iter().skip(1).zip(&self.scenario.flows))
            .map(|(party, flow)| match party {
                Party::Connection(connection) => {
                    let size = if let FlowKind::Tcp { size } = flow.kind { size } else { None };
                    FlowEnding { packets_lost: connection.lost(), ..connection.recorder.flow(size) }
                }
                Party::Datagrams(datagrams) => datagrams.ending(),
            })
            .collect();
        let ending = Ending {
            engine: Engine::Linux,
            end: self.end,
            written_bytes: observed.written_bytes,
            spurious_retransmissions: self.main().recorder.duplicates(),
            tail_probes: total(|counts| counts.tail_probes)?,
            timeouts: total(|counts| counts.timeouts)?,
            decisions: counted.map(|(decisions, _)| decisions),
            waits: counted.map(|(_, waits)| waits),
            events: self.packets,
            paths,
            flows,
            path_series: self.samples.is_some().then_some(self.path_series),
            connection_series: self.clock.is_some().then_some(self.connection_series),
        };
        let Party::Connection(main) = self.parties.swap_remove(0) else {
            unreachable!("the first is the connection")
        };
        Ok(RunResult::new(self.scenario, main.recorder, ending))
    }
}

/// A moment of the guest's clock in the scenario's time.
fn at(start: i64, time: i64) -> Time {
    Time::from_nanos(u64::try_from(time.saturating_sub(start)).unwrap_or(0))
}

/// Payload bytes of a full packet.
fn payload(scenario: &Scenario) -> u32 {
    scenario.transport.packet - scenario.transport.protocol.overhead().of_data()
}

fn subflows(route: &FlowRoute) -> usize {
    match route {
        FlowRoute::Paths(paths) => paths.len(),
        FlowRoute::Links(_) => 1,
    }
}

/// What belongs to whom.
fn routes(scenario: &Scenario, observed: &Observed) -> Result<Routes, ObservationError> {
    let mut routes = Routes::default();
    for (path, ends) in observed.paths.iter().enumerate() {
        routes.add(Kind::Connection, (ends.sender, ends.receiver, observed.port), 0, path, 0)?;
    }
    for (index, (flow, ends)) in scenario.flows.iter().zip(&observed.flows).enumerate() {
        let from = usize::from(flow.direction == Way::Backward);
        let party = index + 1;
        if let (FlowKind::Multipath { .. }, FlowRoute::Paths(paths)) = (&flow.kind, &flow.route) {
            for (place, &path) in paths.iter().enumerate() {
                let ends = &observed.paths[path];
                let ends =
                    if from == 0 { (ends.sender, ends.receiver) } else { (ends.receiver, ends.sender) };
                routes.add(
                    Kind::Connection,
                    (ends.0, ends.1, observed.flows[index].port),
                    party,
                    place,
                    from,
                )?;
            }
            continue;
        }
        let kind = match flow.kind {
            FlowKind::Tcp { .. } | FlowKind::Multipath { .. } => Kind::Connection,
            FlowKind::ConstantRate { .. } | FlowKind::OnOff { .. } => Kind::Datagrams,
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

/// The segments of every party's stream: a first look at what was sent.
fn survey(folder: &Path, scenario: &Scenario, routes: &Routes) -> Result<Vec<Segments>, ObservationError> {
    let mut sending =
        vec![Sending::new(scenario.transport.protocol == Protocol::Mptcp, scenario.paths.len())];
    sending.extend(
        scenario
            .flows
            .iter()
            .map(|flow| Sending::new(matches!(flow.kind, FlowKind::Multipath { .. }), subflows(&flow.route))),
    );
    let mut segments = vec![Segments::default(); sending.len()];
    for (side, name) in [SENDER, RECEIVER].into_iter().enumerate() {
        if !routes.sends_from(side) {
            continue;
        }
        let mut feed = Feed::open(folder, name)?;
        while let Some((_, record, packet)) = feed.head.take() {
            if let (Some(route), Content::Tcp(tcp)) = (routes.find(&packet), packet.content)
                && route.direction == Direction::Data
                && route.from == side
            {
                let place = Place { file: feed.capture.name(), record };
                if let Some(payload) = sending[route.party].read(place, route.path, &tcp)? {
                    let end = payload.offset + u64::from(payload.length);
                    segments[route.party].collect(payload.offset, end);
                }
            }
            feed.advance()?;
        }
    }
    segments.iter_mut().for_each(Segments::finish);
    Ok(segments)
}

/// Tells the recorder of the decisions; how many there were since the end of the warm-up, and of these how many to wait.
fn replay_decisions(
    log: &mut Records,
    start: i64,
    warmup_end: Time,
    recorder: &mut Recorder,
) -> Result<(u64, u64), ObservationError> {
    let (mut decisions, mut waits) = (0, 0);
    while let Some(logged) = decisions::next(log, |time| at(start, time))? {
        recorder.decided(logged.time, &logged.decision, &logged.connection, &logged.paths);
        if logged.time >= warmup_end {
            let wait = matches!(logged.decision, Decision::Wait { .. });
            waits += u64::from(wait);
            decisions += u64::from(!wait);
        }
    }
    Ok((decisions, waits))
}
