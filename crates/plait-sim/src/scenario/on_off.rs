//! On and off times, of a workload and of competing traffic alike.

use plait_sched::Duration;

use super::reader::{MAX_DURATION, Reader, Word};
use crate::error::ScenarioError;

/// Sending during random on times, silent during random off times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOff {
    /// The mean on time.
    pub on: Duration,
    /// The mean off time.
    pub off: Duration,
    /// How both are distributed.
    pub distribution: Distribution,
}

/// How random times are distributed around their mean.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Without memory.
    Exponential,
    /// With a heavy tail: P(X > x) = (least / x)^shape. Many such sources together are self-similar traffic.
    Pareto {
        /// More than 1; up to 2 the variance is infinite.
        shape: f64,
    },
}

/// The distributions, before their parameter is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Exponential,
    Pareto,
}

impl Word for Shape {
    const WORDS: &'static [(&'static str, Self)] =
        &[("exponential", Self::Exponential), ("pareto", Self::Pareto)];
}

/// The largest shape of a Pareto distribution: from there on, times hardly differ from their mean.
const MAX_SHAPE: f64 = 1000.0;

/// The default of `shape`, which only Pareto's distribution has.
pub(crate) const DEFAULT_SHAPE: f64 = 1.5;

impl OnOff {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        // Shorter times would be nothing but events.
        let range = Duration::from_micros(1)..=MAX_DURATION;
        let on = reader.need("on")?.duration(range.clone())?;
        let off = reader.need("off")?.duration(range)?;
        let shape = reader.take("shape");
        let distribution = match (reader.need("distribution")?.word()?, shape) {
            (Shape::Exponential, None) => Distribution::Exponential,
            (Shape::Exponential, Some(item)) => {
                return Err(item.wrong("only distribution = \"pareto\" has a shape"));
            }
            (Shape::Pareto, None) => Distribution::Pareto { shape: DEFAULT_SHAPE },
            (Shape::Pareto, Some(item)) => {
                let shape = item.number()?;
                if !(shape > 1.0 && shape <= MAX_SHAPE) {
                    let reason = format!("must be more than 1, or there is no mean, and at most {MAX_SHAPE}");
                    return Err(item.wrong(reason));
                }
                Distribution::Pareto { shape }
            }
        };
        Ok(Self { on, off, distribution })
    }
}
