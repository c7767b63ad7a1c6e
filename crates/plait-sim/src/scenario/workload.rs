//! `[workload]`: what the application sends.

use plait_sched::Duration;

use super::flow::stop;
use super::keys::{WORKLOAD_BULK, WORKLOAD_CBR, WORKLOAD_FILE, WORKLOAD_ON_OFF};
use super::on_off::OnOff;
use super::reader::{Item, MAX_BYTES, MAX_DURATION, Reader, Word};
use crate::error::ScenarioError;

/// What the application sends. Sizes are in bytes of payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Workload {
    /// As much as fits, all the time.
    Bulk {
        /// When it begins.
        start: Duration,
    },
    /// This much, at once; the run ends when it has arrived.
    File {
        /// How much.
        size: u64,
        /// When it is written.
        start: Duration,
    },
    /// Blocks of equal size at equal intervals.
    ConstantRate {
        /// Bits per second.
        rate: u64,
        /// The size of a block.
        block: u64,
        /// When the first block is written.
        start: Duration,
        /// From when on no block is written.
        stop: Option<Duration>,
    },
    /// Blocks of equal size at equal intervals during on times.
    OnOff {
        /// Bits per second, during on times.
        rate: u64,
        /// The size of a block.
        block: u64,
        /// When.
        times: OnOff,
        /// When the first on time begins.
        start: Duration,
        /// From when on no block is written.
        stop: Option<Duration>,
    },
}

impl Workload {
    /// The workload of a scenario that describes none.
    pub const DEFAULT: Self = Self::Bulk { start: Duration::ZERO };

    /// The size of its blocks, if it writes blocks.
    pub const fn block(&self) -> Option<u64> {
        match self {
            Self::Bulk { .. } | Self::File { .. } => None,
            Self::ConstantRate { block, .. } | Self::OnOff { block, .. } => Some(*block),
        }
    }
}

/// The kinds, before their keys are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bulk,
    File,
    ConstantRate,
    OnOff,
}

impl Word for Kind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("bulk", Self::Bulk), ("file", Self::File), ("cbr", Self::ConstantRate), ("on-off", Self::OnOff)];
}

impl Workload {
    pub(super) fn read(item: Item<'_>) -> Result<Self, ScenarioError> {
        let kind = item.variant(&WORKLOAD_BULK, "kind")?;
        let table = match kind {
            Kind::Bulk => &WORKLOAD_BULK,
            Kind::File => &WORKLOAD_FILE,
            Kind::ConstantRate => &WORKLOAD_CBR,
            Kind::OnOff => &WORKLOAD_ON_OFF,
        };
        let mut reader = item.reader(table)?;
        let _: Kind = reader.need("kind")?.word()?;
        let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
        let workload = match kind {
            Kind::Bulk => Self::Bulk { start },
            Kind::File => Self::File { size: reader.need("size")?.bytes(&(1..=MAX_BYTES))?, start },
            Kind::ConstantRate => {
                let (rate, block) = blocks(&mut reader)?;
                Self::ConstantRate { rate, block, start, stop: stop(&mut reader, start)? }
            }
            Kind::OnOff => {
                let (rate, block) = blocks(&mut reader)?;
                let times = OnOff::read(&mut reader)?;
                Self::OnOff { rate, block, times, start, stop: stop(&mut reader, start)? }
            }
        };
        reader.finish();
        Ok(workload)
    }
}

/// The rate and the size of blocks.
fn blocks(reader: &mut Reader<'_>) -> Result<(u64, u64), ScenarioError> {
    let rate_item = reader.need("rate")?;
    let rate = rate_item.rate()?;
    let block = reader.need("block")?.bytes(&(1..=MAX_BYTES))?;
    // Blocks closer than that would not let the clock advance.
    if u128::from(block) * 8_000_000_000 < u128::from(rate) {
        return Err(rate_item.wrong("blocks must be at least 1ns apart: larger blocks or a lower rate"));
    }
    Ok((rate, block))
}
