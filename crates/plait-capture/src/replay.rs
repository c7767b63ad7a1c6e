//! Event-by-event replay of a run: captures, reads, writes and samples, merged by time.

use crate::connection::CapturedConnection;
use crate::datagrams::Datagrams;
use crate::error::ObservationError;
use crate::feed::{Feed, ReadAhead};
use crate::folder::{DROPS, READS, RECEIVER, SENDER, SERIES, WRITES};
use crate::packet::{CapturedPacket, Content};
use crate::records::{Progress, ReceiverDrop, Records, Sample};
use crate::route::{PacketRole, Routes};
use crate::sending::RecordPosition;
use crate::translation::Translations;
use plait_sched::{Duration, PathId, Time};
use plait_sim::recorder::frames::{ConnectionSeries, NEVER, PathSeries, nanos};
use plait_sim::scenario::Scenario;
use std::path::Path;

/// A competing flow.
#[expect(clippy::large_enum_variant, reason = "there are few")]
pub(crate) enum ReplayedFlow {
    Connection(CapturedConnection),
    Datagrams(Datagrams),
}

/// Source of the next event. Of simultaneous events, the first in this order comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventSource {
    Write,
    Warmup,
    Clock,
    Series,
    Sender,
    // A drop comes before the packet that it is about.
    ReceiverDrop,
    Receiver,
    Read,
}

/// A run that is being replayed.
pub(crate) struct Replay<'a> {
    scenario: &'a Scenario,
    /// The scenario's time 0 on the guest's clock.
    start: i64,
    /// End of the run, planned or actual.
    pub(crate) end: Time,
    now: Time,
    routes: &'a Routes,
    /// Translations of the packets that leave either host.
    translations: [Translations; 2],
    pub(crate) main: CapturedConnection,
    pub(crate) flows: Vec<ReplayedFlow>,
    /// The captures of the sender and of the receiver.
    captures: [Feed; 2],
    writes: Option<ReadAhead<Progress>>,
    reads: Option<ReadAhead<Progress>>,
    drops: Option<ReadAhead<ReceiverDrop>>,
    samples: Option<ReadAhead<Sample>>,
    /// End of the warm-up, until it has come.
    warmup: Option<Time>,
    /// Time of the connection's next sample, and the sampling interval.
    clock: Option<(Time, Duration)>,
    /// Number of blocks written so far.
    blocks: u64,
    /// Packets of all connections and flows of the scenario.
    pub(crate) packets: u64,
    path_series: PathSeries,
    connection_series: ConnectionSeries,
}

