//! One run: a sender, a receiver and the links between them, in virtual time.

mod error;
mod flying;
mod setup;

pub use error::RunError;

use flying::{Acknowledgements, Flying};

use crate::agenda::{Agenda, Key};
use crate::link::{Exit, Link, LinkConfig, Sent};
use crate::recorder::frames::{ConnectionSeries, NEVER, PathSeries, nanos};
use crate::recorder::{RecordOptions, Recorder};
use crate::result::{self, RunResult};
use crate::scenario::{Scenario, Workload};
use plait_sched::{Duration, PathId, Scheduler, Time};
use plait_transport::endpoint::{Receiver, Sender};
use plait_transport::packet::{Overhead, Packet};
use plait_transport::{Counters, Transmit};

/// Events between two looks at the caller's wish to stop.
const EVENTS_PER_CHECK: u64 = 1 << 14;

/// What the caller wants after being told of the progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop at once.
    Interrupt,
}

/// Who can have something to do at a moment: the agenda's sources, after the links.
#[derive(Clone, Copy)]
enum Timer {
    Sender,
    Receiver,
    Application,
    Sampler,
    Warmup,
}

const TIMERS: usize = 5;

/// Counters at the end of the warm-up, which the metrics leave out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) sender: Counters,
    pub(crate) spurious: u64,
    pub(crate) links: Vec<crate::link::Counters>,
}

/// A run in progress.
pub(crate) struct Simulation<'a, S> {
    pub(crate) scenario: &'a Scenario,
    overhead: Overhead,
    agenda: Agenda,
    /// Forward links, then backward links, in the order of the paths.
    links: Vec<Link<Flying>>,
    acknowledgements: Acknowledgements,
    pub(crate) sender: Sender<S>,
    receiver: Receiver,
    pub(crate) recorder: Recorder,
    pub(crate) baseline: Baseline,
    /// Payload bytes that the application has written; `u64::MAX` if it never ends.
    pub(crate) written_bytes: u64,
    blocks_written: u64,
    sampling: Option<Duration>,
    pub(crate) path_series: PathSeries,
    pub(crate) connection_series: ConnectionSeries,
    pub(crate) now: Time,
    pub(crate) events: u64,
}

/// Runs `scenario` with `scheduler`. `control` is told the elapsed share of the scenario's duration now and then.
///
/// # Errors
/// If the scheduler breaks its contract, the peer becomes unreachable, or the caller interrupts.
pub fn run<S: Scheduler>(
    scenario: &Scenario,
    scheduler: S,
    options: &RecordOptions,
    control: &mut dyn FnMut(f64) -> Control,
) -> Result<RunResult, RunError> {
    let mut simulation = Simulation::new(scenario, scheduler, options)?;
    simulation.run(control)?;
    debug_assert!(
        simulation.links.iter().all(|link| {
            let counters = link.counters();
            counters.accepted == counters.delivered + counters.lost + link.inside() as u64
        }),
        "each packet that a link accepted was delivered, lost, or is inside"
    );
    Ok(result::summarize(simulation))
}

impl<'a, S: Scheduler> Simulation<'a, S> {
    fn new(scenario: &'a Scenario, scheduler: S, options: &RecordOptions) -> Result<Self, RunError> {
        let config = setup::transport(scenario);
        let paths = scenario.paths.len();
        let link = |link: &LinkConfig, index: usize, way: &str| {
            Link::new(link, scenario.seed, &format!("path {index} {way}"))
        };
        let forward = scenario.paths.iter().enumerate().map(|(i, p)| link(&p.forward, i, "forward"));
        let backward = scenario.paths.iter().enumerate().map(|(i, p)| link(&p.backward, i, "backward"));
        Ok(Self {
            scenario,
            overhead: scenario.transport.protocol.overhead(),
            agenda: Agenda::new(2 * paths + TIMERS),
            links: forward.chain(backward).collect(),
            acknowledgements: Acknowledgements::default(),
            sender: Sender::new(&config, &setup::paths(scenario), scheduler)?,
            receiver: Receiver::new(&config, paths),
            recorder: Recorder::new(paths, scenario.warmup, &scenario.workload, options),
            baseline: Baseline {
                links: vec![crate::link::Counters::default(); 2 * paths],
                ..Baseline::default()
            },
            written_bytes: 0,
            blocks_written: 0,
            sampling: options.series,
            path_series: PathSeries::default(),
            connection_series: ConnectionSeries::default(),
            now: Time::ZERO,
            events: 0,
        })
    }

