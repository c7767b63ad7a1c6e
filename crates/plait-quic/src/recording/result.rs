//! A recording as a result. Its events go to the simulator's recorder, so metrics and tables have
//! their usual meaning.
//!
//! Only the receiver knows when a segment arrived. The recorder gets an estimate: the time of its
//! acknowledgement, less the delay that the receiver reports, less half of the path's smallest
//! round-trip time. A segment is delivered when it and all segments before it have arrived by this
//! estimate.

use super::read::{ReadError, Reader, RecordedEvent, Start};
use super::{ENDLESS, INTERVAL, MAX_TRANSMISSIONS};
use plait_sched::{Decision, Duration, Path, PathId, PathState, Time};
use plait_sim::recorder::frames::{ConnectionSeries, NEVER, PathSeries, nanos};
use plait_sim::recorder::{RecordOptions, Recorder};
use plait_sim::result::{Ending, Engine, PathEnding, RunResult, SenderCounters};
use plait_sim::scenario::Scenario;
use plait_transport::{Observer as _, Sent};
use std::collections::{BTreeMap, BTreeSet};

/// Longest delay that a receiver reports precisely. With a longer one, a round-trip time does not
/// count as the smallest.
const AT_ONCE: Duration = Duration::from_millis(1);

/// A segment that was sent, and its fate.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// Time of sending.
    pub sent: Time,
    /// Path.
    pub path: PathId,
    /// Number of the segment in the stream.
    pub segment: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Time at which this end learned of the arrival, and the delay that the receiver reports.
    pub acknowledged: Option<(Time, Duration)>,
    /// True if it was ever declared lost.
    pub lost: bool,
}

impl Transmission {
    /// Time from sending to the acknowledgement, less the receiver's delay.
    fn round_trip(&self) -> Option<Duration> {
        let (at, waited) = self.acknowledged?;
        let whole = at.since(self.sent);
        Some(whole - waited.min(whole))
    }
}

/// A whole recording.
#[derive(Debug)]
pub struct Recorded {
    /// Head of the recording.
    pub start: Start,
    /// All transmissions, in order.
    pub transmissions: Vec<Transmission>,
    /// Cost of each path, and whether it was a backup.
    pub terms: Vec<(u32, bool)>,
    /// Time of the last event.
    pub end: Time,
    /// True if the recording became full and the transfer went on.
    pub full: bool,
    /// True if the receiver has confirmed all data. Its confirmation came at the end: data without
    /// an acknowledgement had arrived by then.
    pub whole: bool,
}

/// Windows at one time.
struct WindowSample {
    time: Time,
    paths: Vec<(Path, (u64, u64))>,
    window_left: u64,
}

/// Contents of a recording that the recorder does not get.
#[derive(Default)]
struct RecordedTotals {
    samples: Vec<WindowSample>,
    last: Vec<Path>,
    decisions: u64,
    waits: u64,
    timeouts: Option<u64>,
    tail_probes: Option<u64>,
    rows: u64,
}

impl Recorded {
    /// Reads the transmissions and their fate.
    ///
    /// # Errors
    /// If the bytes are no recording.
    pub fn read(bytes: &[u8]) -> Result<Self, ReadError> {
        Self::read_with(bytes, None).map(|(recorded, _)| recorded)
    }

    /// Reads the transmissions and their fate. A recorder gets the transmissions and the decisions.
    fn read_with(
        bytes: &[u8],
        mut recorder: Option<&mut Recorder>,
    ) -> Result<(Self, RecordedTotals), ReadError> {
        let mut reader = Reader::new(bytes)?;
        let start = reader.start().clone();
        let terms = vec![(0, false); start.subject.paths.len()];
        let mut recorded =
            Self { start, transmissions: Vec::new(), terms, end: Time::ZERO, full: false, whole: false };
        let (mut totals, mut indices) = (RecordedTotals::default(), BTreeMap::new());
        while let Some(event) = reader.event()? {
            totals.rows += 1;
            recorded.end = recorded.end.max(moment(&event));
            match event {
                RecordedEvent::Sent { time, path, number, segment, bytes, reason } => {
                    let transmission = recorded.transmissions.len() as u64;
                    if transmission >= MAX_TRANSMISSIONS || segment > transmission + MAX_TRANSMISSIONS {
                        return Err(ReadError::Malformed {
                            at: 0,
                            what: "more segments than a recording has",
                        });
                    }
                    indices.insert((path, number), transmission as usize);
                    let sent = Sent { path, transmission, number, segment, bytes, reason };
                    if let Some(recorder) = &mut recorder {
                        recorder.sent(time, &sent);
                    }
                    let sent =
                        Transmission { sent: time, path, segment, bytes, acknowledged: None, lost: false };
                    recorded.transmissions.push(sent);
                }
                RecordedEvent::Acknowledged { time, path, number, waited } => {
                    if let Some(&index) = indices.get(&(path, number)) {
                        recorded.transmissions[index].acknowledged.get_or_insert((time, waited));
                    }
                }
                RecordedEvent::Lost { path, number, .. } => {
                    if let Some(&index) = indices.get(&(path, number)) {
                        recorded.transmissions[index].lost = true;
                    }
                }
                RecordedEvent::Decided { time, decision, connection, paths } => {
                    let wait = matches!(decision, Decision::Wait { .. });
                    for (terms, path) in recorded.terms.iter_mut().zip(paths) {
                        *terms = (path.cost, terms.1 || path.state == PathState::Backup);
                    }
                    totals.waits += u64::from(wait);
                    totals.decisions += u64::from(!wait);
                    if let Some(recorder) = &mut recorder {
                        recorder.decided(time, &decision, &connection, paths);
                    }
                }
                RecordedEvent::Sampled { time, paths, windows, window_left } => {
                    totals.last = paths.to_vec();
                    if recorder.is_some() {
                        let paths = paths.iter().cloned().zip(windows.iter().copied()).collect();
                        totals.samples.push(WindowSample { time, paths, window_left });
                    }
                }
                RecordedEvent::Ended { full, timeouts, tail_probes, whole, .. } => {
                    (recorded.full, recorded.whole) = (full, whole);
                    (totals.timeouts, totals.tail_probes) =
                        ((!full).then_some(timeouts), (!full).then_some(tail_probes));
                }
            }
        }
        Ok((recorded, totals))
    }

