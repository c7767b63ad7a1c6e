//! One run: connections, other traffic and the links that they share, in virtual time.
//!
//! `network` carries packets over routes; `connection` drives the two ends of one connection;
//! `flow` is the competing traffic. A [`Tap`] sees the packets themselves. A [`Carrier`] carries
//! them in datagrams of another kind.
//!
//! - `network`, `routes`: links, and *routes* over them. A route is a run of *legs*, each on one link. A
//!   packet in flight holds the number of its leg, and the last leg names its receiver. So links
//!   know nothing of paths, and packets of all routes share the queue of a link. Losses and drops
//!   count per route; at the end every packet of every route is accounted for.
//! - `events`: the pending events of each end and of the whole run. If the ends meet only by packets,
//!   each end handles the events of the next moments in a row (the links' lookahead).
//! - `connection`: two ends, their application and their routes. The near end sends the recorded
//!   stream. The scenario's own connection is one; competing `tcp` and `multipath` flows are
//!   others, beside datagrams without acknowledgements. A backward flow uses the same links in the
//!   other direction.
//! - `layout`, `observers`: the links of a scenario; records of a connection.
//! - `runs`: the functions that make a run.
//! - `writer`, `clocks`: the application's writes; the end of the warm-up and samples.
//! - `tap`, `carrier`: without one (`()`) the compiler removes the code for it.
//!
//! # Cost of a packet
//! The cost of a packet is spread over about fifty functions, and a large part of it was the calls.
//! So functions on the way of every packet are `cfg_attr(not(debug_assertions), inline(always))`:
//! one piece of code in release builds, while tests, with many schedulers, compile quickly. Rare
//! cases are in functions of their own (`inline(never)`). Functions with many callers stay single
//! functions, except for their caller on the way of a packet. Measure instructions per packet
//! (callgrind): the placement of code by the linker changes times by a tenth and more.
//! Instructions do not show that a copy waits for words that were just written. Samples of the
//! clock do (`perf record -e cpu-clock`). So large records are written where they stay.
//!
//! # Memory of a packet in flight
//! With CMT-SCTP the records of a packet take 128 bytes: 64 in its link (`link/flight.rs`,
//! `flying.rs`), 24 as a transmission and 24 as a segment (`core/transmission.rs` and
//! `core/segment.rs` of the transport), 16 for the times of its first transmission and arrival
//! (`recorder`).
//! `make bench` measures them with the unused room of their rings. The 64 bytes hold a TCP packet
//! with its numbers, timestamps and offset, too. Rare data is outside of these records: copies of a
//! transmission, the paths of a segment with several paths, messages where streams alternate.
//! Nothing is stored twice.

mod carrier;
mod clocks;
mod connection;
mod datagrams;
mod drawn;
mod ending;
mod error;
mod events;
mod flow;
mod flying;
mod images;
pub(crate) mod layout;
mod network;
mod observers;
mod routes;
mod runs;
mod setup;
mod stack;
mod tap;
mod through_bytes;
mod writer;

pub use carrier::{Carried, Carrier, Datagram};
pub use drawn::{demands, on_times};
pub use error::RunError;
pub use images::Images;
pub use runs::{Preview, run, run_carried, run_tapped, run_with_preview};
pub use setup::transport;
pub use stack::{StackEvent, StackPath, StackState};
pub use tap::{Origin, PacketId, Sighting, Tap};
pub use through_bytes::ThroughBytes;

use clocks::{Baseline, CLOCKS, Clock};
use connection::{ConnectionRun, Parts};
use events::At;
use flow::{Flow, Totals};
use layout::Layout;
use network::{Fate, Network, Whose};
use routes::{End, RouteCounters};

use crate::agenda::EventKey;
use crate::application::ConnectionEnd;
pub use crate::application::times::OnTimes;
use crate::recorder::frames::{ConnectionSeries, PathSeries};
use crate::recorder::{RecordOptions, Recorder};
use crate::scenario::{Direction, Scenario};
use plait_sched::{Duration, Scheduler, Time};
use plait_transport::endpoint::{Endpoint, Side};

/// Events between two calls of the caller's `control`.
const EVENTS_PER_CHECK: u64 = 1 << 14;

/// The caller's answer to a report of progress.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Continue the run.
    Continue,
    /// Stop at once.
    Interrupt,
}

/// A run in progress.
pub(crate) struct Simulation<'a, S, T, C> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: Network,
    pub(crate) main: ConnectionRun<S, Recorder, T, C>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) baseline: Baseline,
    sampling: Option<Duration>,
    pub(crate) path_series: PathSeries,
    pub(crate) connection_series: ConnectionSeries,
    pub(crate) events: u64,
}

