//! The congestion control that a scenario names. The [transport](plait_transport::congestion) lists
//! the available ones.

use plait_transport::congestion::{Algorithm, ControllerInfo, Family, Own};
use std::borrow::Cow;

use super::option::listed;
use super::{Protocol, TransportOptions};
use crate::error::ScenarioError;
use crate::format::names_class;
use crate::scenario::reader::{Item, unknown};

/// The congestion control of a path: a name of the transport's list of controllers, or a user's own
/// controller, `FILE.py:CLASS:parameter=value:…` or `LIBRARY.so:CLASS:parameter=value:…`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CongestionControl {
    name: Cow<'static, str>,
    own: Option<Own>,
}

impl CongestionControl {
    /// Slow start, congestion avoidance, fast recovery, each path by itself; every family has it.
    pub const NEWRENO: Self = Self { name: Cow::Borrowed("newreno"), own: None };

    /// The controller `name`, if there is one or a file may have it.
    pub fn new(name: &str) -> Option<Self> {
        let listed = Algorithm::ALL.iter().map(|it| it.info().name).find(|it| *it == name);
        let own = || names_class(name).then(|| name.to_owned().into());
        Some(Self { name: listed.map(Cow::Borrowed).or_else(own)?, own: None })
    }

    /// The controller's name in scenarios.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The algorithm of this name in the family, if the family has it.
    pub fn algorithm(&self, family: Family) -> Option<Algorithm> {
        Algorithm::named(&self.name, family)
    }

    /// Whether the controller is a user's own.
    pub fn is_own(&self) -> bool {
        names_class(&self.name)
    }

    /// The factory of a user's own controller, once it is [set](Self::set_own).
    pub const fn own(&self) -> Option<&Own> {
        self.own.as_ref()
    }

    /// Sets the factory of a user's own controller.
    pub fn set_own(&mut self, own: Own) {
        self.own = Some(own);
    }

    /// The names in a family, or all names.
    pub fn names(family: Option<Family>) -> Vec<&'static str> {
        Algorithm::names(family)
    }

    pub(super) fn read(item: &Item<'_>, family: Family) -> Result<Self, ScenarioError> {
        let text = item.text()?;
        let control = Self::new(text).ok_or_else(|| item.wrong(unknown(text, &Self::names(None))))?;
        if control.is_own() {
            return Ok(control);
        }
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
            Some(control) if valid.contains(&name) || control.is_own() => Ok(control),
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
