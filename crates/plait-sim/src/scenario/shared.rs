//! `[[link]]`: a wire that several paths and flows share.

use plait_sched::Duration;

use super::duplex_link::{Direction, DirectionDraft, DirectionKeys};
use super::keys::LINK;
use super::link::LinkKeys;
use super::reader::{Item, Source, nearest, unique};
use super::steps::varying;
use crate::error::ScenarioError;
use crate::link::LinkConfig;

/// A named link. All paths and flows that name it share its queue and its capacity in each
/// direction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedLink {
    /// Its name; no two links have the same name.
    pub name: String,
    /// From the senders' side to the receivers'; `None` if packets pass it unhindered in this
    /// direction.
    pub forward: Option<LinkConfig>,
    /// From the receivers' side to the senders'; `None` if packets pass it unhindered in this
    /// direction.
    pub backward: Option<LinkConfig>,
}

impl SharedLink {
    /// One of its directions, if the link has it.
    pub const fn direction(&self, direction: Direction) -> Option<&LinkConfig> {
        match direction {
            Direction::Forward => self.forward.as_ref(),
            Direction::Backward => self.backward.as_ref(),
        }
    }
}

/// A link whose queues may still depend on the round-trip times of its paths and flows.
pub(super) struct LinkDraft {
    pub(super) name: String,
    forward: Option<DirectionDraft>,
    backward: Option<DirectionDraft>,
    /// Its place in the file.
    pub(super) place: String,
}

impl LinkDraft {
    /// Reads all links of the list.
    pub(super) fn read_all(item: Item<'_>, packet: u32) -> Result<Vec<Self>, ScenarioError> {
        let source = item.source;
        let mut links: Vec<Self> = Vec::new();
        for item in item.list("a table such as { name = \"core\", rate = \"10Mbit\" }")? {
            let link = Self::read(item, packet)?;
            unique(source, &link.place, &link.name, "link", links.iter().map(|other| other.name.as_str()))?;
            links.push(link);
        }
        Ok(links)
    }

    fn read(item: Item<'_>, packet: u32) -> Result<Self, ScenarioError> {
        let mut reader = item.reader(&LINK)?;
        let name = reader.need("name")?.name()?;
        let mut shared = LinkKeys::path(&mut reader, packet)?;
        let delay = varying(shared.delay.unwrap_or(Duration::ZERO), shared.delay_steps.take());
        let own = DirectionKeys::read(&mut reader, packet)?;
        let (source, place) = (reader.source, reader.place.clone());
        let places = (reader.place_of("forward"), reader.place_of("backward"));
        reader.finish();
        // Without a rate for both, only the directions with a table exist.
        let both = shared.rate.is_some();
        let draft = |own: Option<LinkKeys>, direction, place: &str| {
            let exists = both || own.is_some() || (direction == Direction::Forward && shared.trace.is_some());
            exists
                .then(|| DirectionDraft::new(own, &shared, direction, Some(delay.clone()), source, place))
                .transpose()
        };
        let forward = draft(own.forward, Direction::Forward, &places.0)?;
        let backward = draft(own.backward, Direction::Backward, &places.1)?;
        if forward.is_none() && backward.is_none() {
            return Err(source.missing(place, "rate, trace, or a table forward or backward"));
        }
        Ok(Self { name, forward, backward, place })
    }

    fn direction(&self, direction: Direction) -> Option<&DirectionDraft> {
        match direction {
            Direction::Forward => self.forward.as_ref(),
            Direction::Backward => self.backward.as_ref(),
        }
    }

    /// Completes the link. `rtt` is the longest round trip through it without queues.
    pub(super) fn finish(self, rtt: Duration, packet: u32) -> SharedLink {
        SharedLink {
            name: self.name,
            forward: self.forward.map(|draft| draft.finish(rtt, packet)),
            backward: self.backward.map(|draft| draft.finish(rtt, packet)),
        }
    }
}

/// The links in a list of names, each once.
pub(super) fn named(item: Item<'_>, known: &[LinkDraft]) -> Result<Vec<usize>, ScenarioError> {
    let names: Vec<&str> = known.iter().map(|link| link.name.as_str()).collect();
    members(item, &names, "link", "a link's name")
}

/// The indices in `known` of a list of names, which is not empty and has no duplicates.
pub(super) fn members(
    item: Item<'_>,
    known: &[&str],
    what: &str,
    kind: &'static str,
) -> Result<Vec<usize>, ScenarioError> {
    let empty = item.value.as_array().is_some_and(Vec::is_empty);
    if empty {
        return Err(item.wrong(format!("name at least one {what}, or leave the key out")));
    }
    let mut found = Vec::new();
    for item in item.list(kind)? {
        let index = member(&item, known, what)?;
        if found.contains(&index) {
            return Err(item.wrong("it is in the list already"));
        }
        found.push(index);
    }
    Ok(found)
}

/// The index of a name in `known`.
pub(super) fn member(item: &Item<'_>, known: &[&str], what: &str) -> Result<usize, ScenarioError> {
    let name = item.text()?;
    known.iter().position(|other| *other == name).ok_or_else(|| {
        let near = nearest(name, known).map_or(String::new(), |near| format!("did you mean {near}? "));
        let valid = if known.is_empty() {
            format!("there is no [[{what}]]")
        } else {
            // A scenario may have many names, and an error is one readable line.
            let shown: Vec<&str> = known.iter().copied().take(20).collect();
            format!("valid: {}{}", shown.join(", "), if known.len() > 20 { ", …" } else { "" })
        };
        item.wrong(format!("unknown {what} ({near}{valid})"))
    })
}

/// The sum of the delays of `links` in both directions.
pub(super) fn round_trip(links: &[usize], known: &[LinkDraft]) -> Duration {
    let delay = |draft: Option<&DirectionDraft>| draft.map_or(Duration::ZERO, DirectionDraft::delay);
    let both = |&link: &usize| {
        delay(known[link].direction(Direction::Forward)) + delay(known[link].direction(Direction::Backward))
    };
    links.iter().map(both).fold(Duration::ZERO, |sum, delay| sum + delay)
}

/// Checks that a route has a link in a direction that it uses: its packets must take time.
pub(super) fn check_direction(
    links: &[usize],
    known: &[LinkDraft],
    direction: Direction,
    source: Source<'_>,
    place: &str,
) -> Result<(), ScenarioError> {
    if links.iter().any(|&link| known[link].direction(direction).is_some()) {
        return Ok(());
    }
    let direction = direction.name();
    Err(source
        .rule(place, format!("none of its links has a {direction} direction, and it has no wire of its own")))
}
