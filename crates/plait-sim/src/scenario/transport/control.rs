//! The congestion control that a scenario names. The [transport](plait_transport::congestion) lists
//! the available ones.

use plait_transport::congestion::{Algorithm, ControllerInfo, Family};

use super::option::listed;
use super::{Protocol, TransportOptions};
use crate::error::ScenarioError;
use crate::scenario::reader::{Item, unknown};

/// The congestion control of a path: a name of the transport's list of controllers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestionControl(&'static str);

impl CongestionControl {
    /// Slow start, congestion avoidance, fast recovery, each path by itself; every family has it.
    pub const NEWRENO: Self = Self("newreno");

    /// The controller `name`, if there is one.
    pub fn new(name: &str) -> Option<Self> {
        Algorithm::ALL.iter().map(|it| it.info().name).find(|it| *it == name).map(Self)
    }

    /// The controller's name in scenarios.
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// The algorithm of this name in the family, if the family has it.
    pub fn algorithm(self, family: Family) -> Option<Algorithm> {
        Algorithm::named(self.0, family)
    }

    /// The names in a family, or all names.
    pub fn names(family: Option<Family>) -> Vec<&'static str> {
        Algorithm::names(family)
    }

    pub(super) fn read(item: &Item<'_>, family: Family) -> Result<Self, ScenarioError> {
        let text = item.text()?;
        let control = Self::new(text).ok_or_else(|| item.wrong(unknown(text, &Self::names(None))))?;
        match (control.algorithm(family), family) {
            (Some(_), _) => Ok(control),
            (None, Family::Sctp) => {
                let names = Self::names(Some(family)).join(", ");
                let only = listed(&Protocol::words_with(family, true), " and ");
                let others = listed(&Protocol::words_with(family, false), " and ");
                Err(item.wrong(format!("{only} has {names} only (the others: {others})")))
            }
            (None, _) => Err(item.wrong(unknown(text, &Self::names(Some(family))))),
        }
    }

    /// Reads the congestion control of a second connection with this transport.
    pub(in crate::scenario) fn of_connection(
        item: &Item<'_>,
        transport: &TransportOptions,
    ) -> Result<Self, ScenarioError> {
        Self::read(item, transport.controllers())
    }

    /// Reads the congestion control of a TCP flow beside a connection with this transport.
    pub(in crate::scenario) fn of_one_path(
        item: &Item<'_>,
        transport: &TransportOptions,
    ) -> Result<Self, ScenarioError> {
        let family = transport.of_tcp_flow(None).controllers();
        let alone = |name: &&str| Algorithm::named(name, family).is_some_and(|it| !it.is_coupled());
        let valid: Vec<_> = Self::names(Some(family)).into_iter().filter(alone).collect();
        let name = item.text()?;
        match Self::new(name) {
            Some(control) if valid.contains(&name) => Ok(control),
            Some(_) => {
                let valid = valid.join(", ");
                Err(item.wrong(format!("it couples paths, and this flow has one (valid: {valid})")))
            }
            None => Err(item.wrong(unknown(name, &valid))),
        }
    }

    /// Replaces `{alone}` and `{coupled}` in `doc` by the controllers.
    pub(super) fn explained(doc: &str) -> String {
        let of = |coupled| {
            let names: Vec<String> = Self::names(None)
                .into_iter()
                .filter(|name| in_tcp(name).is_some_and(|info| info.coupled == coupled))
                .map(sourced)
                .collect();
            names
        };
        doc.replace("{alone}", &of(false).join("; ")).replace("{coupled}", &of(true).join(", "))
    }
}

fn in_tcp(name: &str) -> Option<&'static ControllerInfo> {
    Algorithm::named(name, Family::Tcp).map(Algorithm::info)
}

/// A name with its sources; the source for SCTP is separate.
fn sourced(name: &'static str) -> String {
    let source = in_tcp(name).map_or("", |info| info.source);
    let sctp = Algorithm::named(name, Family::Sctp).map(|it| format!(", for SCTP {}", it.info().source));
    if source.is_empty() { name.to_owned() } else { format!("{name}: {source}{}", sctp.unwrap_or_default()) }
}