    fn run(&mut self, control: &mut dyn FnMut(f64) -> Control) -> Result<(), RunError> {
        let end = Time::ZERO + self.scenario.duration;
        if !self.scenario.warmup.is_zero() {
            self.set_timer(Timer::Warmup, Some(Time::ZERO + self.scenario.warmup));
        }
        if self.sampling.is_some() {
            self.set_timer(Timer::Sampler, Some(Time::ZERO));
        }
        self.start_application();
        self.drain_sender()?;
        let mut until_check = EVENTS_PER_CHECK;
        while let Some((key, source)) = self.agenda.peek() {
            if key.time >= end {
                self.now = end;
                return Ok(());
            }
            self.now = key.time;
            self.events += 1;
            self.handle(source)?;
            if self.is_complete() {
                return Ok(());
            }
            until_check -= 1;
            if until_check == 0 {
                until_check = EVENTS_PER_CHECK;
                if control(self.now.as_secs_f64() / end.as_secs_f64()) == Control::Interrupt {
                    return Err(RunError::Interrupted);
                }
            }
        }
        if self.scenario.workload == Workload::Bulk || self.sender.is_drained() {
            self.now = end;
            return Ok(());
        }
        Err(RunError::Stalled { at: self.now })
    }

    /// True once a finite workload has been delivered wholly.
    fn is_complete(&self) -> bool {
        matches!(self.scenario.workload, Workload::File { size } if self.recorder.delivered_bytes == size)
    }

    fn handle(&mut self, source: usize) -> Result<(), RunError> {
        let paths = self.scenario.paths.len();
        if source < 2 * paths {
            let exit = self.links[source].pop();
            self.reschedule_link(source);
            return match exit {
                Exit::Lost(flying) => {
                    self.acknowledgements.forget(flying);
                    Ok(())
                }
                Exit::Delivered(flying) => {
                    let (packet, transmission) = self.acknowledgements.land(flying);
                    self.arrive(source, &packet, transmission)
                }
            };
        }
        self.agenda.cancel(source);
        match source - 2 * paths {
            n if n == Timer::Sender as usize => {
                self.sender.handle_timeout(self.now, &mut self.recorder)?;
                self.drain_sender()
            }
            n if n == Timer::Receiver as usize => {
                self.receiver.handle_timeout(self.now);
                self.drain_receiver();
                Ok(())
            }
            n if n == Timer::Application as usize => {
                self.write_block();
                self.drain_sender()
            }
            n if n == Timer::Sampler as usize => {
                self.sample();
                Ok(())
            }
            _ => {
                self.recorder.end_warmup();
                self.baseline = Baseline {
                    sender: self.sender.counters(),
                    spurious: self.sender.spurious_retransmissions(),
                    links: self.links.iter().map(|link| *link.counters()).collect(),
                };
                Ok(())
            }
        }
    }

    fn arrive(&mut self, link: usize, packet: &Packet, transmission: u64) -> Result<(), RunError> {
        let paths = self.scenario.paths.len();
        if link < paths {
            self.arrive_at_receiver(link, packet, transmission);
            return Ok(());
        }
        let path = PathId((link - paths) as u8);
        self.sender.handle_packet(self.now, path, packet, &mut self.recorder);
        self.drain_sender()
    }

    fn arrive_at_receiver(&mut self, path: usize, packet: &Packet, transmission: u64) {
        self.recorder.arriving = transmission;
        self.receiver.handle_packet(self.now, PathId(path as u8), packet, &mut self.recorder);
        self.recorder.settle(self.now);
        self.drain_receiver();
    }

    fn drain_receiver(&mut self) {
        while let Some(transmit) = self.receiver.poll_transmit(self.now) {
            let paths = self.scenario.paths.len();
            self.put_on_link(paths + transmit.path.index(), &transmit);
        }
        let timer = self.receiver.poll_timeout();
        self.set_timer(Timer::Receiver, timer);
    }

