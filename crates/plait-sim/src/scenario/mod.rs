//! The scenario file: one description of paths, traffic and transport, for every engine.
//!
//! ```
//! use plait_sim::scenario::Scenario;
//! use std::path::Path;
//!
//! let text = r#"
//!     scheduler = "round-robin"
//!     [[path]]
//!     rate = "1Mbit"
//!     rtt = "20ms"
//! "#;
//! let scenario = Scenario::from_toml(text, "example.toml", Path::new("."))?;
//! assert_eq!(scenario.paths[0].name, "path1");
//!
//! let error = Scenario::from_toml(&text.replace("1Mbit", "1Mbitt"), "example.toml", Path::new(".")).unwrap_err();
//! let place = r#"example.toml: path[0].rate = "1Mbitt": "#;
//! assert!(error.to_string().starts_with(place));
//! # Ok::<(), plait_sim::error::ScenarioError>(())
//! ```
//! [`keys`] lists the keys, their defaults and their meaning. Nothing else determines the name or
//! the default of a key. Unknown keys, units and names are errors.

mod discipline;
mod document;
mod duplex_link;
mod flow;
pub mod keys;
mod link;
mod link_values;
mod path;
mod scheduler;
mod shared;
mod steps;
#[cfg(test)]
mod tests;
mod topology;
mod transport;
mod write;

use std::path::Path;

use plait_sched::Duration;

use crate::error::ScenarioError;
use crate::format::{reader, text};
use reader::{MAX_DURATION, Reader, Source};
use topology::Topology;

pub use crate::application::Workload;
pub use crate::application::times::{OnOffDistribution, OnOffTimes};
pub use duplex_link::{Direction, DuplexLink};
pub use flow::{Flow, FlowKind, FlowRoute};
pub use path::PathOptions;
pub use scheduler::{Parameter, SchedulerChoice};
pub use shared::SharedLink;
pub use topology::Hop;
pub use transport::*;

/// A whole experiment, checked: the result of [`Scenario::from_toml`] can be run.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// The seed of its random numbers.
    pub seed: u64,
    /// Its longest duration.
    pub duration: Duration,
    /// The part at the beginning that metrics exclude; less than the duration.
    pub warmup: Duration,
    /// The scheduler.
    pub scheduler: SchedulerChoice,
    /// The behaviour of the endpoints.
    pub transport: TransportOptions,
    /// The application's traffic.
    pub workload: Workload,
    /// The links that paths and flows share.
    pub links: Vec<SharedLink>,
    /// The paths; at least one, at most [`plait_sched::MAX_PATHS`].
    pub paths: Vec<PathOptions>,
    /// The traffic that competes with the connection.
    pub flows: Vec<Flow>,
}

impl Scenario {
    /// Reads the file at `path`: JSON if its name ends in `.json`, else TOML. Trace files are
    /// relative to its folder.
    ///
    /// # Errors
    /// If the file cannot be read or is not a valid scenario.
    pub fn from_file(path: &Path) -> Result<Self, ScenarioError> {
        let origin = path.display().to_string();
        let text = document::read(path, &origin)?;
        let base = path.parent().unwrap_or(Path::new(""));
        if path.extension().is_some_and(|extension| extension == "json") {
            Self::from_json(&text, &origin, base)
        } else {
            Self::from_toml(&text, &origin, base)
        }
    }

    /// Reads a scenario in TOML. Errors name `origin` as the file; its stem is the default name.
    /// Trace files are relative to the folder `base`.
    ///
    /// # Errors
    /// If the text is not a valid scenario.
    pub fn from_toml(text: &str, origin: &str, base: &Path) -> Result<Self, ScenarioError> {
        Self::from_table(document::from_toml(text, origin)?, origin, base)
    }

    /// Reads a scenario in JSON: the same tables, keys and values as in TOML.
    ///
    /// # Errors
    /// If the text is not a valid scenario.
    pub fn from_json(text: &str, origin: &str, base: &Path) -> Result<Self, ScenarioError> {
        Self::from_table(document::from_json(text, origin)?, origin, base)
    }

    /// The scenario with all defaults filled in. [`Scenario::from_json`] reads it back as the same
    /// scenario, if the folder of the traces is the same.
    pub fn to_json(&self) -> serde_json::Value {
        write::scenario(self)
    }

    /// The congestion controls that it names, those of its flows included.
    pub fn controls(&self) -> impl Iterator<Item = &CongestionControl> {
        let flows = self.flows.iter().filter_map(|flow| flow.kind.control());
        core::iter::once(&self.transport.congestion_control).chain(flows)
    }

    /// The same, to be changed.
    pub fn controls_mut(&mut self) -> impl Iterator<Item = &mut CongestionControl> {
        let flows = self.flows.iter_mut().filter_map(|flow| flow.kind.control_mut());
        core::iter::once(&mut self.transport.congestion_control).chain(flows)
    }

    fn from_table(table: toml::Table, origin: &str, base: &Path) -> Result<Self, ScenarioError> {
        let names = document::names(&table);
        Self::read(table, origin, base).map_err(|error| error.with_names(&names))
    }

    fn read(table: toml::Table, origin: &str, base: &Path) -> Result<Self, ScenarioError> {
        let source = Source { file: origin, base };
        let mut reader = Reader::new(source, String::new(), table, &keys::TOP)?;
        let name = match reader.take("name") {
            Some(item) => item.name()?,
            None => stem(origin),
        };
        let seed = reader.need("seed")?.integer(0..=i64::MAX)?.unsigned_abs();
        let duration = reader.need("duration")?.duration(Duration::from_nanos(1)..=MAX_DURATION)?;
        let warmup_item = reader.need("warmup")?;
        let warmup = warmup_item.duration(Duration::ZERO..=MAX_DURATION)?;
        if warmup >= duration {
            return Err(
                warmup_item.wrong(format!("must be less than the duration, {}", text::duration(duration)))
            );
        }
        let scheduler = SchedulerChoice::read(&reader.need("scheduler")?)?;
        let place = reader.place_of("transport");
        let transport = TransportOptions::read(reader.take("transport"), source, place)?;
        let workload = reader.take("workload").map_or(Ok(Workload::DEFAULT), Workload::read)?;
        let Topology { links, paths, flows } = Topology::read(&mut reader, &transport, duration)?;
        check_protocol(&transport, &paths, &source, &reader)?;
        reader.finish();
        Ok(Self { name, seed, duration, warmup, scheduler, transport, workload, links, paths, flows })
    }
}

/// Checks that the protocol supports this number of paths (TCP has one), and that the initial path
/// exists.
fn check_protocol(
    transport: &TransportOptions,
    paths: &[PathOptions],
    source: &Source<'_>,
    reader: &Reader<'_>,
) -> Result<(), ScenarioError> {
    if let Some(reason) = transport.protocol.refuses_paths(paths.len()) {
        return Err(source.rule(reader.place_of("path"), reason));
    }
    if let Some(name) = transport.initial_path()
        && !paths.iter().any(|path| path.name == name)
    {
        let names: Vec<_> = paths.iter().map(|path| path.name.as_str()).collect();
        let reason = format!("no path is called {name:?} (valid: {})", names.join(", "));
        return Err(source.rule("transport.initial_path", reason));
    }
    Ok(())
}

/// The default name of a scenario: its file's name without the extension.
fn stem(origin: &str) -> String {
    let stem = Path::new(origin).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| reader::is_name(stem)).unwrap_or_else(|| "unnamed".to_owned())
}
