//! Competing traffic in a run: connections, datagrams and their counters.

use super::connection::{ConnectionRun, Parts};
use super::datagrams::Datagrams;
use super::flying::Flying;
use super::layout::Layout;
use super::network::Network;
use super::observers::Record;
use super::routes::{End, RouteCounters, RouteId};
use super::{Carrier, RunError, Simulation, Tap, setup};
use crate::application::pace::Pace;
use crate::application::{Bulk, ConnectionEnd, File, Workload};
use crate::random::RandomStream;
use crate::scenario::{self, Direction, FlowKind, FlowRoute, Hop, Scenario};
use plait_sched::{Builtin, Duration, Scheduler, Time};
use plait_transport::endpoint::{Endpoint, Side};
use plait_transport::{Error, Observer, SendReason, Sent};

/// Counts the events of a connection, and records nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    sent: u64,
    retransmissions: u64,
    delivered_packets: u64,
    delivered_bytes: u64,
    last_delivery: Time,
}

impl Observer for Tally {
    fn sent(&mut self, _now: Time, sent: &Sent) {
        self.sent += 1;
        self.retransmissions += u64::from(sent.reason == SendReason::Retransmission);
    }

    fn delivered(&mut self, now: Time, _segment: u64, bytes: u32) {
        self.delivered_packets += 1;
        self.delivered_bytes += u64::from(bytes);
        self.last_delivery = now;
    }
}

impl Record for Tally {}

/// The random stream of the on and off times of the flow `name`.
pub(super) fn stream(seed: u64, name: &str) -> RandomStream {
    RandomStream::new(seed, &format!("flow {name}/on-off"))
}

/// The workload of a flow that is a connection.
fn stream_of(kind: &FlowKind, start: Duration) -> Workload {
    match kind.size() {
        Some(size) => File { size, start, deadline: None }.into(),
        None => Bulk { start }.into(),
    }
}

/// A flow's totals since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) retransmissions: u64,
    pub(crate) delivered_packets: u64,
    pub(crate) delivered_bytes: u64,
    pub(crate) lost: u64,
    pub(crate) dropped: u64,
}

/// Competing traffic in a run.
#[expect(clippy::large_enum_variant, reason = "there are few, and connections are the large ones")]
pub(crate) enum Flow {
    /// A connection.
    Connection(ConnectionRun<Builtin, Tally>),
    /// Datagrams.
    Datagrams(Datagrams),
}

impl Flow {
    /// Builds connection `number` of the run, whose sources of events begin at `source`.
    pub(super) fn new(
        scenario: &Scenario,
        flow: &scenario::Flow,
        (number, source): (usize, usize),
        layout: &Layout,
        network: &mut Network,
    ) -> Result<Self, Error> {
        let mut add = |hops: &[scenario::Hop], path: usize, direction: Direction| {
            let of_scenario =
                if direction == Direction::Forward { flow.direction } else { flow.direction.reversed() };
            let end = End { connection: number as u32, path: path as u8, direction };
            let hops = scenario.directed(hops.to_vec(), of_scenario);
            network.add_route(layout, &hops, of_scenario, end)
        };
        let hops = hops(scenario, &flow.route);
        let until = flow.stop.map_or(Time::MAX, |stop| Time::ZERO + stop);
        let (pace, packet) = match &flow.kind {
            FlowKind::Tcp { .. } | FlowKind::Multipath { .. } => {
                let routes = hops.iter().enumerate().map(|(path, hops)| {
                    [add(hops, path, Direction::Forward), add(hops, path, Direction::Backward)]
                });
                let routes: Vec<[RouteId; 2]> = routes.collect();
                let control = flow.kind.control();
                let (setup, scheduler) = match &flow.kind {
                    FlowKind::Multipath { scheduler, .. } => {
                        let scheduler = scheduler.as_ref().unwrap_or(&scenario.scheduler);
                        (setup::multipath(scenario, &flow.route, control), scheduler.build())
                    }
                    _ => (setup::tcp(scenario, control), setup::only_path()),
                };
                // No two controllers of a run draw the same numbers.
                let setup = setup.seeded(scenario.seed.wrapping_add((number as u64) << 8));
                let paths = setup::flow_paths(scenario, &flow.route);
                let parts = Parts {
                    near: Endpoint::new(&setup, Side::Client, &paths, scheduler)?,
                    far: Endpoint::new(&setup, Side::Server, &paths, setup::only_path())?,
                    overhead: setup.overhead(),
                    observer: Tally::default(),
                    application: stream_of(&flow.kind, flow.start).start(scenario.seed),
                    client: ConnectionEnd::Near,
                    routes,
                    until,
                };
                return Ok(Self::Connection(ConnectionRun::new(parts, network, source, (), ())));
            }
            FlowKind::ConstantRate { rate, packet } => {
                (Pace::constant(*rate, u64::from(*packet), flow.start, flow.stop), *packet)
            }
            FlowKind::OnOff { rate, packet, times } => {
                let pace = Pace::constant(*rate, u64::from(*packet), flow.start, flow.stop);
                (pace.on_off(*times, stream(scenario.seed, &flow.name)), *packet)
            }
        };
        let route = add(&hops[0], 0, Direction::Forward);
        Ok(Self::Datagrams(Datagrams::new(pace, packet, route, source, scenario.warmup)))
    }

