//! Packets over a scenario's links: which one leaves where, and when. No socket, no clock.
//!
//! Whoever drives it gives every packet to [`Relay::send`] with the time, takes out what [`Relay::poll`] has, and
//! calls again at [`Relay::next`]. A driver that is late delivers late, but nothing adds up: links reckon with the moments at
//! which packets should have left, so rates hold however late it is.
//!
//! The links are those of the simulator, under the same names and seeds, so the n-th packet of a direction meets the same loss and
//! jitter as there.

use std::collections::VecDeque;

use plait_sched::Time;
use plait_sim::agenda::MAX_ORDER;
use plait_sim::link::discipline::Payload;
use plait_sim::link::{Admission, Exit, Link};
use plait_sim::scenario::{Hop, Scenario, Way};

use crate::packet;

/// A packet inside a link.
#[derive(Clone, Copy, Default, Debug)]
struct Flying {
    /// Where its content is.
    slot: u32,
    /// The leg of its route on which it is.
    leg: u32,
    bytes: u32,
    flow: u64,
    understands_marks: bool,
    marked: bool,
}

impl Payload for Flying {
    fn flow(&self) -> u64 {
        self.flow
    }

    fn mark(&mut self) -> bool {
        self.marked |= self.understands_marks;
        self.understands_marks
    }
}

/// One link of a route; the legs of a route follow each other.
#[derive(Clone, Copy, Debug)]
struct Leg {
    link: usize,
    route: usize,
    last: bool,
}

/// What became of the packets of one direction of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Given to the relay.
    pub sent: u64,
    /// Made by links that copy packets.
    pub copied: u64,
    /// Handed out at the other end.
    pub arrived: u64,
    /// Bytes of these.
    pub arrived_bytes: u64,
    /// Lost on a wire, by chance or in an outage.
    pub lost: u64,
    /// Found a queue full, or were dropped by its discipline.
    pub dropped: u64,
    /// Arrived with a mark of congestion that they did not have before.
    pub marked: u64,
}

/// A packet that arrives.
#[derive(PartialEq, Eq, Debug)]
pub struct Arrival<'a> {
    /// The path's number.
    pub path: usize,
    /// Its direction; forward is from the near end to the far end.
    pub way: Way,
    /// The packet.
    pub content: &'a [u8],
}

/// The links of a scenario with the packets that are in them.
#[derive(Debug)]
pub struct Relay {
    links: Vec<Link<Flying>>,
    legs: Vec<Leg>,
    /// The first leg of each path's directions, forward first.
    first_legs: Vec<usize>,
    counters: Vec<Counters>,
    contents: Vec<Vec<u8>>,
    free: Vec<u32>,
    ready: VecDeque<Flying>,
    /// What [`Relay::poll`] lent last; free at the next call.
    lent: Option<u32>,
    order: u64,
}

/// The number of a direction of a path.
const fn route(path: usize, way: Way) -> usize {
    path * 2 + matches!(way, Way::Backward) as usize
}

impl Relay {
    /// The idle links of `scenario`. Time zero is when its outages, steps and traces begin.
    pub fn new(scenario: &Scenario) -> Self {
        let mut relay = Self {
            links: Vec::new(),
            legs: Vec::new(),
            first_legs: Vec::new(),
            counters: vec![Counters::default(); scenario.paths.len() * 2],
            contents: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            lent: None,
            order: 0,
        };
        let mut known: Vec<((Hop, Way), usize)> = Vec::new();
        for path in 0..scenario.paths.len() {
            for way in [Way::Forward, Way::Backward] {
                relay.first_legs.push(relay.legs.len());
                for hop in scenario.directed(scenario.hops(path), way) {
                    let link = known.iter().find(|(one, _)| *one == (hop, way)).map(|(_, link)| *link);
                    let link = link.unwrap_or_else(|| {
                        let config = scenario.hop(hop, way).expect("a directed route has its links");
                        relay.links.push(Link::new(config, scenario.seed, &name(scenario, hop, way)));
                        known.push(((hop, way), relay.links.len() - 1));
                        relay.links.len() - 1
                    });
                    relay.legs.push(Leg { link, route: route(path, way), last: false });
                }
                if let Some(leg) = relay.legs.last_mut() {
                    leg.last = true;
                }
            }
        }
        relay
    }