    /// Returns the smallest round-trip time of each path, from acknowledgements without delay, if
    /// there is one.
    fn smallest_round_trips(&self) -> Vec<Option<Duration>> {
        let mut smallest = vec![None; self.start.subject.paths.len()];
        let at_once = |one: &&Transmission| one.acknowledged.is_some_and(|(_, waited)| waited <= AT_ONCE);
        for transmission in self.transmissions.iter().filter(at_once) {
            let least: &mut Option<Duration> = &mut smallest[transmission.path.index()];
            *least = (*least).into_iter().chain(transmission.round_trip()).min();
        }
        smallest
    }

    /// Estimates the arrival of each transmission; [`Time::MAX`] if none was acknowledged.
    pub fn arrivals(&self) -> Vec<Time> {
        let smallest = self.smallest_round_trips();
        let arrival = |transmission: &Transmission| {
            let smallest = smallest[transmission.path.index()];
            let (Some(whole), Some((reported_at, _))) =
                (transmission.round_trip(), transmission.acknowledged)
            else {
                return Time::MAX;
            };
            let smallest = smallest.unwrap_or(whole);
            let back = Duration::from_nanos(smallest.as_nanos() / 2);
            // Nothing arrives after its acknowledgement, for any delay that a receiver reports.
            (transmission.sent + (whole.max(smallest) - back)).min(reported_at)
        };
        let mut arrivals: Vec<Time> = self.transmissions.iter().map(arrival).collect();
        if self.whole {
            self.estimate_unacknowledged(&mut arrivals);
        }
        arrivals
    }

    /// Estimates arrivals of unacknowledged segments: the newest transmission has arrived when the
    /// receiver confirms all data.
    fn estimate_unacknowledged(&self, arrivals: &mut [Time]) {
        let mut newest = BTreeMap::new();
        for (index, transmission) in self.transmissions.iter().enumerate() {
            newest.insert(transmission.segment, index);
        }
        for (sent, _) in self.transmissions.iter().zip(&*arrivals).filter(|(_, at)| **at < Time::MAX) {
            newest.remove(&sent.segment);
        }
        for index in newest.into_values() {
            arrivals[index] = self.end;
        }
    }

    /// Estimates the arrival of the last transmission.
    fn last_arrival(&self) -> Time {
        let arrived = self.arrivals().into_iter().filter(|at| *at < Time::MAX);
        arrived.max().unwrap_or(Time::ZERO)
    }

    /// Total payload bytes of this end; for streams, those that it sent.
    fn written(&self) -> u64 {
        if self.start.sends < ENDLESS {
            return self.start.sends;
        }
        let mut known = BTreeSet::new();
        let first = self.transmissions.iter().filter(|sent| known.insert(sent.segment));
        first.map(|sent| u64::from(sent.bytes)).sum()
    }

    /// Number of a path's data packets that were declared lost and never acknowledged.
    fn lost_on(&self, path: PathId) -> u64 {
        let lost = |one: &&Transmission| one.path == path && one.lost && one.acknowledged.is_none();
        self.transmissions.iter().filter(lost).count() as u64
    }
}

fn moment(event: &RecordedEvent<'_>) -> Time {
    match *event {
        RecordedEvent::Sent { time, .. }
        | RecordedEvent::Acknowledged { time, .. }
        | RecordedEvent::Lost { time, .. }
        | RecordedEvent::Decided { time, .. }
        | RecordedEvent::Sampled { time, .. }
        | RecordedEvent::Ended { time, .. } => time,
    }
}

