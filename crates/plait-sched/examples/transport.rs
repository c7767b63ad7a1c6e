//! A small transport around a scheduler: windows in bytes, two streams over one connection, a path
//! whose index is used again.
//!
//! `cargo run --package plait-sched --example transport -- [SCHEDULER]`
//!
//! The transport keeps bytes and shows segments, as [`Path::cwnd`] requires. Streams take turns
//! where data leaves the connection's queue, so the scheduler need not know of them: it sees one
//! queue whose segments are numbered in that order. Links lose nothing and have infinite queues.
//! Segments in flight on a path that goes away are retransmitted on another path.

use plait_sched::{
    Builtin, Capabilities, Connection, Decision, Duration, Event, Outstanding, Path, PathId, PathSet,
    PathState, Scheduler, Time,
};
use std::collections::VecDeque;

/// Payload bytes of a full segment.
const MSS: u32 = 1_200;
/// The window of a path begins with the first number of bytes. It grows by the acknowledged bytes
/// up to the second.
const WINDOWS: (u32, u32) = (12_000, 48_000);
/// Segments that the receiver holds at most.
const RECEIVE_WINDOW: u64 = 64;
/// Capabilities beyond assignments within the window: the paths have queues.
const OFFERED: Capabilities = Capabilities { assign_ahead: true, recall: true, ..Capabilities::NONE };

/// A segment, with its stream and its number of bytes.
#[derive(Clone, Copy)]
struct Segment {
    number: u64,
    stream: usize,
    bytes: u32,
}

/// One path: the link (time per byte, delay one way), the state of the sender, and the facts
/// derived from it.
struct Way {
    nanos_per_byte: u64,
    delay: Duration,
    window: u32,
    bytes_in_flight: u32,
    queue: VecDeque<Segment>,
    /// Segments in flight, with the times of sending and of the acknowledgement.
    flight: VecDeque<(Segment, Time, Time)>,
    link_free: Time,
    facts: Path,
    sent: u64,
}

impl Way {
    fn new(index: u8, mbit: u64, delay_ms: u64) -> Self {
        Self {
            nanos_per_byte: 8_000 / mbit,
            delay: Duration::from_millis(delay_ms),
            window: WINDOWS.0,
            bytes_in_flight: 0,
            queue: VecDeque::new(),
            flight: VecDeque::new(),
            link_free: Time::ZERO,
            facts: Path::new(PathId(index), MSS),
            sent: 0,
        }
    }

    /// Converts bytes to segments: `cwnd` less `in_flight` has to be the number of segments that
    /// may leave, for segments of any size.
    fn refresh(&mut self) {
        let room = self.window.saturating_sub(self.bytes_in_flight) / MSS;
        self.facts.cwnd = self.window / MSS;
        self.facts.in_flight = self.facts.cwnd.saturating_sub(room);
        self.facts.queued = self.queue.len() as u32;
    }

    /// RFC 6298, section 2, without the timer.
    fn measure(&mut self, rtt: Duration) {
        let facts = &mut self.facts;
        let first = facts.srtt.is_zero();
        facts.rttvar = if first { rtt / 2 } else { (facts.rttvar * 3 + facts.srtt.abs_diff(rtt)) / 4 };
        facts.srtt = if first { rtt } else { (facts.srtt * 7 + rtt) / 8 };
        facts.min_rtt = if first { rtt } else { facts.min_rtt.min(rtt) };
        facts.latest_rtt = rtt;
        facts.own_rtt = facts.srtt; // acknowledgements come back on the path that they are about
    }
}

/// The sender, and the network with it.
struct Transport<S> {
    scheduler: S,
    ways: Vec<Way>,
    facts: Vec<Path>,
    /// Bytes of each stream that are in no segment yet.
    streams: [u64; 2],
    /// Bytes of each stream that the receiver has not acknowledged, and the time of the last
    /// acknowledgement.
    missing: [u64; 2],
    finished: [Time; 2],
    /// Recalled or lost segments, sent before new data, in order.
    returned: VecDeque<Segment>,
    next_number: u64,
    turn: usize,
    /// Segments in flight in the order of their numbers, with the paths that carry them.
    outstanding: Vec<(u64, PathId)>,
    sent_again: u64,
}

impl<S: Scheduler> Transport<S> {
    fn new(scheduler: S, ways: Vec<Way>) -> Result<Self, String> {
        if let Some(missing) = scheduler.needs().missing_from(OFFERED) {
            return Err(format!("this transport cannot do what the scheduler needs: {missing}"));
        }
        Ok(Self {
            scheduler,
            facts: ways.iter().map(|way| way.facts.clone()).collect(),
            ways,
            streams: [0; 2],
            missing: [0; 2],
            finished: [Time::ZERO; 2],
            returned: VecDeque::new(),
            next_number: 0,
            turn: 0,
            outstanding: Vec::new(),
            sent_again: 0,
        })
    }

    fn write(&mut self, stream: usize, bytes: u64) {
        self.streams[stream] += bytes;
        self.missing[stream] += bytes;
    }

