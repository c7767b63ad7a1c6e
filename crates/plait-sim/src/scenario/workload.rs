//! `[workload]`: what the application sends.

use plait_sched::Duration;

use super::keys::{WORKLOAD_BULK, WORKLOAD_CBR, WORKLOAD_FILE};
use super::reader::{Item, MAX_BYTES, MAX_DURATION, Word};
use crate::error::ScenarioError;

/// What the application sends. Sizes are in bytes of payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// As much as fits, all the time.
    Bulk,
    /// This much, at once; the run ends when it has arrived.
    File {
        /// How much.
        size: u64,
    },
    /// Blocks of equal size at equal intervals.
    ConstantRate {
        /// Bits per second.
        rate: u64,
        /// The size of a block.
        block: u64,
        /// When the first block is written.
        start: Duration,
    },
}

/// The kinds, before their keys are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bulk,
    File,
    ConstantRate,
}

impl Word for Kind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("bulk", Self::Bulk), ("file", Self::File), ("cbr", Self::ConstantRate)];
    const LATER: &'static [&'static str] = &["on-off"];
}

impl Workload {
    pub(super) fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
        let kind = item.variant(&WORKLOAD_BULK, "kind")?;
        let table = match kind {
            Kind::Bulk => &WORKLOAD_BULK,
            Kind::File => &WORKLOAD_FILE,
            Kind::ConstantRate => &WORKLOAD_CBR,
        };
        let mut reader = item.reader(table)?;
        let _: Kind = reader.need("kind")?.word()?;
        let workload = match kind {
            Kind::Bulk => Self::Bulk,
            Kind::File => Self::File { size: reader.need("size")?.bytes(&(1..=MAX_BYTES))? },
            Kind::ConstantRate => {
                let rate_item = reader.need("rate")?;
                let rate = rate_item.rate()?;
                let block = reader.need("block")?.bytes(&(1..=MAX_BYTES))?;
                // Blocks closer than that would not let the clock advance.
                if u128::from(block) * 8_000_000_000 < u128::from(rate) {
                    return Err(
                        rate_item.wrong("blocks must be at least 1ns apart: larger blocks or a lower rate")
                    );
                }
                let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
                Self::ConstantRate { rate, block, start }
            }
        };
        reader.finish();
        Ok(workload)
    }
}
