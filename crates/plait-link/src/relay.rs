//! Relays packets over a scenario's links, without sockets or clocks: decides where and when each
//! packet leaves.
//!
//! The driver gives every packet with its time to [`Relay::send`], takes arrived packets from
//! [`Relay::poll`], and calls again at [`Relay::next`]. A late driver delivers late, but delays do
//! not accumulate: links calculate with the times at which packets should have left, so rates hold
//! regardless of the driver's delay.
//!
//! The links are those of the simulator, with the same names and seeds. The n-th packet of a
//! direction therefore meets the same loss and jitter as in the simulator.

use std::collections::VecDeque;

use plait_sched::Time;
use plait_sim::agenda::MAX_ORDER;
use plait_sim::link::discipline::Payload;
use plait_sim::link::{Admission, Exit, Link};
use plait_sim::scenario::{Direction, Hop, Scenario};

use crate::packet;

/// A packet inside a link.
#[derive(Clone, Copy, Default, Debug)]
struct InFlight {
    /// Index of its content.
    slot: u32,
    /// Index of the packet's current hop.
    hop: u32,
    bytes: u32,
    flow: u64,
    understands_marks: bool,
    marked: bool,
}

impl Payload for InFlight {
    fn flow(&self) -> u64 {
        self.flow
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.understands_marks;
        self.understands_marks
    }
}

/// One link of a route. The hops of a route are consecutive.
#[derive(Clone, Copy, Debug)]
struct RouteHop {
    link: usize,
    route: usize,
    last: bool,
}

/// Counters of the packets of one direction of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCounters {
    /// Packets given to the relay.
    pub sent: u64,
    /// Copies made by links that duplicate packets.
    pub copied: u64,
    /// Packets delivered at the other end.
    pub arrived: u64,
    /// Bytes of the delivered packets.
    pub arrived_bytes: u64,
    /// Packets lost on a wire, by chance or in an outage.
    pub lost: u64,
    /// Packets that found a queue full, or that a queueing discipline dropped.
    pub dropped: u64,
    /// Packets that arrived with a congestion mark that they did not have at the start.
    pub marked: u64,
}

/// A packet that arrives.
#[derive(PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// The path's number.
    pub path: usize,
    /// The direction; forward is from the near end to the far end.
    pub direction: Direction,
    /// The packet.
    pub content: &'a [u8],
}

/// The links of a scenario and the packets in them.
#[derive(Debug)]
pub struct Relay {
    links: Vec<Link<InFlight>>,
    hops: Vec<RouteHop>,
    /// The first hop of each path's directions, forward first.
    first_hops: Vec<usize>,
    counters: Vec<PathCounters>,
    contents: Vec<Vec<u8>>,
    free: Vec<u32>,
    ready: VecDeque<InFlight>,
    /// Slot lent by the last [`Relay::poll`]; free at the next call.
    lent: Option<u32>,
    order: u64,
}

/// Returns the number of a direction of a path.
const fn route(path: usize, direction: Direction) -> usize {
    path * 2 + matches!(direction, Direction::Backward) as usize
}

impl Relay {
    /// Creates the idle links of `scenario`. Its outages, steps and traces begin at time zero.
    pub fn new(scenario: &Scenario) -> Self {
        let mut relay = Self {
            links: Vec::new(),
            hops: Vec::new(),
            first_hops: Vec::new(),
            counters: vec![PathCounters::default(); scenario.paths.len() * 2],
            contents: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            lent: None,
            order: 0,
        };
        let mut known: Vec<((Hop, Direction), usize)> = Vec::new();
        for path in 0..scenario.paths.len() {
            for direction in [Direction::Forward, Direction::Backward] {
                relay.first_hops.push(relay.hops.len());
                for hop in scenario.directed(scenario.hops(path), direction) {
                    let link = known.iter().find(|(one, _)| *one == (hop, direction)).map(|(_, link)| *link);
                    let link = link.unwrap_or_else(|| {
                        let config = scenario.hop(hop, direction).expect("a directed route has its links");
                        relay.links.push(Link::new(config, scenario.seed, &name(scenario, hop, direction)));
                        known.push(((hop, direction), relay.links.len() - 1));
                        relay.links.len() - 1
                    });
                    relay.hops.push(RouteHop { link, route: route(path, direction), last: false });
                }
                if let Some(hop) = relay.hops.last_mut() {
                    hop.last = true;
                }
            }
        }
        relay
    }

