//! On and off times of workloads and of competing traffic.

use plait_sched::{Duration, Time};
use serde_json::Value;

use crate::error::ScenarioError;
use crate::format::keys::Preset::{Otherwise, Required, Text};
use crate::format::keys::{DURATION, KeyInfo, key};
use crate::format::reader::{MAX_DURATION, Reader, Word};
use crate::format::text;

pub(crate) const ON: KeyInfo =
    key("on", DURATION, Required, "The mean on time; the first one begins at start.");
pub(crate) const OFF: KeyInfo = key("off", DURATION, Required, "The mean off time.");
pub(crate) const DISTRIBUTION: KeyInfo = key(
    "distribution",
    "\"exponential\" or \"pareto\"",
    Text("exponential"),
    "The distribution of on and off times; with Pareto's heavy tail, many sources together are self-similar.",
);
pub(crate) const SHAPE: KeyInfo = key(
    "shape",
    "a number",
    Otherwise("1.5 for pareto"),
    "The shape of Pareto's distribution, more than 1; up to 2 the variance is infinite.",
);

/// The on times of a random source: beginnings, each with its length.
pub type OnTimes = Vec<(Time, Duration)>;

/// On times, during which a source sends, and off times, both random.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOffTimes {
    /// The mean on time.
    pub on: Duration,
    /// The mean off time.
    pub off: Duration,
    /// The distribution of both.
    pub distribution: OnOffDistribution,
}

/// The distribution of random times around their mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OnOffDistribution {
    /// The exponential distribution, which has no memory.
    Exponential,
    /// The Pareto distribution, which has a heavy tail: P(X > x) = (least / x)^shape. Many such
    /// sources together are self-similar traffic.
    Pareto {
        /// More than 1. Up to 2 the variance is infinite.
        shape: f64,
    },
}

/// The distributions, before their parameter is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DistributionName {
    Exponential,
    Pareto,
}

impl Word for DistributionName {
    const WORDS: &'static [(&'static str, Self)] =
        &[("exponential", Self::Exponential), ("pareto", Self::Pareto)];
}

/// The largest shape of a Pareto distribution. At this shape, times hardly differ from their mean.
const MAX_SHAPE: f64 = 1000.0;

/// The default of `shape`, which only the Pareto distribution has.
pub(crate) const DEFAULT_SHAPE: f64 = 1.5;

impl OnOffTimes {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        // Shorter times would only cost events.
        let range = Duration::from_micros(1)..=MAX_DURATION;
        let on = reader.need("on")?.duration(range.clone())?;
        let off = reader.need("off")?.duration(range)?;
        let shape = reader.take("shape");
        let distribution = match (reader.need("distribution")?.word()?, shape) {
            (DistributionName::Exponential, None) => OnOffDistribution::Exponential,
            (DistributionName::Exponential, Some(item)) => {
                return Err(item.wrong("only distribution = \"pareto\" has a shape"));
            }
            (DistributionName::Pareto, None) => OnOffDistribution::Pareto { shape: DEFAULT_SHAPE },
            (DistributionName::Pareto, Some(item)) => {
                let shape = item.number()?;
                if !(shape > 1.0 && shape <= MAX_SHAPE) {
                    let reason = format!("must be more than 1, or there is no mean, and at most {MAX_SHAPE}");
                    return Err(item.wrong(reason));
                }
                OnOffDistribution::Pareto { shape }
            }
        };
        Ok(Self { on, off, distribution })
    }

    /// Writes the keys.
    pub(crate) fn write(&self, table: &mut Value) {
        table["on"] = text::duration(self.on).into();
        table["off"] = text::duration(self.off).into();
        match self.distribution {
            OnOffDistribution::Exponential => table["distribution"] = "exponential".into(),
            OnOffDistribution::Pareto { shape } => {
                table["distribution"] = "pareto".into();
                table["shape"] = shape.into();
            }
        }
    }
}

/// Reads the stop time of a source that begins at `start`, if the table has one.
pub(crate) fn stop(reader: &mut Reader<'_>, start: Duration) -> Result<Option<Duration>, ScenarioError> {
    let Some(item) = reader.take("stop") else { return Ok(None) };
    let stop = item.duration(Duration::ZERO..=MAX_DURATION)?;
    if stop <= start {
        return Err(item.wrong(format!("must be later than start, {}", text::duration(start))));
    }
    Ok(Some(stop))
}