    /// A packet enters a path. It takes `bytes` on the links, which may be more than its content has: headers that a driver
    /// never sees. `now` never goes back.
    pub fn send(&mut self, now: Time, path: usize, way: Way, bytes: u32, content: &[u8]) {
        self.advance(now);
        let slot = self.keep(content);
        self.counters[route(path, way)].sent += 1;
        let flying = Flying {
            slot,
            leg: self.first_legs[route(path, way)] as u32,
            bytes,
            flow: packet::flow(content),
            understands_marks: packet::understands_marks(content),
            marked: false,
        };
        self.put(now, flying);
    }

    /// When the next packet leaves a link; `None` while nothing is under way. What has arrived and was not taken out does not count.
    pub fn next(&self) -> Option<Time> {
        self.links.iter().filter_map(Link::head).map(|key| key.time).min()
    }

    /// The next packet that has arrived by `now`; to be called until there is none.
    pub fn poll(&mut self, now: Time) -> Option<Arrival<'_>> {
        self.free.extend(self.lent.take());
        self.advance(now);
        let flying = self.ready.pop_front()?;
        self.lent = Some(flying.slot);
        let number = self.legs[flying.leg as usize].route;
        let content = &mut self.contents[flying.slot as usize];
        let counters = &mut self.counters[number];
        if flying.marked {
            packet::mark(content);
            counters.marked += 1;
        }
        counters.arrived += 1;
        counters.arrived_bytes += u64::from(flying.bytes);
        let way = if number.is_multiple_of(2) { Way::Forward } else { Way::Backward };
        Some(Arrival { path: number / 2, way, content })
    }

    /// What became of the packets of a path's direction so far.
    pub fn counters(&self, path: usize, way: Way) -> Counters {
        self.counters[route(path, way)]
    }

    /// Everything that happens inside until `now`, in order.
    fn advance(&mut self, now: Time) {
        loop {
            let heads = self.links.iter().enumerate().filter_map(|(link, one)| Some((one.head()?, link)));
            let Some((key, link)) = heads.min_by_key(|(key, _)| (key.time, key.order)) else { return };
            if key.time > now {
                return;
            }
            match self.links[link].pop() {
                Exit::Nothing => {}
                Exit::Lost(flying) => {
                    self.counters_of(flying).lost += 1;
                    self.free.push(flying.slot);
                }
                Exit::Dropped(flying) => {
                    self.counters_of(flying).dropped += 1;
                    self.free.push(flying.slot);
                }
                Exit::Delivered(flying) => self.pass_on(key.time, flying),
                Exit::Copied(flying) => {
                    self.counters_of(flying).copied += 1;
                    let content = std::mem::take(&mut self.contents[flying.slot as usize]);
                    let slot = self.keep(&content);
                    self.contents[flying.slot as usize] = content;
                    self.pass_on(key.time, Flying { slot, ..flying });
                }
            }
        }
    }

    /// A packet has come to the end of a link at `moment`, whenever somebody looks.
    fn pass_on(&mut self, moment: Time, flying: Flying) {
        if self.legs[flying.leg as usize].last {
            self.ready.push_back(flying);
        } else {
            self.put(moment, Flying { leg: flying.leg + 1, ..flying });
        }
    }

    /// A slot with this content.
    fn keep(&mut self, content: &[u8]) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.contents.push(Vec::new());
            (self.contents.len() - 1) as u32
        });
        let place = &mut self.contents[slot as usize];
        place.clear();
        place.extend_from_slice(content);
        slot
    }

    fn counters_of(&mut self, flying: Flying) -> &mut Counters {
        &mut self.counters[self.legs[flying.leg as usize].route]
    }

    fn put(&mut self, now: Time, flying: Flying) {
        // It may run for months; what came half a million million packets ago has long left.
        self.order = (self.order + 1) % MAX_ORDER;
        let link = self.legs[flying.leg as usize].link;
        match self.links[link].send(now, flying.bytes, self.order, flying) {
            Admission::Queued | Admission::First => {}
            Admission::DroppedFull => {
                self.counters_of(flying).dropped += 1;
                self.free.push(flying.slot);
            }
        }
    }
}

/// What the simulator calls the link, which its random numbers depend on.
fn name(scenario: &Scenario, hop: Hop, way: Way) -> String {
    match hop {
        Hop::Wire(path) => format!("path {path} {}", way.name()),
        Hop::Shared(link) => format!("link {} {}", scenario.links[link].name, way.name()),
    }
}
