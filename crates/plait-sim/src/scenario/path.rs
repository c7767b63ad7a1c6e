//! `[[path]]`: one path, both directions.

use plait_sched::Duration;

use super::duplex_link::{Direction, DirectionDraft, DirectionKeys, DuplexLink, WIRE_KEYS};
use super::keys::PATH;
use super::link::LinkKeys;
use super::reader::{Item, MAX_DURATION, Reader};
use super::shared::{self, LinkDraft};
use super::steps::varying;
use crate::error::ScenarioError;

/// The largest weight of a path, up to which schedulers distinguish weights.
const MOST_WEIGHT: u32 = 65_535;

/// One path, checked, with defaults filled in. [`Scenario::route`](super::Scenario::route) returns
/// the links on its route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathOptions {
    /// Its name; no two paths have the same name.
    pub name: String,
    /// Its own wire; `None` if it consists of shared links alone.
    pub wire: Option<DuplexLink>,
    /// The shared links after its own wire, in the order of the forward direction.
    pub links: Vec<usize>,
    /// True: it is used only while no other path is usable.
    pub backup: bool,
    /// The cost of its use, in units of the user's choice.
    pub cost: u32,
    /// Its share of the data, relative to the weights of the other paths.
    pub weight: u32,
}

/// A path whose queues may still depend on the round-trip time.
pub(super) struct PathDraft {
    pub(super) name: String,
    /// The wire's directions, forward first.
    wire: Option<(DirectionDraft, DirectionDraft)>,
    pub(super) links: Vec<usize>,
    pub(super) rtt: Duration,
    backup: bool,
    cost: u32,
    weight: u32,
}

impl PathDraft {
    /// Reads path `number`, from 1. `packet` is the size of the largest packet.
    pub(super) fn read(
        item: Item<'_>,
        number: usize,
        packet: u32,
        known: &[LinkDraft],
    ) -> Result<Self, ScenarioError> {
        let mut reader = item.reader(&PATH)?;
        let name = match reader.take("name") {
            Some(item) => item.name()?,
            None => format!("path{number}"),
        };
        let backup = reader.need("backup")?.boolean()?;
        let cost = reader.need("cost")?.integer(0..=u32::MAX)?;
        let weight = reader.need("weight")?.integer(1..=MOST_WEIGHT)?;
        let links = match reader.take("links") {
            Some(item) => shared::named(item, known)?,
            None => Vec::new(),
        };
        let (source, place) = (reader.source, reader.place.clone());
        let wire = if links.is_empty() || WIRE_KEYS.iter().any(|key| reader.has(key)) {
            Some(wire(reader, packet)?)
        } else {
            reader.finish();
            None
        };
        let own =
            wire.as_ref().map_or(Duration::ZERO, |(forward, backward)| forward.delay() + backward.delay());
        let rtt = own + shared::round_trip(&links, known);
        if wire.is_none() {
            shared::check_direction(&links, known, Direction::Forward, source, &place)?;
            shared::check_direction(&links, known, Direction::Backward, source, &place)?;
        }
        if rtt.is_zero() {
            let what = if links.is_empty() { "" } else { ", those of its links included," };
            let reason = format!("the delays of both directions{what} are zero; one must be more");
            return Err(source.rule(place, reason));
        }
        Ok(Self { name, wire, links, rtt, backup, cost, weight })
    }

    pub(super) fn finish(self, packet: u32) -> PathOptions {
        let rtt = self.rtt;
        let wire = self.wire.map(|(forward, backward)| DuplexLink {
            forward: forward.finish(rtt, packet),
            backward: backward.finish(rtt, packet),
        });
        let Self { name, links, backup, cost, weight, .. } = self;
        PathOptions { name, wire, links, backup, cost, weight }
    }
}

fn wire(mut reader: Reader<'_>, packet: u32) -> Result<(DirectionDraft, DirectionDraft), ScenarioError> {
    let rtt_item = reader.take("rtt");
    let rtt = rtt_item.as_ref().map(|item| item.duration(Duration::ZERO..=MAX_DURATION)).transpose()?;
    let mut shared = LinkKeys::path(&mut reader, packet)?;
    let DirectionKeys { forward, backward } = DirectionKeys::read(&mut reader, packet)?;

    let (source, place) = (reader.source, reader.place.clone());
    if let Some(item) = &rtt_item {
        let own = |given: &Option<LinkKeys>| given.as_ref().is_some_and(|given| given.delay.is_some());
        let other = match () {
            () if shared.delay.is_some() => Some("delay"),
            () if own(&forward) => Some("forward.delay"),
            () if own(&backward) => Some("backward.delay"),
            () => None,
        };
        if let Some(other) = other {
            return Err(item.wrong(format!("rtt and {other} exclude each other: give one of them")));
        }
    }
    let places = (reader.place_of("forward"), reader.place_of("backward"));
    reader.finish();

    // An odd nanosecond goes to the backward direction.
    let half = |rtt: Duration| (rtt / 2, rtt - rtt / 2);
    let delays = rtt.map(half).or(shared.delay.map(|delay| (delay, delay)));
    if delays.is_none() && shared.delay_steps.is_some() {
        let reason = "there is no delay to begin with: give rtt or delay too";
        return Err(source.rule(format!("{place}.delay_steps"), reason));
    }
    let later = shared.delay_steps.take();
    let delays = delays.map(|(forward, backward)| {
        let back = later.clone();
        (varying(forward, later), varying(backward, back))
    });
    let delays = delays.unzip();
    let no_delay = rtt.is_none() && shared.delay.is_none();
    if no_delay && forward.is_none() && backward.is_none() {
        return Err(source.missing(place, "rtt or delay"));
    }
    let forward = DirectionDraft::new(forward, &shared, Direction::Forward, delays.0, source, &places.0)?;
    let backward = DirectionDraft::new(backward, &shared, Direction::Backward, delays.1, source, &places.1)?;
    Ok((forward, backward))
}