    #[allow(clippy::needless_update, reason = "later versions may have more facts")]
    /// One queue for all streams. The receiver counts from the oldest segment that it lacks.
    fn connection(&self) -> Connection {
        let fresh: u64 = self.streams.iter().map(|bytes| bytes.div_ceil(u64::from(MSS))).sum();
        let next = self.returned.front().map_or(self.next_number, |segment| segment.number);
        let queued = self.ways.iter().flat_map(|way| way.queue.front()).map(|segment| segment.number).min();
        let oldest = self.outstanding.first();
        let base = oldest.map_or(next, |&(number, _)| number).min(next).min(queued.unwrap_or(next));
        let ahead = self.ways.iter().map(|way| way.queue.len() as u64).sum::<u64>();
        Connection {
            unassigned: self.returned.len() as u64 + fresh,
            next_segment: next,
            window_left: (base + RECEIVE_WINDOW).saturating_sub(next.max(base)).saturating_sub(ahead),
            window: RECEIVE_WINDOW,
            send_buffer_left: u64::MAX,
            oldest_unacked: oldest.map(|&(number, path)| {
                let mut carried = PathSet::EMPTY;
                carried.insert(path);
                Outstanding::new(number, path, carried)
            }),
            finished: true,
            ..Connection::default()
        }
    }

    /// Returns the next segment: returned segments first, then the streams in turn.
    fn take(&mut self) -> Option<Segment> {
        if let Some(segment) = self.returned.pop_front() {
            return Some(segment);
        }
        let stream = [self.turn, 1 - self.turn].into_iter().find(|&stream| self.streams[stream] > 0)?;
        self.turn = 1 - stream;
        let bytes = self.streams[stream].min(u64::from(MSS)) as u32;
        self.streams[stream] -= u64::from(bytes);
        self.next_number += 1;
        Some(Segment { number: self.next_number - 1, stream, bytes })
    }

    fn give_back(&mut self, segment: Segment) {
        let place = self.returned.partition_point(|other| other.number < segment.number);
        self.returned.insert(place, segment);
    }

    fn tell(&mut self, event: &Event) {
        self.refresh();
        if self.scheduler.interest().covers(event) {
            self.scheduler.on_event(event, &self.connection(), &self.facts);
        }
    }

    fn refresh(&mut self) {
        for (way, facts) in self.ways.iter_mut().zip(&mut self.facts) {
            way.refresh();
            facts.clone_from(&way.facts);
        }
    }

    /// Asks until the scheduler waits. Assigned segments leave as the windows admit.
    fn run_scheduler(&mut self, now: Time) {
        self.send(now);
        while self.connection().unassigned > 0 || self.scheduler.needs().recall {
            match self.scheduler.decide(now, &self.connection(), &self.facts) {
                Decision::Assign { path, segments } => {
                    for _ in 0..segments {
                        let Some(segment) = self.take() else { break };
                        self.ways[path.index()].queue.push_back(segment);
                    }
                    self.send(now);
                }
                Decision::Recall { path } => {
                    while let Some(segment) = self.ways[path.index()].queue.pop_back() {
                        self.give_back(segment);
                    }
                    self.refresh();
                }
                // A time of the next question would be a further event in `run`; no scheduler
                // without copies needs it.
                Decision::Wait { .. } => break,
                other => unreachable!("the scheduler never said that it needs {other:?}"),
            }
        }
    }

    fn send(&mut self, now: Time) {
        for index in 0..self.ways.len() {
            while let Some(&segment) = self.ways[index].queue.front() {
                let way = &mut self.ways[index];
                if way.bytes_in_flight + segment.bytes > way.window {
                    break;
                }
                way.queue.pop_front();
                way.link_free = now.max(way.link_free)
                    + Duration::from_nanos(way.nanos_per_byte) * u64::from(segment.bytes);
                way.flight.push_back((segment, now, way.link_free + way.delay * 2));
                way.bytes_in_flight += segment.bytes;
                way.sent += 1;
                let path = PathId(index as u8);
                let place = self.outstanding.partition_point(|&(number, _)| number < segment.number);
                self.outstanding.insert(place, (segment.number, path));
                self.tell(&Event::Sent { path, segment: segment.number, retransmission: false });
            }
        }
        self.refresh();
    }

    /// Acknowledges the oldest segment of a path.
    fn acknowledge(&mut self, index: usize) -> Time {
        let way = &mut self.ways[index];
        let (segment, sent, now) = way.flight.pop_front().expect("it was the next moment");
        let rtt = now.since(sent);
        way.measure(rtt);
        way.bytes_in_flight -= segment.bytes;
        way.window = (way.window + segment.bytes).min(WINDOWS.1);
        self.outstanding.retain(|&(number, _)| number != segment.number);
        self.missing[segment.stream] -= u64::from(segment.bytes);
        if self.missing[segment.stream] == 0 {
            self.finished[segment.stream] = now;
        }
        self.tell(&Event::Acked { path: PathId(index as u8), segments: 1, rtt: Some(rtt) });
        now
    }