    fn drain_sender(&mut self) -> Result<(), RunError> {
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut self.recorder)? {
            self.put_on_link(transmit.path.index(), &transmit);
        }
        let timer = self.sender.poll_timeout();
        self.set_timer(Timer::Sender, timer);
        Ok(())
    }

    fn put_on_link(&mut self, link: usize, transmit: &Transmit) {
        let order = self.agenda.next_order();
        let bytes = self.overhead.wire_bytes(&transmit.packet);
        let flying = self.acknowledgements.launch(&transmit.packet, transmit.transmission);
        // A full queue drops silently, as real ones do: the sender finds out by itself.
        if self.links[link].send(self.now, bytes, order, flying) == Sent::DroppedFull {
            self.acknowledgements.forget(flying);
        }
        self.reschedule_link(link);
    }

    fn reschedule_link(&mut self, link: usize) {
        match self.links[link].head() {
            Some(key) if self.agenda.get(link) == Some(key) => {}
            Some(key) => self.agenda.set(link, key),
            None => self.agenda.cancel(link),
        }
    }

    /// A timer that moves into the future is left where it is: it comes too early then, which is harmless, and is set
    /// again. Retransmission timers move with every acknowledgement and hardly ever run out.
    fn set_timer(&mut self, timer: Timer, at: Option<Time>) {
        let Some(at) = at else { return };
        let source = 2 * self.scenario.paths.len() + timer as usize;
        if self.agenda.get(source).is_none_or(|pending| at < pending.time) {
            let order = self.agenda.next_order();
            self.agenda.set(source, Key { time: at.max(self.now), order });
        }
    }

    fn start_application(&mut self) {
        match self.scenario.workload {
            Workload::Bulk => {
                self.written_bytes = u64::MAX;
                self.sender.write_endlessly();
            }
            Workload::File { size } => {
                self.written_bytes = size;
                self.sender.write(size);
                self.sender.finish();
            }
            Workload::ConstantRate { start, .. } => {
                self.set_timer(Timer::Application, Some(Time::ZERO + start));
            }
        }
    }

    fn write_block(&mut self) {
        let Workload::ConstantRate { rate, block, start } = self.scenario.workload else { return };
        self.sender.write(block);
        self.recorder.block_written(self.now);
        self.written_bytes += block;
        self.blocks_written += 1;
        // Computed from the start, not from the last block: the rate is exact over any length.
        let offset = u128::from(self.blocks_written) * u128::from(block) * 8_000_000_000 / u128::from(rate);
        let next = Time::ZERO + start;
        let next = next.saturating_add(Duration::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX)));
        self.set_timer(Timer::Application, Some(next));
    }

    fn sample(&mut self) {
        let Some(interval) = self.sampling else { return };
        let time = nanos(self.now);
        let (packets, bytes) = self.recorder.waiting();
        let series = &mut self.connection_series;
        series.time.push(time);
        series.buffer_packets.push(packets as u32);
        series.buffer_bytes.push(bytes);
        series.delivered_bytes.push(self.recorder.delivered_bytes);
        series.window_left.push(self.sender.connection().window_left);
        let counted = self.scenario.transport.counted_packet();
        for (index, facts) in self.sender.paths().iter().enumerate() {
            let (window, threshold) = self.sender.window(PathId(index as u8));
            let series = &mut self.path_series;
            series.time.push(time);
            series.path.push(index as u8);
            series.cwnd.push(window as f64 / counted);
            series.ssthresh.push(if threshold == u64::MAX {
                f64::INFINITY
            } else {
                threshold as f64 / counted
            });
            series.srtt.push(if facts.has_rtt() { facts.srtt.as_nanos() as i64 } else { NEVER });
            series.in_flight.push(facts.in_flight);
            series.queued.push(facts.queued);
            series.link_queue.push(self.links[index].queue_packets(self.now) as u32);
            series.arrived_bytes.push(self.recorder.paths[index].arrived_bytes_since_start);
        }
        self.set_timer(Timer::Sampler, Some(self.now + interval));
    }

    /// What a link did since the end of the warm-up.
    pub(crate) fn forward_counters(&self, path: usize) -> (u64, u64) {
        let (now, before) = (self.links[path].counters(), &self.baseline.links[path]);
        (now.lost - before.lost, now.dropped - before.dropped)
    }

    /// Payload bytes that are neither delivered nor still to be written: on their way, waiting, or lost.
    pub(crate) fn undelivered_bytes(&self) -> Option<u64> {
        (self.written_bytes != u64::MAX).then(|| self.written_bytes - self.recorder.delivered_bytes)
    }
}
