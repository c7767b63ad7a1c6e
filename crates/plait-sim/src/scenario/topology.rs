//! Links, paths and flows: their references, and the round-trip times that determine queues.

use plait_sched::{Duration, MAX_PATHS};

use super::duplex_link::Direction;
use super::flow::{Flow, FlowContext, FlowRoute};
use super::path::{PathDraft, PathOptions};
use super::reader::{Item, Reader, Source, unique};
use super::shared::{self, LinkDraft, SharedLink};
use super::{Scenario, TransportOptions};
use crate::error::ScenarioError;
use crate::link::LinkConfig;

/// The three lists of a scenario.
pub(super) struct Topology {
    pub(super) links: Vec<SharedLink>,
    pub(super) paths: Vec<PathOptions>,
    pub(super) flows: Vec<Flow>,
}

impl Topology {
    pub(super) fn read(
        reader: &mut Reader<'_>,
        transport: &TransportOptions,
        duration: Duration,
    ) -> Result<Self, ScenarioError> {
        let packet = transport.packet;
        let links = reader.take("link").map(|item| LinkDraft::read_all(item, packet)).transpose()?;
        let links = links.unwrap_or_default();
        let paths = paths(reader.need("path")?, packet, &links)?;
        let around = FlowContext { links: &links, paths: &paths, transport, duration };
        let flows = reader.take("flow").map(|item| Flow::read_all(item, &around)).transpose()?;
        let flows = flows.unwrap_or_default();
        let trips = round_trips(&links, &paths, &flows, reader.source)?;
        let links = links.into_iter().zip(trips).map(|(link, rtt)| link.finish(rtt, packet)).collect();
        let paths = paths.into_iter().map(|path| path.finish(packet)).collect();
        Ok(Self { links, paths, flows })
    }
}

fn paths(item: Item<'_>, packet: u32, links: &[LinkDraft]) -> Result<Vec<PathDraft>, ScenarioError> {
    let (source, place) = (item.source, item.place.clone());
    let items = item.list("a table such as { rate = \"10Mbit\", rtt = \"20ms\" }")?;
    if items.is_empty() || items.len() > MAX_PATHS {
        return Err(source.rule(place, format!("a scenario has 1 to {MAX_PATHS} paths, not {}", items.len())));
    }
    let mut paths: Vec<PathDraft> = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let place = item.place.clone();
        let path = PathDraft::read(item, index + 1, packet, links)?;
        unique(source, &place, &path.name, "path", paths.iter().map(|other| other.name.as_str()))?;
        paths.push(path);
    }
    Ok(paths)
}

/// The longest round trip through each link. An unused link is an error: a name was forgotten, or
/// the link should have been removed.
fn round_trips(
    links: &[LinkDraft],
    paths: &[PathDraft],
    flows: &[Flow],
    source: Source<'_>,
) -> Result<Vec<Duration>, ScenarioError> {
    let mut longest: Vec<Option<Duration>> = vec![None; links.len()];
    let mut pass = |route: &[usize], rtt: Duration| {
        for &link in route {
            longest[link] = longest[link].max(Some(rtt));
        }
    };
    for path in paths {
        pass(&path.links, path.rtt);
    }
    for flow in flows {
        if let FlowRoute::Links(route) = &flow.route {
            pass(route, shared::round_trip(route, links));
        }
    }
    let used = links.iter().zip(longest).map(|(link, longest)| {
        let reason = || format!("no path or flow names the link {:?}: name it or remove it", link.name);
        longest.ok_or_else(|| source.rule(link.place.clone(), reason()))
    });
    used.collect()
}

/// A link of a route: a path's own wire, or a shared link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hop {
    /// The wire of this path.
    Wire(usize),
    /// This shared link.
    Shared(usize),
}

impl Scenario {
    /// The links of a path, in the order of its forward direction.
    pub fn hops(&self, path: usize) -> Vec<Hop> {
        let config = &self.paths[path];
        let wire = config.wire.iter().map(|_| Hop::Wire(path));
        wire.chain(config.links.iter().map(|&link| Hop::Shared(link))).collect()
    }

    /// The links on a packet's way over `hops` in one direction, in order. Backward reverses the
    /// order. Links without this direction are left out.
    pub fn directed(&self, mut hops: Vec<Hop>, direction: Direction) -> Vec<Hop> {
        hops.retain(|&hop| self.hop(hop, direction).is_some());
        if direction == Direction::Backward {
            hops.reverse();
        }
        hops
    }

    /// The links on a packet's way over a path in one direction.
    pub fn route(&self, path: usize, direction: Direction) -> impl Iterator<Item = &LinkConfig> {
        self.directed(self.hops(path), direction).into_iter().filter_map(move |hop| self.hop(hop, direction))
    }

    /// One direction of a link; `None` if the link lacks it.
    pub fn hop(&self, hop: Hop, direction: Direction) -> Option<&LinkConfig> {
        match hop {
            Hop::Wire(path) => self.paths[path].wire.as_ref().map(|wire| wire.direction(direction)),
            Hop::Shared(link) => self.links[link].direction(direction),
        }
    }

    /// All directions of all links, with names: the wires of the paths, then the shared links, each
    /// forward and backward.
    pub fn directions(&self) -> impl Iterator<Item = (&str, Direction, &LinkConfig)> {
        let wires = self.paths.iter().filter_map(|path| Some((path.name.as_str(), path.wire.as_ref()?)));
        let wires = wires.flat_map(|(name, wire)| {
            [(name, Direction::Forward, &wire.forward), (name, Direction::Backward, &wire.backward)]
        });
        let shared = self.links.iter().flat_map(|link| {
            let directions = [(Direction::Forward, &link.forward), (Direction::Backward, &link.backward)];
            directions
                .into_iter()
                .filter_map(|(direction, config)| Some((link.name.as_str(), direction, config.as_ref()?)))
        });
        wires.chain(shared)
    }

    /// The delay of a path in one direction at the start, without serialization and queues.
    pub fn delay(&self, path: usize, direction: Direction) -> Duration {
        self.route(path, direction)
            .map(|link| link.delay.first())
            .fold(Duration::ZERO, |sum, delay| sum + delay)
    }

    /// The round-trip time of an empty path at the start, without serialization.
    pub fn round_trip(&self, path: usize) -> Duration {
        self.delay(path, Direction::Forward) + self.delay(path, Direction::Backward)
    }
}
