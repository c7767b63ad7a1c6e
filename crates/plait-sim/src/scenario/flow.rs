//! `[[flow]]`: traffic that competes with the connection.

use plait_sched::{Duration, MAX_PATHS};

use super::duplex_link::Direction;
use super::keys::{FLOW_CBR, FLOW_MULTIPATH, FLOW_ON_OFF, FLOW_TCP};
use super::path::PathDraft;
use super::reader::{Item, MAX_BYTES, MAX_DURATION, Reader, Source, Word, unique};
use super::shared::{self, LinkDraft};
use super::{CongestionControl, SchedulerChoice, TransportOptions, text};
use crate::application::times::{OnOffTimes, stop};
use crate::error::ScenarioError;
use crate::link::MAX_PACKET_BYTES;

/// Traffic that competes with the connection, checked, with defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct Flow {
    /// Its name; no two flows have the same name.
    pub name: String,
    /// Its kind, with the parameters of the kind.
    pub kind: FlowKind,
    /// The route of its packets.
    pub route: FlowRoute,
    /// The direction of its data. Backward data comes from the side of the connection's receiver.
    pub direction: Direction,
    /// The time of its beginning.
    pub start: Duration,
    /// The time of its end; `None` is the end of the run.
    pub stop: Option<Duration>,
}

/// The kind of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum FlowKind {
    /// A reliable stream over one path.
    Tcp {
        /// Its congestion control; `None` is the scenario's, in the version for one path.
        control: Option<CongestionControl>,
        /// Payload bytes; `None` is unlimited.
        size: Option<u64>,
    },
    /// A second connection like the scenario's own.
    Multipath {
        /// Its scheduler; `None` is the scenario's.
        scheduler: Option<SchedulerChoice>,
        /// Its congestion control; `None` is the scenario's.
        control: Option<CongestionControl>,
        /// Payload bytes; `None` is unlimited.
        size: Option<u64>,
    },
    /// Datagrams at equal intervals.
    ConstantRate {
        /// Bits per second on the wire.
        rate: u64,
        /// Bytes of a datagram on the wire.
        packet: u32,
    },
    /// Datagrams at equal intervals during on times.
    OnOff {
        /// Bits per second on the wire, during on times.
        rate: u64,
        /// Bytes of a datagram on the wire.
        packet: u32,
        /// The on and off times.
        times: OnOffTimes,
    },
}

impl FlowKind {
    /// The amount of data of a connection, if limited.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Tcp { size, .. } | Self::Multipath { size, .. } => *size,
            Self::ConstantRate { .. } | Self::OnOff { .. } => None,
        }
    }

    /// Its own congestion control, if it has one.
    pub const fn control(&self) -> Option<&CongestionControl> {
        match self {
            Self::Tcp { control, .. } | Self::Multipath { control, .. } => control.as_ref(),
            Self::ConstantRate { .. } | Self::OnOff { .. } => None,
        }
    }

    pub(super) const fn control_mut(&mut self) -> Option<&mut CongestionControl> {
        match self {
            Self::Tcp { control, .. } | Self::Multipath { control, .. } => control.as_mut(),
            Self::ConstantRate { .. } | Self::OnOff { .. } => None,
        }
    }

    /// The word for the kind.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Tcp { .. } => FlowKindName::Tcp,
            Self::Multipath { .. } => FlowKindName::Multipath,
            Self::ConstantRate { .. } => FlowKindName::ConstantRate,
            Self::OnOff { .. } => FlowKindName::OnOff,
        }
        .word()
    }
}

/// The route of a flow's packets. Numbers are indices in the scenario's lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowRoute {
    /// The routes of these paths.
    Paths(Vec<usize>),
    /// These shared links, in the order of the forward direction.
    Links(Vec<usize>),
}

/// The kinds, before their keys are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FlowKindName {
    Tcp,
    Multipath,
    ConstantRate,
    OnOff,
}

impl Word for FlowKindName {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tcp", Self::Tcp),
        ("multipath", Self::Multipath),
        ("cbr", Self::ConstantRate),
        ("on-off", Self::OnOff),
    ];
}

impl Word for Direction {
    const WORDS: &'static [(&'static str, Self)] =
        &[("forward", Self::Forward), ("backward", Self::Backward)];
}

/// Largest number of flows in a scenario.
const MAX_FLOWS: usize = 1_000;

/// The links and paths that a flow may name, and the source of its defaults.
pub(super) struct FlowContext<'a> {
    pub(super) links: &'a [LinkDraft],
    pub(super) paths: &'a [PathDraft],
    pub(super) transport: &'a TransportOptions,
    pub(super) duration: Duration,
}