    pub(super) fn begin(&mut self, network: &mut Network) -> Result<(), Error> {
        match self {
            Self::Connection(connection) => connection.begin(network, false),
            Self::Datagrams(datagrams) => {
                datagrams.begin(network);
                Ok(())
            }
        }
    }

    /// The totals so far.
    pub(crate) fn totals(&self, network: &Network) -> Totals {
        match self {
            Self::Connection(connection) => {
                let routes =
                    (0..connection.paths()).map(|path| network.counters(connection.data_route(path)));
                let (lost, dropped) =
                    routes.fold((0, 0), |(lost, dropped), one| (lost + one.lost, dropped + one.dropped));
                let tally = &connection.observer;
                Totals {
                    sent: tally.sent,
                    retransmissions: tally.retransmissions,
                    delivered_packets: tally.delivered_packets,
                    delivered_bytes: tally.delivered_bytes,
                    lost,
                    dropped,
                }
            }
            Self::Datagrams(datagrams) => {
                let RouteCounters { sent, arrived, lost, dropped, copied: _ } =
                    network.counters(datagrams.route());
                Totals {
                    sent,
                    retransmissions: 0,
                    delivered_packets: arrived,
                    delivered_bytes: arrived * u64::from(datagrams.bytes()),
                    lost,
                    dropped,
                }
            }
        }
    }

    /// The delivery time of the last byte of a finite flow, if it was delivered.
    pub(crate) fn completed(&self) -> Option<Time> {
        match self {
            Self::Connection(connection) => {
                let tally = &connection.observer;
                let complete =
                    tally.delivered_bytes > 0 && tally.delivered_bytes == connection.written_bytes();
                complete.then_some(tally.last_delivery)
            }
            Self::Datagrams(_) => None,
        }
    }
}

impl<S: Scheduler, T: Tap, C: Carrier> Simulation<'_, S, T, C> {
    #[inline(never)]
    pub(super) fn arrive_at_flow(&mut self, end: End, flying: &Flying) -> Result<(), RunError> {
        let index = end.connection as usize - 1;
        let arrived = match &mut self.flows[index] {
            Flow::Datagrams(datagrams) => {
                if let Some(sent) = flying.sent() {
                    datagrams.arrive(self.network.now, sent);
                }
                Ok(())
            }
            Flow::Connection(connection) => match self.network.open(end, flying) {
                Some(arrival) => connection.receive(&mut self.network, arrival),
                None => Ok(()),
            },
        };
        arrived.map_err(|error| self.flow_error(index, error))
    }

    #[inline(never)]
    pub(super) fn handle_flow_timer(&mut self, index: usize, timer: usize) -> Result<(), RunError> {
        let handled = match &mut self.flows[index] {
            Flow::Connection(connection) => connection.handle_timer(&mut self.network, timer),
            Flow::Datagrams(datagrams) => {
                datagrams.handle_timer(&mut self.network);
                Ok(())
            }
        };
        handled.map_err(|error| self.flow_error(index, error))
    }

    pub(super) fn flow_error(&self, index: usize, error: plait_transport::Error) -> RunError {
        RunError::Flow { name: self.scenario.flows[index].name.clone(), error }
    }
}

/// The hops of each of a flow's paths, in the order of the scenario's forward direction.
fn hops(scenario: &Scenario, route: &FlowRoute) -> Vec<Vec<Hop>> {
    match route {
        FlowRoute::Paths(paths) => paths.iter().map(|&path| scenario.hops(path)).collect(),
        FlowRoute::Links(links) => vec![links.iter().map(|&link| Hop::Shared(link)).collect()],
    }
}
