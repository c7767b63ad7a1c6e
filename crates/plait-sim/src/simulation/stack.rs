//! Protocol stacks that replace the simulated ends: their events, their state, and the results of
//! their runs.
//!
//! A stack is a [`Carrier`] with [`Carrier::IS_STACK`]. Application, links, flows and recorder are
//! the simulation's. The stack has both ends of the connection: it sends its own packets over the
//! links, and reports the data that they carry.

use super::connection::ConnectionRun;
use super::observers::Record;
use super::{Carrier, RunError, Simulation, Tap};
use crate::recorder::frames::{NEVER, nanos};
use crate::result::{Ending, PathEnding, RunResult, SenderCounters};
use plait_sched::{Duration, PathId, Scheduler, Time};
use plait_transport::Sent;

/// An event at one of a stack's ends.
#[derive(Clone, Copy, Debug)]
pub enum StackEvent {
    /// The near end sent a segment.
    Sent(Sent),
    /// The far end received a segment for the first time.
    Arrived {
        /// The path.
        path: PathId,
        /// The transmission's number in [`Sent`].
        transmission: u64,
        /// The segment's number in the stream.
        segment: u64,
        /// Its payload bytes.
        bytes: u32,
    },
    /// The far end received a segment that had arrived before.
    Duplicate {
        /// The path.
        path: PathId,
        /// The transmission's number in [`Sent`].
        transmission: u64,
        /// The segment's number in the stream.
        segment: u64,
    },
    /// The far end's application read a segment. Segments are read in order.
    Delivered {
        /// The segment's number in the stream.
        segment: u64,
        /// Its payload bytes.
        bytes: u32,
    },
}

/// The state of a stack's near end. Sizes are in bytes as the stack counts them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackState {
    /// Timeouts of data since the start.
    pub timeouts: u64,
    /// The receiver's window that is left.
    pub window_left: u64,
    /// One entry per path of the scenario.
    pub paths: Vec<StackPath>,
}

/// The state of one path of a stack's near end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackPath {
    /// The smoothed round-trip time, if it was measured.
    pub srtt: Option<Duration>,
    /// The congestion window.
    pub cwnd: u64,
    /// The slow-start threshold.
    pub ssthresh: u64,
    /// The data in flight.
    pub in_flight: u64,
}

impl<S: Scheduler, O: Record, T: Tap, C: Carrier> ConnectionRun<S, O, T, C> {
    /// Records the events of a stack.
    pub(super) fn hear_stack(&mut self, now: Time) {
        if !C::IS_STACK {
            return;
        }
        while let Some(event) = self.carrier.next_event() {
            match event {
                StackEvent::Sent(sent) => self.observer.sent(now, &sent),
                StackEvent::Arrived { path, transmission, segment, bytes } => {
                    self.observer.arriving(transmission);
                    self.observer.arrived(now, path, segment, bytes);
                }
                StackEvent::Duplicate { path, transmission, segment } => {
                    self.observer.arriving(transmission);
                    self.observer.duplicate(now, path, segment);
                }
                StackEvent::Delivered { segment, bytes } => self.observer.delivered(now, segment, bytes),
            }
        }
        self.observer.settle(now);
    }
}

impl<S: Scheduler, T: Tap, C: Carrier> Simulation<'_, S, T, C> {
    /// Adds a sample of a stack to the series.
    pub(super) fn sample_stack(&mut self, state: &StackState) {
        let time = nanos(self.network.now);
        let counted = self.scenario.transport.counted_packet();
        let (packets, bytes) = self.main.observer.waiting();
        let series = &mut self.connection_series;
        series.time.push(time);
        series.buffer_packets.push(packets as u32);
        series.buffer_bytes.push(bytes);
        series.delivered_bytes.push(self.main.observer.delivered_bytes);
        series.window_left.push((state.window_left as f64 / counted) as u64);
        for (index, path) in state.paths.iter().enumerate() {
            let series = &mut self.path_series;
            series.time.push(time);
            series.path.push(index as u8);
            series.cwnd.push(path.cwnd as f64 / counted);
            series.ssthresh.push(path.ssthresh as f64 / counted);
            series.srtt.push(path.srtt.map_or(NEVER, |srtt| srtt.as_nanos() as i64));
            series.in_flight.push((path.in_flight as f64 / counted).round() as u32);
            series.queued.push(0);
            series.link_queue.push(self.network.waiting(self.main.data_route(index)) as u32);
            series.arrived_bytes.push(self.main.observer.paths[index].arrived_bytes_since_start);
        }
    }

    /// Computes the result of a finished run.
    pub(super) fn conclude(mut self) -> Result<RunResult, RunError> {
        let state = self.main.carrier.state(self.network.now);
        if let Some(failure) = self.main.carrier.failure() {
            return Err(RunError::Carrier(failure.to_owned()));
        }
        Ok(match state {
            Some(state) => self.finish_stack(&state),
            None => self.finish(),
        })
    }

    fn finish_stack(self, state: &StackState) -> RunResult {
        let counted = self.scenario.transport.counted_packet();
        let paths = state.paths.iter().enumerate().map(|(index, path)| {
            let (packets_lost, packets_dropped) = self.forward_counters(index);
            PathEnding {
                packets_lost,
                packets_dropped: Some(packets_dropped),
                srtt: path.srtt,
                cwnd_packets: Some(path.cwnd as f64 / counted),
                ..PathEnding::default()
            }
        });
        let sampled = !self.connection_series.time.is_empty();
        let ending = Ending {
            engine: C::ENGINE,
            end: self.network.now,
            written_bytes: self.main.written_bytes(),
            spurious_retransmissions: self.main.observer.duplicates(),
            counters: SenderCounters {
                timeouts: Some(state.timeouts - self.baseline.stack_timeouts),
                ..SenderCounters::default()
            },
            events: self.events,
            paths: paths.collect(),
            flows: self.flow_endings(),
            queues: self.queue_metrics(),
            path_series: sampled.then_some(self.path_series),
            connection_series: sampled.then_some(self.connection_series),
            ..Ending::default()
        };
        RunResult::new(self.scenario, self.main.observer, ending)
    }
}
