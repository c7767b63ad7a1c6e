//! The links of a run, and the index of each link of a scenario among them.

use super::events::At;
use super::flying::Flying;
use crate::link::{Link, LinkConfig};
use crate::scenario::{Direction, Hop, Scenario};

/// The name of a path's wire, which chooses its random numbers. It has the path's number: a path
/// keeps its losses if the user renames it.
pub(crate) fn wire_name(path: usize, direction: Direction) -> String {
    let direction = match direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    };
    format!("path {path} {direction}")
}

/// The index of each link of a scenario among the links of a run.
pub(super) struct Layout {
    /// The own wire of each path, forward and backward.
    wires: Vec<[Option<u32>; 2]>,
    shared: Vec<[Option<u32>; 2]>,
    pub(super) links: Vec<Link<Flying>>,
}

impl Layout {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut links = Vec::new();
        let mut place = |config: Option<&LinkConfig>, name: String| {
            config.map(|config| {
                links.push(Link::new(config, scenario.seed, &name));
                (links.len() - 1) as u32
            })
        };
        let wires = scenario.paths.iter().enumerate().map(|(index, path)| {
            let wire = path.wire.as_ref();
            [
                place(wire.map(|wire| &wire.forward), wire_name(index, Direction::Forward)),
                place(wire.map(|wire| &wire.backward), wire_name(index, Direction::Backward)),
            ]
        });
        let wires = wires.collect();
        let shared = scenario.links.iter().map(|link| {
            [
                place(link.forward.as_ref(), format!("link {} forward", link.name)),
                place(link.backward.as_ref(), format!("link {} backward", link.name)),
            ]
        });
        let shared = shared.collect();
        Self { wires, shared, links }
    }

    /// The end at which the packets of each link arrive.
    pub(super) fn sides(&self) -> Vec<At> {
        let mut sides = vec![At::Far; self.links.len()];
        let backward = self.wires.iter().chain(&self.shared).filter_map(|directions| directions[1]);
        backward.for_each(|link| sides[link as usize] = At::Near);
        sides
    }

    /// Number of links, with each direction counted.
    pub(super) fn len(&self) -> usize {
        self.links.len()
    }

    pub(super) fn link(&self, hop: Hop, direction: Direction) -> Option<u32> {
        let directions = match hop {
            Hop::Wire(path) => self.wires[path],
            Hop::Shared(link) => self.shared[link],
        };
        directions[usize::from(direction == Direction::Backward)]
    }
}