impl<'a> Replay<'a> {
    /// Opens the files of `folder`. The run lasted from `start` to `end` by the guest's clock.
    pub(crate) fn new(
        scenario: &'a Scenario,
        folder: &Path,
        (start, end): (i64, i64),
        (routes, translations): (&'a Routes, [Translations; 2]),
        mut main: CapturedConnection,
        flows: Vec<ReplayedFlow>,
        series: Option<Duration>,
    ) -> Result<Self, ObservationError> {
        let reads = ReadAhead::open(folder, READS, Records::progress)?;
        main.by_reads = reads.is_some();
        let writes = match scenario.workload.block() {
            Some(_) => Some(ReadAhead::open(folder, WRITES, Records::progress)?.ok_or_else(|| {
                let reason = "it is missing; a workload of blocks needs it".to_owned();
                ObservationError::File { file: WRITES.to_owned(), reason }
            })?),
            None => None,
        };
        let samples = match series {
            Some(_) => ReadAhead::open(folder, SERIES, Records::sample)?,
            None => None,
        };
        Ok(Self {
            scenario,
            start,
            end: at(start, end).min(Time::ZERO + scenario.duration),
            now: Time::ZERO,
            routes,
            translations,
            main,
            flows,
            captures: [Feed::open(folder, SENDER)?, Feed::open(folder, RECEIVER)?],
            writes,
            reads,
            drops: ReadAhead::open(folder, DROPS, Records::drop)?,
            samples,
            warmup: (!scenario.warmup.is_zero()).then_some(Time::ZERO + scenario.warmup),
            clock: series.map(|interval| (Time::ZERO, interval)),
            blocks: 0,
            packets: 0,
            path_series: PathSeries::default(),
            connection_series: ConnectionSeries::default(),
        })
    }

    /// Returns the time and the source of the next event.
    fn next(&self) -> Option<(Time, EventSource)> {
        let moment = |time: i64| at(self.start, time);
        let progress = |ahead: &Option<ReadAhead<Progress>>| {
            ahead.as_ref().and_then(|ahead| ahead.head).map(|head| moment(head.time))
        };
        let captured = |feed: &Feed| feed.head.as_ref().map(|&(time, ..)| moment(time));
        let sample = self.samples.as_ref().and_then(|ahead| ahead.head);
        let drop = self.drops.as_ref().and_then(|ahead| ahead.head);
        let candidates = [
            (progress(&self.writes), EventSource::Write),
            (self.warmup, EventSource::Warmup),
            (self.clock.map(|(at, _)| at), EventSource::Clock),
            (sample.map(|sample| moment(sample.time)), EventSource::Series),
            (captured(&self.captures[0]), EventSource::Sender),
            (drop.map(|drop| moment(drop.time)), EventSource::ReceiverDrop),
            (captured(&self.captures[1]), EventSource::Receiver),
            (progress(&self.reads), EventSource::Read),
        ];
        candidates.into_iter().filter_map(|(time, source)| time.map(|time| (time, source))).min()
    }

    /// Replays the run to its end, which comes earlier if a finite workload is delivered earlier.
    pub(crate) fn run(&mut self) -> Result<(), ObservationError> {
        while let Some((time, source)) = self.next().filter(|(time, _)| *time < self.end) {
            self.now = self.now.max(time);
            match source {
                EventSource::Write => self.write()?,
                EventSource::Warmup => self.end_warmup(),
                EventSource::Clock => self.sample_connection(),
                EventSource::Series => self.sample_path()?,
                EventSource::Sender => self.packet(0)?,
                EventSource::ReceiverDrop => self.drop()?,
                EventSource::Receiver => self.packet(1)?,
                EventSource::Read => self.read()?,
            }
            if self.main.recorder.completed(&self.scenario.workload).is_some() {
                self.end = self.now;
            }
        }
        if self.warmup.is_some_and(|warmup| warmup <= self.end) {
            self.end_warmup();
        }
        Ok(())
    }

    /// Returns the tables of samples that were requested and for which samples exist.
    pub(crate) fn take_series(&mut self) -> (Option<PathSeries>, Option<ConnectionSeries>) {
        let paths = self.samples.is_some().then(|| std::mem::take(&mut self.path_series));
        (paths, self.clock.is_some().then(|| std::mem::take(&mut self.connection_series)))
    }

    fn end_warmup(&mut self) {
        self.warmup = None;
        self.main.end_warmup();
        for flow in &mut self.flows {
            match flow {
                ReplayedFlow::Connection(connection) => connection.end_warmup(),
                ReplayedFlow::Datagrams(datagrams) => datagrams.end_warmup(),
            }
        }
    }

    /// Handles the next packet in the capture of `side`: it leaves this host or reaches it.
    fn packet(&mut self, side: usize) -> Result<(), ObservationError> {
        let Some((_, record, packet)) = self.captures[side].head.take() else { return Ok(()) };
        let position = RecordPosition { file: self.captures[side].name(), record };
        let packet = match self.routes.find(&packet) {
            Some(_) => packet,
            None => self.translations[1 - side].original(packet),
        };
        if let Some(route) = self.routes.find(&packet) {
            self.packets += 1;
            let leaves = route.from == side;
            let connection = match route.party.checked_sub(1).map(|flow| &mut self.flows[flow]) {
                None => Some(&mut self.main),
                Some(ReplayedFlow::Connection(connection)) => Some(connection),
                Some(ReplayedFlow::Datagrams(datagrams)) => {
                    handle_datagram(datagrams, self.now, position, leaves, &packet)?;
                    None
                }
            };
            if let (Some(connection), Content::Tcp(tcp)) = (connection, &packet.content) {
                match (route.role, leaves) {
                    (PacketRole::Data, true) => {
                        connection.transmit(self.now, position, route.path, packet.id, tcp)?;
                    }
                    (PacketRole::Data, false) => {
                        connection.arrive(self.now, position, route.path, packet.id, tcp)?;
                    }
                    (PacketRole::Acknowledgements, true) => connection.acknowledge(route.path, tcp),
                    (PacketRole::Acknowledgements, false) => {}
                }
            }
        } else if self.routes.strays(&packet) {
            let CapturedPacket { source, destination, .. } = packet;
            return Err(position
                .mismatch(format!("a subflow from {source} to {destination} is no path of the scenario")));
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
        self.main.recorder.block_written(self.now, block, self.scenario.workload.deadline());
        Ok(())
    }

    fn read(&mut self) -> Result<(), ObservationError> {
        let Some(reads) = &mut self.reads else { return Ok(()) };
        let Some((progress, record)) = reads.take()? else { return Ok(()) };
        self.main.read_up_to(self.now, RecordPosition { file: READS, record }, progress.bytes)
    }

    fn drop(&mut self) -> Result<(), ObservationError> {
        let Some(drops) = &mut self.drops else { return Ok(()) };
        if let Some((drop, _)) = drops.take()? {
            self.main.drop(self.now, drop.start, drop.end);
        }
        Ok(())
    }

    fn sample_connection(&mut self) {
        let Some((now, interval)) = self.clock else { return };
        self.clock = Some((now + interval, interval));
        let payload = u64::from(payload(self.scenario));
        let (packets, bytes) = self.main.recorder.waiting();
        let (delivered, left) = (self.main.recorder.delivered_bytes(), self.main.window_left());
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
        let arrived = self.main.recorder.arrived_bytes(path);
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
}

fn handle_datagram(
    datagrams: &mut Datagrams,
    now: Time,
    position: RecordPosition<'_>,
    leaves: bool,
    packet: &CapturedPacket,
) -> Result<(), ObservationError> {
    match packet.content {
        Content::Udp { sequence, .. } if leaves => datagrams.transmit(now, position, sequence),
        Content::Udp { sequence, .. } => datagrams.arrive(now, position, sequence, packet.bytes),
        Content::Tcp(_) => Ok(()),
    }
}

/// Converts a time of the guest's clock into the scenario's time.
pub(crate) fn at(start: i64, time: i64) -> Time {
    Time::from_nanos(u64::try_from(time.saturating_sub(start)).unwrap_or(0))
}

/// Returns the payload bytes of a full packet.
fn payload(scenario: &Scenario) -> u32 {
    scenario.transport.packet - scenario.transport.overhead().of_data()
}