impl Flow {
    /// Reads all flows of the list.
    pub(super) fn read_all(item: Item<'_>, around: &FlowContext<'_>) -> Result<Vec<Self>, ScenarioError> {
        let (source, place) = (item.source, item.place.clone());
        let items = item.list("a table such as { kind = \"tcp\", path = \"path1\" }")?;
        if items.len() > MAX_FLOWS {
            return Err(
                source.rule(place, format!("a scenario has at most {MAX_FLOWS} flows, not {}", items.len()))
            );
        }
        let mut flows: Vec<Self> = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let place = item.place.clone();
            let flow = Self::read(item, index + 1, around)?;
            unique(source, &place, &flow.name, "flow", flows.iter().map(|other| other.name.as_str()))?;
            flows.push(flow);
        }
        Ok(flows)
    }

    /// Whether a run that ends with its workload waits for the flow: a multipath connection with a
    /// limited amount of data and no stop.
    pub fn is_awaited(&self) -> bool {
        matches!(self.kind, FlowKind::Multipath { size: Some(_), .. }) && self.stop.is_none()
    }

    /// Reads flow `number`, from 1.
    fn read(item: Item<'_>, number: usize, around: &FlowContext<'_>) -> Result<Self, ScenarioError> {
        let kind: FlowKindName = item.variant(&FLOW_TCP, "kind")?;
        let mut reader = item.reader(match kind {
            FlowKindName::Tcp => &FLOW_TCP,
            FlowKindName::Multipath => &FLOW_MULTIPATH,
            FlowKindName::ConstantRate => &FLOW_CBR,
            FlowKindName::OnOff => &FLOW_ON_OFF,
        })?;
        let _: FlowKindName = reader.need("kind")?.word()?;
        let name = match reader.take("name") {
            Some(item) => item.name()?,
            None => format!("flow{number}"),
        };
        let direction = reader.need("direction")?.word()?;
        let start_item = reader.need("start")?;
        let start = start_item.duration(Duration::ZERO..=MAX_DURATION)?;
        if start >= around.duration {
            let end = text::duration(around.duration);
            return Err(start_item.wrong(format!("must be before the end of the run, {end}")));
        }
        let stop = stop(&mut reader, start)?;
        let route = match kind {
            FlowKindName::Multipath => paths(&mut reader, around)?,
            FlowKindName::Tcp | FlowKindName::ConstantRate | FlowKindName::OnOff => {
                route(&mut reader, around)?
            }
        };
        check_route(&route, kind, direction, around.links, reader.source, &reader.place)?;
        let kind = match kind {
            FlowKindName::Tcp => FlowKind::Tcp {
                control: control(&mut reader, CongestionControl::of_one_path, around)?,
                size: size(&mut reader)?,
            },
            FlowKindName::Multipath => FlowKind::Multipath {
                scheduler: reader.take("scheduler").map(|item| SchedulerChoice::read(&item)).transpose()?,
                control: control(&mut reader, CongestionControl::of_connection, around)?,
                size: size(&mut reader)?,
            },
            FlowKindName::ConstantRate => {
                let (rate, packet) = datagrams(&mut reader, around.transport.packet)?;
                FlowKind::ConstantRate { rate, packet }
            }
            FlowKindName::OnOff => {
                let (rate, packet) = datagrams(&mut reader, around.transport.packet)?;
                FlowKind::OnOff { rate, packet, times: OnOffTimes::read(&mut reader)? }
            }
        };
        reader.finish();
        Ok(Self { name, kind, route, direction, start, stop })
    }
}

fn names(paths: &[PathDraft]) -> Vec<&str> {
    paths.iter().map(|path| path.name.as_str()).collect()
}

fn paths(reader: &mut Reader<'_>, around: &FlowContext<'_>) -> Result<FlowRoute, ScenarioError> {
    let paths = match reader.take("paths") {
        Some(item) => shared::members(item, &names(around.paths), "path", "a path's name")?,
        None => (0..around.paths.len()).collect(),
    };
    debug_assert!(paths.len() <= MAX_PATHS, "each path once");
    Ok(FlowRoute::Paths(paths))
}

fn route(reader: &mut Reader<'_>, around: &FlowContext<'_>) -> Result<FlowRoute, ScenarioError> {
    match (reader.take("path"), reader.take("links")) {
        (Some(item), None) => {
            Ok(FlowRoute::Paths(vec![shared::member(&item, &names(around.paths), "path")?]))
        }
        (None, Some(item)) => Ok(FlowRoute::Links(shared::named(item, around.links)?)),
        (Some(item), Some(_)) => Err(item.wrong("path and links exclude each other: give one of them")),
        (None, None) => Err(reader.source.missing(reader.place.clone(), "path or links")),
    }
}

/// Checks a route of links alone. If acknowledgements return over it, its round trip must take
/// time.
fn check_route(
    route: &FlowRoute,
    kind: FlowKindName,
    direction: Direction,
    known: &[LinkDraft],
    source: Source<'_>,
    place: &str,
) -> Result<(), ScenarioError> {
    let FlowRoute::Links(links) = route else { return Ok(()) };
    shared::check_direction(links, known, direction, source, place)?;
    if matches!(kind, FlowKindName::Tcp | FlowKindName::Multipath) {
        shared::check_direction(links, known, direction.reversed(), source, place)?;
        if shared::round_trip(links, known).is_zero() {
            return Err(source.rule(place, "the delays of its links are zero; one must be more"));
        }
    }
    Ok(())
}

/// The congestion control of a connection, if it has its own.
fn control(
    reader: &mut Reader<'_>,
    read: fn(&Item<'_>, &TransportOptions) -> Result<CongestionControl, ScenarioError>,
    around: &FlowContext<'_>,
) -> Result<Option<CongestionControl>, ScenarioError> {
    reader.take("congestion_control").map(|item| read(&item, around.transport)).transpose()
}

/// The amount of data of a connection, if limited.
fn size(reader: &mut Reader<'_>) -> Result<Option<u64>, ScenarioError> {
    reader.take("size").map(|item| item.bytes(&(1..=MAX_BYTES))).transpose()
}

/// The rate and the size of datagrams.
fn datagrams(reader: &mut Reader<'_>, default: u32) -> Result<(u64, u32), ScenarioError> {
    let rate_item = reader.need("rate")?;
    let rate = rate_item.rate()?;
    let packet = match reader.take("packet") {
        Some(item) => item.bytes(&(1..=u64::from(MAX_PACKET_BYTES)))? as u32,
        None => default,
    };
    // Shorter intervals would not let the clock advance.
    if u128::from(packet) * 8_000_000_000 < u128::from(rate) {
        return Err(rate_item.wrong("packets must be at least 1ns apart: larger packets or a lower rate"));
    }
    Ok((rate, packet))
}