    /// Handles the loss of a path's network: its segments go to other paths. The index stays, so
    /// that schedulers can identify paths by it.
    fn path_down(&mut self, index: usize) {
        let way = &mut self.ways[index];
        way.facts.state = PathState::Failed;
        way.bytes_in_flight = 0;
        let lost: Vec<Segment> = way.flight.drain(..).map(|(segment, ..)| segment).collect();
        let unsent: Vec<Segment> = way.queue.drain(..).collect();
        self.sent_again += lost.len() as u64;
        self.outstanding.retain(|&(_, path)| path.index() != index);
        lost.into_iter().chain(unsent).for_each(|segment| self.give_back(segment));
        self.tell(&Event::PathDown { path: PathId(index as u8) });
    }

    /// Starts another network under the same index. Measurements of the old network do not apply to
    /// it, so its facts begin anew.
    fn path_up(&mut self, index: usize, way: Way) {
        let sent = self.ways[index].sent;
        self.ways[index] = Way { sent, ..way };
        self.tell(&Event::PathUp { path: PathId(index as u8) });
    }

    /// The path of the next acknowledgement, and its time.
    fn next(&self) -> Option<(Time, usize)> {
        let heads = self.ways.iter().enumerate();
        heads.filter_map(|(index, way)| way.flight.front().map(|&(.., at)| (at, index))).min()
    }
}

/// The result of a run.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    /// The time at which each stream was complete.
    finished: [Time; 2],
    /// Segments sent on each path.
    sent: [u64; 2],
    sent_again: u64,
}

/// Two streams. The second path goes away after 150 ms, and another network gets its index after
/// 300 ms.
fn run(scheduler: impl Scheduler) -> Result<Outcome, String> {
    let mut transport = Transport::new(scheduler, vec![Way::new(0, 8, 10), Way::new(1, 16, 30)])?;
    transport.write(0, 600_000);
    transport.write(1, 100_000);
    let mut changes = VecDeque::from([150, 300]);
    transport.refresh();
    transport.run_scheduler(Time::ZERO);
    while let Some((at, index)) = transport.next() {
        let change =
            changes.front().map(|&ms| Time::ZERO + Duration::from_millis(ms)).filter(|&change| change <= at);
        let now = match change {
            Some(now) => {
                if changes.pop_front() == Some(150) {
                    transport.path_down(1);
                } else {
                    transport.path_up(1, Way { link_free: now, ..Way::new(1, 4, 5) });
                }
                now
            }
            None => transport.acknowledge(index),
        };
        transport.run_scheduler(now);
    }
    let sent = [transport.ways[0].sent, transport.ways[1].sent];
    Ok(Outcome { finished: transport.finished, sent, sent_again: transport.sent_again })
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "lowest-rtt".to_owned());
    let Outcome { finished, sent, sent_again } = run(Builtin::new(&name, &[])?)?;
    println!("{name}: streams complete after {} and {} ns", finished[0].as_nanos(), finished[1].as_nanos());
    println!("{name}: {} and {} segments sent, {sent_again} of them again", sent[0], sent[1]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::SCHEDULERS;

    #[test]
    fn every_stream_arrives_whole_under_every_scheduler_that_the_transport_can_serve() {
        let mut served = 0;
        for info in SCHEDULERS {
            match run(Builtin::new(info.name, &[]).unwrap()) {
                Ok(outcome) => {
                    assert!(outcome.finished.iter().all(|&at| at > Time::ZERO), "{}", info.name);
                    // 500 full segments of the first stream; 83 full segments and a smaller one of
                    // the second.
                    assert_eq!(outcome.sent.iter().sum::<u64>(), 584 + outcome.sent_again, "{}", info.name);
                    served += 1;
                }
                Err(refusal) => {
                    assert!(info.needs.missing_from(OFFERED).is_some(), "{}: {refusal}", info.name);
                }
            }
        }
        assert!(served >= 3);
    }

    #[test]
    fn a_path_alone_takes_as_long_as_its_rate_says() {
        let mut transport =
            Transport::new(Builtin::new("lowest-rtt", &[]).unwrap(), vec![Way::new(0, 8, 10)]).unwrap();
        transport.write(0, 12_000);
        transport.refresh();
        transport.run_scheduler(Time::ZERO);
        while let Some((_, index)) = transport.next() {
            let now = transport.acknowledge(index);
            transport.run_scheduler(now);
        }
        // 12 000 bytes at 8 Mbit/s, and 10 ms in each direction.
        assert_eq!(transport.finished[0], Time::ZERO + Duration::from_millis(12 + 20));
    }

    #[test]
    fn the_next_network_under_an_index_begins_without_measurements() {
        let mut transport =
            Transport::new(Builtin::new("lowest-rtt", &[]).unwrap(), vec![Way::new(0, 8, 10)]).unwrap();
        transport.ways[0].measure(Duration::from_millis(20));
        transport.path_down(0);
        assert_eq!(transport.facts[0].state, PathState::Failed);
        transport.path_up(0, Way::new(0, 4, 5));
        assert!(transport.facts[0].is_open() && !transport.facts[0].has_rtt());
    }
}