impl<'a, S: Scheduler, T: Tap, C: Carrier> Simulation<'a, S, T, C> {
    fn new(
        scenario: &'a Scenario,
        scheduler: S,
        options: &RecordOptions,
        tap: T,
        carrier: C,
    ) -> Result<Self, RunError> {
        setup::check(scenario)?;
        let config = setup::transport(scenario);
        let paths = scenario.paths.len();
        let mut layout = Layout::new(scenario);
        let (links, connections) = (layout.len(), 1 + scenario.flows.len());
        let timers = [&connection::TIMERS.repeat(connections)[..], &CLOCKS].concat();
        let mut network = Network::new(&mut layout, &timers);
        let routes = (0..paths).map(|path| {
            [Direction::Forward, Direction::Backward].map(|direction| {
                let hops = scenario.directed(scenario.hops(path), direction);
                network.add_route(
                    &layout,
                    &hops,
                    direction,
                    End { connection: 0, path: path as u8, direction },
                )
            })
        });
        let client = scenario.workload.client();
        let (near, far, other) = match client {
            ConnectionEnd::Near => (Side::Client, Side::Server, setup::only_path()),
            // The far end's data is scheduled, too.
            ConnectionEnd::Far => (Side::Server, Side::Client, scenario.scheduler.build()),
        };
        let parts = Parts {
            routes: routes.collect(),
            near: Endpoint::new(&config, near, &setup::paths(scenario), scheduler)?,
            far: Endpoint::new(&config, far, &setup::paths(scenario), other)?,
            overhead: config.overhead(),
            observer: Recorder::new(paths, scenario.warmup, &scenario.workload, options),
            application: scenario.workload.start(scenario.seed),
            client,
            until: Time::MAX,
        };
        let main = ConnectionRun::new(parts, &network, links, tap, carrier);
        if T::LOOKS || C::CARRIES {
            network.watch();
        }
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for (index, flow) in scenario.flows.iter().enumerate() {
            let place = (index + 1, links + (index + 1) * connection::TIMERS.len());
            let built = Flow::new(scenario, flow, place, &layout, &mut network);
            flows.push(built.map_err(|error| RunError::Flow { name: flow.name.clone(), error })?);
        }
        Ok(Self {
            scenario,
            baseline: Baseline {
                paths: vec![RouteCounters::default(); paths],
                flows: vec![Totals::default(); flows.len()],
                ..Baseline::default()
            },
            network,
            main,
            flows,
            sampling: options.series,
            path_series: PathSeries::default(),
            connection_series: ConnectionSeries::default(),
            events: 0,
        })
    }

    fn begin(&mut self) -> Result<(), RunError> {
        if !self.scenario.warmup.is_zero() {
            self.set_clock(Clock::Warmup, Time::ZERO + self.scenario.warmup);
        }
        if self.sampling.is_some() {
            self.set_clock(Clock::Sampler, Time::ZERO);
        }
        self.main.begin(&mut self.network, true)?;
        for index in 0..self.flows.len() {
            self.flows[index].begin(&mut self.network).map_err(|error| self.flow_error(index, error))?;
        }
        Ok(())
    }

    /// Handles all events before `end`. Returns false if the run is complete before.
    fn advance(&mut self, end: Time, control: &mut dyn FnMut(f64) -> Control) -> Result<bool, RunError> {
        let lookahead = self.lookahead();
        let mut next_check = self.events + EVENTS_PER_CHECK;
        while let Some((key, source)) = self.network.events.peek() {
            if key.time >= end {
                self.network.now = end;
                return Ok(true);
            }
            let until = key.time.saturating_add(lookahead).min(end).min(self.network.events.next_clock());
            if until > key.time {
                self.handle_ends(until)?;
            } else {
                self.handle(key.time, source)?;
            }
            if self.is_complete() {
                return Ok(false);
            }
            if self.events >= next_check {
                next_check = self.events + EVENTS_PER_CHECK;
                let share = key.time.as_secs_f64() / self.scenario.duration.as_secs_f64();
                if control(share) == Control::Interrupt || self.main.tap.gives_up() {
                    return Err(RunError::Interrupted);
                }
            }
        }
        if self.scenario.workload.is_endless() || self.main.is_drained() {
            self.network.now = end;
            return Ok(true);
        }
        Err(RunError::Stalled { at: self.network.now })
    }