/// Returns the result of a recording. `scenario` has the names of the run and its paths; its
/// description of links has no part in the result.
///
/// # Errors
/// If the bytes are no recording.
///
/// # Panics
/// If the scenario and the recording differ in their number of paths.
pub fn result(scenario: &Scenario, bytes: &[u8]) -> Result<RunResult, ReadError> {
    let options =
        RecordOptions { packets: true, series: Some(INTERVAL), decisions: true, ..RecordOptions::default() };
    let paths = scenario.paths.len();
    let mut recorder = Recorder::new(paths, scenario.warmup, &scenario.workload, &options);
    let (recorded, totals) = Recorded::read_with(bytes, Some(&mut recorder))?;
    assert_eq!(recorded.start.subject.paths.len(), paths, "the scenario is not the recording's");
    let mut series = Series::new(scenario.transport.counted_packet());
    deliver(&recorded, &mut recorder, &totals.samples, &mut series);
    let path_ending = |index: usize| {
        let facts = totals.last.get(index);
        PathEnding {
            packets_lost: recorded.lost_on(PathId(index as u8)),
            packets_dropped: None,
            srtt: facts.filter(|facts| facts.has_rtt()).map(|facts| facts.srtt),
            cwnd_packets: facts.map(|facts| facts.cwnd.into()),
            ..PathEnding::default()
        }
    };
    let ending = Ending {
        engine: Engine::Sockets,
        // Data behind a gap may have arrived later than the last byte in order.
        end: recorder.completed(&scenario.workload).unwrap_or(recorded.end).max(recorded.last_arrival()),
        written_bytes: recorded.written(),
        spurious_retransmissions: recorder.duplicates(),
        counters: SenderCounters {
            tail_probes: totals.tail_probes,
            timeouts: totals.timeouts,
            decisions: Some(totals.decisions),
            waits: Some(totals.waits),
            ..SenderCounters::default()
        },
        events: totals.rows,
        paths: (0..paths).map(path_ending).collect(),
        path_series: Some(series.paths),
        connection_series: Some(series.connection),
        ..Ending::default()
    };
    Ok(RunResult::new(scenario, recorder, ending))
}

/// Passes the arrivals to the recorder in their estimated order, and samples the series at every
/// look.
fn deliver(recorded: &Recorded, recorder: &mut Recorder, samples: &[WindowSample], series: &mut Series) {
    let arrivals = recorded.arrivals();
    let mut order: Vec<usize> = (0..arrivals.len()).filter(|&index| arrivals[index] < Time::MAX).collect();
    order.sort_by_key(|&index| arrivals[index]);
    let mut waiting: BTreeMap<u64, u32> = BTreeMap::new();
    let (mut next, mut samples) = (0, samples.iter().peekable());
    for index in order {
        let (time, Transmission { path, segment, bytes, .. }) =
            (arrivals[index], recorded.transmissions[index]);
        while let Some(sample) = samples.next_if(|sample| sample.time < time) {
            series.sample(sample, recorder);
        }
        recorder.arriving(index as u64);
        if segment < next || waiting.contains_key(&segment) {
            recorder.duplicate(time, path, segment);
            continue;
        }
        recorder.arrived(time, path, segment, bytes);
        waiting.insert(segment, bytes);
        while let Some(bytes) = waiting.remove(&next) {
            recorder.delivered(time, next, bytes);
            next += 1;
        }
        recorder.settle(time);
    }
    for sample in samples {
        series.sample(sample, recorder);
    }
}

/// The time series.
struct Series {
    counted: f64,
    paths: PathSeries,
    connection: ConnectionSeries,
}

impl Series {
    fn new(counted: f64) -> Self {
        Self { counted, paths: PathSeries::default(), connection: ConnectionSeries::default() }
    }

    fn sample(&mut self, sample: &WindowSample, recorder: &Recorder) {
        let (packets, bytes) = recorder.waiting();
        let series = &mut self.connection;
        series.time.push(nanos(sample.time));
        series.buffer_packets.push(packets as u32);
        series.buffer_bytes.push(bytes);
        series.delivered_bytes.push(recorder.delivered_bytes());
        series.window_left.push(sample.window_left);
        for (facts, (window, threshold)) in &sample.paths {
            let series = &mut self.paths;
            let packets = |bytes: u64| {
                if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 / self.counted }
            };
            series.time.push(nanos(sample.time));
            series.path.push(facts.id.0);
            series.cwnd.push(packets(*window));
            series.ssthresh.push(packets(*threshold));
            series.srtt.push(if facts.has_rtt() { facts.srtt.as_nanos() as i64 } else { NEVER });
            series.in_flight.push(facts.in_flight);
            series.queued.push(facts.queued);
            series.link_queue.push(u32::MAX);
            series.arrived_bytes.push(recorder.arrived_bytes(facts.id));
        }
    }
}
