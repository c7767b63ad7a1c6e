//! Blocks of equal size at equal intervals, always or during random on times.

use super::pace::{self, Pace};
use super::times::stop;
use super::times::{DISTRIBUTION, OFF, ON, OnOffTimes, OnTimes, SHAPE};
use super::{
    Application, ApplicationEvent, ApplicationInput, ConnectionEnd, ConnectionWriter, Description, KIND,
};
use super::{deadline, deadline_key, size_key, start_key, within, write_deadline};
use crate::error::ScenarioError;
use crate::format::keys::{DURATION, KeyInfo, Preset, RATE, TableInfo, key};
use crate::format::reader::{MAX_BYTES, MAX_DURATION, Reader};
use crate::format::text;
use crate::random::RandomStream;
use plait_sched::{Duration, Time};
use serde_json::Value;

/// Blocks of equal size at equal intervals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantRate {
    /// Bits per second.
    pub rate: u64,
    /// The size of a block.
    pub block: u64,
    /// The time of the first block.
    pub start: Duration,
    /// No block is written from this time on.
    pub stop: Option<Duration>,
    /// The deadline of a block, relative to its writing.
    pub deadline: Option<Duration>,
}

/// Blocks of equal size at equal intervals during on times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OnOff {
    /// The blocks of the on times. `rate` applies during on times; the first on time begins at the
    /// start.
    pub blocks: ConstantRate,
    /// The on and off times.
    pub times: OnOffTimes,
}

const BLOCK: KeyInfo = size_key("block", "The size of a block, in payload bytes.");
const STOP: KeyInfo = key(
    "stop",
    DURATION,
    Preset::Otherwise("the end of the run"),
    "The end of the writes; written blocks still arrive.",
);

const DEADLINE: KeyInfo = deadline_key(
    "The time limit for the complete delivery of a block, such as a player's for a frame. \
     Schedulers may know it, and metrics report it.",
);

impl Description for ConstantRate {
    type Application = Blocks;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"cbr\"",
        doc: "Constant bit rate: blocks of equal size at equal intervals of block · 8 / rate.",
        keys: &[
            KIND,
            key("rate", RATE, Preset::Required, "The rate, in payload bits per second."),
            BLOCK,
            start_key("The time of the first block."),
            STOP,
            DEADLINE,
        ],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        let start = reader.need("start")?.duration(Duration::ZERO..=MAX_DURATION)?;
        let rate_item = reader.need("rate")?;
        let rate = rate_item.rate()?;
        let block = reader.need("block")?.bytes(&(1..=MAX_BYTES))?;
        // Shorter intervals would not let the clock advance.
        if u128::from(block) * 8_000_000_000 < u128::from(rate) {
            return Err(rate_item.wrong("blocks must be at least 1ns apart: larger blocks or a lower rate"));
        }
        Ok(Self { rate, block, start, stop: stop(reader, start)?, deadline: deadline(reader)? })
    }

    fn write(&self, table: &mut Value) {
        table["rate"] = text::rate(self.rate).into();
        table["block"] = text::bytes(self.block).into();
        table["start"] = text::duration(self.start).into();
        if let Some(stop) = self.stop {
            table["stop"] = text::duration(stop).into();
        }
        write_deadline(table, self.deadline);
    }

    fn start(&self, _seed: u64) -> Blocks {
        Blocks { block: self.block, pace: self.pace(), deadline: self.deadline }
    }

    fn begin(&self) -> Duration {
        self.start
    }

    fn block(&self) -> Option<u64> {
        Some(self.block)
    }

    fn deadline(&self) -> Option<Duration> {
        self.deadline
    }
}

impl ConstantRate {
    fn pace(&self) -> Pace {
        Pace::constant(self.rate, self.block, self.start, self.stop)
    }
}

impl Description for OnOff {
    type Application = Blocks;

    const KEYS: TableInfo = TableInfo {
        name: "[workload] kind = \"on-off\"",
        doc: "Constant bit rate during random on times, and no data between them. The mean rate is \
            rate · on / (on + off).",
        keys: &[
            KIND,
            key("rate", RATE, Preset::Required, "The rate during on times, in payload bits per second."),
            BLOCK,
            ON,
            OFF,
            DISTRIBUTION,
            SHAPE,
            start_key("The beginning of the first on time."),
            STOP,
            DEADLINE,
        ],
        later: &[],
    };

    fn read(reader: &mut Reader<'_>) -> Result<Self, ScenarioError> {
        let blocks = ConstantRate::read(reader)?;
        Ok(Self { blocks, times: OnOffTimes::read(reader)? })
    }

    fn write(&self, table: &mut Value) {
        self.blocks.write(table);
        self.times.write(table);
    }

    fn start(&self, seed: u64) -> Blocks {
        let pace = self.blocks.pace().on_off(self.times, stream(seed));
        Blocks { block: self.blocks.block, pace, deadline: self.blocks.deadline }
    }

    fn begin(&self) -> Duration {
        self.blocks.start
    }

    fn block(&self) -> Option<u64> {
        Some(self.blocks.block)
    }

    fn deadline(&self) -> Option<Duration> {
        self.blocks.deadline
    }

    fn on_times(&self, seed: u64, until: Duration) -> OnTimes {
        let until = self.blocks.stop.map_or(until, |stop| stop.min(until));
        pace::on_times(self.times, stream(seed), self.blocks.start, until)
    }
}

/// The random stream of on and off times.
fn stream(seed: u64) -> RandomStream {
    RandomStream::new(seed, "workload/on-off")
}

/// Writes blocks.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    block: u64,
    pace: Pace,
    deadline: Option<Duration>,
}

impl Application for Blocks {
    fn next_wakeup(&self) -> Option<Time> {
        self.pace.next()
    }

    fn handle(&mut self, now: Time, _input: ApplicationInput, ends: &mut impl ConnectionWriter) {
        if self.pace.fire() {
            ends.write(ConnectionEnd::Near, self.block, &within(now, self.deadline));
            ends.note(ApplicationEvent::BlockWritten { bytes: self.block, deadline: self.deadline });
        }
    }
}
