//! The keys that a path and its directions share: rate or trace, delay, queue, loss, jitter,
//! outages.

use std::sync::Arc;

use plait_sched::Duration;

use super::discipline;
use super::link_values::{QueueChoice, duplicate, jitter, loss, outages, queue, trace};
use super::reader::{Item, MAX_DURATION, Reader};
use super::steps::{LaterSteps, LinkSteps, varying};
use crate::error::ScenarioError;
use crate::link::discipline::Settings;
use crate::link::{Capacity, Duplicate, Jitter, Loss, Outages, Trace, Varying};

/// A table's description of a link; `None` for keys that it does not have.
#[derive(Default)]
pub(super) struct LinkKeys {
    /// A rate, with its steps.
    pub(super) rate: Option<Capacity>,
    pub(super) trace: Option<Arc<Trace>>,
    pub(super) delay: Option<Duration>,
    pub(super) delay_steps: Option<LaterSteps<Duration>>,
    pub(super) queue: Option<Varying<QueueChoice>>,
    /// Whether the queue is the default.
    pub(super) queue_is_preset: bool,
    /// Drop-tail is `Some(None)`.
    pub(super) discipline: Option<Option<Settings>>,
    pub(super) loss: Option<Varying<Loss>>,
    pub(super) duplicate: Option<Option<Duplicate>>,
    pub(super) jitter: Option<Option<Jitter>>,
    pub(super) reorder: Option<bool>,
    pub(super) outages: Option<Outages>,
}

impl LinkKeys {
    /// Reads the keys of a direction's table, which have no defaults.
    pub(super) fn direction(mut reader: Reader<'_>, packet: u32) -> Result<Self, ScenarioError> {
        fn begins(reader: &Reader<'_>, key: &str) -> bool {
            reader.has(key)
        }
        let given = Self::some(&mut reader, packet, Reader::take, begins)?;
        if given.rate.is_some() && given.trace.is_some() {
            return Err(reader.source.rule(reader.place.clone(), "give a rate or a trace, not both"));
        }
        reader.finish();
        Ok(given)
    }

    /// Reads the keys of a path's table, some of which have defaults.
    pub(super) fn path(reader: &mut Reader<'_>, packet: u32) -> Result<Self, ScenarioError> {
        // Keys with a default have a first value.
        let begins = |reader: &Reader<'_>, key: &str| key != "rate" || reader.has(key);
        Self::some(reader, packet, |reader, key| reader.need(key).ok(), begins)
    }

    fn some<'a>(
        reader: &mut Reader<'a>,
        packet: u32,
        mut common: impl FnMut(&mut Reader<'a>, &'static str) -> Option<Item<'a>>,
        begins: fn(&Reader<'_>, &str) -> bool,
    ) -> Result<Self, ScenarioError> {
        let changes = LinkSteps::read(reader, packet, begins)?;
        let rate = reader.take("rate").map(|item| item.rate()).transpose()?;
        let capacity =
            |rate| changes.rate.map_or(Capacity::Rate(rate), |later| Capacity::Steps(later.after(rate)));
        Ok(Self {
            queue_is_preset: !reader.has("queue"),
            discipline: common(reader, "discipline")
                .map(|item| discipline::read(item, packet))
                .transpose()?,
            rate: rate.map(capacity),
            trace: reader.take("trace").map(|item| trace(&item)).transpose()?,
            delay: reader
                .take("delay")
                .map(|item| item.duration(Duration::ZERO..=MAX_DURATION))
                .transpose()?,
            delay_steps: changes.delay,
            queue: common(reader, "queue")
                .map(|item| queue(&item, packet))
                .transpose()?
                .map(|first| varying(first, changes.queue)),
            loss: common(reader, "loss").map(loss).transpose()?.map(|first| varying(first, changes.loss)),
            duplicate: common(reader, "duplicate").map(duplicate).transpose()?,
            jitter: common(reader, "jitter").map(jitter).transpose()?,
            reorder: reader.take("reorder").map(|item| item.boolean()).transpose()?,
            outages: reader.take("outages").map(outages).transpose()?,
        })
    }
}