    /// The time by which one end may be ahead of the other; zero if events must be handled in their
    /// order.
    fn lookahead(&self) -> Duration {
        if self.flows.is_empty() && self.main.meets_by_packets() {
            self.network.lookahead()
        } else {
            Duration::ZERO
        }
    }

    /// Handles all events of both ends before `until`, up to the one that completes the run or
    /// fails. The far end goes first: only deliveries complete a run.
    fn handle_ends(&mut self, until: Time) -> Result<(), RunError> {
        let mut before = EventKey { time: until, ..EventKey::default() };
        let result = self.handle_end::<true>(&mut before);
        let far = self.network.now;
        self.handle_end::<false>(&mut before)?;
        self.network.now = self.network.now.max(far);
        result
    }

    /// Handles all events of the far or near end before `before`, and sets it to the last event of
    /// the run.
    #[inline(never)]
    fn handle_end<const FAR: bool>(&mut self, before: &mut EventKey) -> Result<(), RunError> {
        let end = if FAR { At::Far } else { At::Near };
        let completes = FAR && !self.scenario.workload.is_endless();
        loop {
            let (time, place) = self.network.events.first_at(end);
            if time >= before.time && (time > before.time || self.network.events.key(place) >= *before) {
                return Ok(());
            }
            let source = self.network.events.source(place);
            let key = FAR.then(|| self.network.events.key(place));
            let result = if self.network.keeps_order(source) {
                self.network.now = time;
                self.events += 1;
                match self.network.pop_open(end, place, source) {
                    Some(arrival) => self.main.receive(&mut self.network, arrival).map_err(RunError::from),
                    None => {
                        self.tell();
                        Ok(())
                    }
                }
            } else {
                self.handle(time, source)
            };
            if result.is_err() || completes && self.is_complete() {
                *before = key.unwrap_or(*before);
                return result;
            }
        }
    }

    /// True once a finite workload is delivered wholly and all flows that the run waits for are
    /// complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.main.observer.completed(&self.scenario.workload).is_some()
            && self
                .scenario
                .flows
                .iter()
                .zip(&self.flows)
                .all(|(flow, run)| !flow.is_awaited() || run.completed().is_some())
    }

    /// Reports lost and copied packets to tap and carrier.
    #[inline]
    fn tell(&mut self) {
        if !(T::LOOKS || C::CARRIES) {
            return;
        }
        while let Some(fate) = self.network.next_fate() {
            match fate {
                (Fate::Gone, Whose::Packet(id)) => self.main.tap.gone(id),
                (Fate::Gone, Whose::Carried(number)) => self.main.carrier.gone(number),
                (Fate::Copied, Whose::Packet(id)) => self.main.tap.copied(id),
                (Fate::Copied, Whose::Carried(number)) => self.main.carrier.copied(number),
            }
        }
    }

    /// Handles the event of a source.
    #[inline(never)]
    fn handle(&mut self, time: Time, source: usize) -> Result<(), RunError> {
        self.network.now = time;
        self.events += 1;
        self.happen(source)?;
        self.tell();
        if C::CARRIES
            && let Some(failure) = self.main.carrier.failure()
        {
            return Err(RunError::Carrier(failure.to_owned()));
        }
        Ok(())
    }

    fn happen(&mut self, source: usize) -> Result<(), RunError> {
        let links = self.network.link_count();
        if source < links {
            let Some((end, flying)) = self.network.pop(source) else { return Ok(()) };
            // Reports a copy before the packet itself arrives.
            self.tell();
            if end.connection == 0 {
                let main = &mut self.main;
                if C::CARRIES
                    && let Some(number) = flying.carried_number()
                {
                    return Ok(main.arrive_carried(&mut self.network, number)?);
                }
                return match self.network.open(end, &flying) {
                    Some(arrival) => Ok(main.receive(&mut self.network, arrival)?),
                    None => Ok(()),
                };
            }
            return self.arrive_at_flow(end, &flying);
        }
        self.network.events.set(self.network.events.place(source), EventKey::NEVER);
        let timer = source - links;
        match (timer / connection::TIMERS.len(), timer % connection::TIMERS.len()) {
            (0, timer) => Ok(self.main.handle_timer(&mut self.network, timer)?),
            (flow, timer) if flow <= self.flows.len() => self.handle_flow_timer(flow - 1, timer),
            (_, clock) if clock == Clock::Sampler as usize => {
                self.sample();
                Ok(())
            }
            _ => {
                self.end_warmup();
                Ok(())
            }
        }
    }
}