    /// Sends a packet into a path. It takes `bytes` on the links, which may exceed the length of
    /// `content` by headers that a driver never sees. `now` never goes back.
    pub fn send(&mut self, now: Time, path: usize, direction: Direction, bytes: u32, content: &[u8]) {
        self.advance(now);
        let slot = self.store(content);
        self.counters[route(path, direction)].sent += 1;
        let in_flight = InFlight {
            slot,
            hop: self.first_hops[route(path, direction)] as u32,
            bytes,
            flow: packet::flow(content),
            understands_marks: packet::understands_marks(content),
            marked: false,
        };
        self.put(now, in_flight);
    }

    /// Returns the time of the next event in a link, or `None` if no packet is in flight. Arrived
    /// packets that were not taken out do not count.
    pub fn next(&self) -> Option<Time> {
        self.links.iter().filter_map(Link::head).map(|key| key.time).min()
    }

    /// Returns the next packet that has arrived by `now`. Call it until it returns `None`.
    pub fn poll(&mut self, now: Time) -> Option<Arrival<'_>> {
        self.free.extend(self.lent.take());
        self.advance(now);
        let in_flight = self.ready.pop_front()?;
        self.lent = Some(in_flight.slot);
        let number = self.hops[in_flight.hop as usize].route;
        let content = &mut self.contents[in_flight.slot as usize];
        let counters = &mut self.counters[number];
        if in_flight.marked {
            packet::mark(content);
            counters.marked += 1;
        }
        counters.arrived += 1;
        counters.arrived_bytes += u64::from(in_flight.bytes);
        let direction = if number.is_multiple_of(2) { Direction::Forward } else { Direction::Backward };
        Some(Arrival { path: number / 2, direction, content })
    }

    /// Returns the counters of a path's direction so far.
    pub fn counters(&self, path: usize, direction: Direction) -> PathCounters {
        self.counters[route(path, direction)]
    }

    /// Processes all events until `now`, in order.
    fn advance(&mut self, now: Time) {
        loop {
            let heads = self.links.iter().enumerate().filter_map(|(link, one)| Some((one.head()?, link)));
            let Some((key, link)) = heads.min_by_key(|(key, _)| (key.time, key.order)) else { return };
            if key.time > now {
                return;
            }
            match self.links[link].pop() {
                Exit::Nothing => {}
                Exit::Lost(in_flight) => {
                    self.counters_of(in_flight).lost += 1;
                    self.free.push(in_flight.slot);
                }
                Exit::Dropped(in_flight) => {
                    self.counters_of(in_flight).dropped += 1;
                    self.free.push(in_flight.slot);
                }
                Exit::Delivered(in_flight) => self.pass_on(key.time, in_flight),
                Exit::Copied(in_flight) => {
                    self.counters_of(in_flight).copied += 1;
                    let content = std::mem::take(&mut self.contents[in_flight.slot as usize]);
                    let slot = self.store(&content);
                    self.contents[in_flight.slot as usize] = content;
                    self.pass_on(key.time, InFlight { slot, ..in_flight });
                }
            }
        }
    }

    /// Moves a packet on that reached the end of a link at `moment`, even if the driver calls
    /// later.
    fn pass_on(&mut self, moment: Time, in_flight: InFlight) {
        if self.hops[in_flight.hop as usize].last {
            self.ready.push_back(in_flight);
        } else {
            self.put(moment, InFlight { hop: in_flight.hop + 1, ..in_flight });
        }
    }

    /// Stores the content in a slot.
    fn store(&mut self, content: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.contents.push(Vec::new());
            (self.contents.len() - 1) as u32
        });
        let content_slot = &mut self.contents[slot as usize];
        content_slot.clear();
        content_slot.extend_from_slice(content);
        slot
    }

    fn counters_of(&mut self, in_flight: InFlight) -> &mut PathCounters {
        &mut self.counters[self.hops[in_flight.hop as usize].route]
    }

    fn put(&mut self, now: Time, in_flight: InFlight) {
        // The relay may run for months. An order number is reused only after half a million million
        // packets, when its packet has long left.
        self.order = (self.order + 1) % MAX_ORDER;
        let link = self.hops[in_flight.hop as usize].link;
        match self.links[link].send(now, in_flight.bytes, self.order, in_flight) {
            Admission::Queued | Admission::First => {}
            Admission::DroppedFull => {
                self.counters_of(in_flight).dropped += 1;
                self.free.push(in_flight.slot);
            }
        }
    }
}

/// Returns the simulator's name of the link, on which its random numbers depend.
fn name(scenario: &Scenario, hop: Hop, direction: Direction) -> String {
    match hop {
        Hop::Wire(path) => format!("path {path} {}", direction.name()),
        Hop::Shared(link) => format!("link {} {}", scenario.links[link].name, direction.name()),
    }
}
