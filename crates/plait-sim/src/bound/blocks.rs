//! L0 for blocks: no block can arrive before its links have carried it.

use super::file::demand_of;
use super::joint::long_run;
use super::network::{Demand, Network};
use super::{BLOCK_DELAY, Bound, Runs};
use crate::application::ConstantRate;
use crate::scenario::Scenario;

/// The share of the written bytes that a run must have delivered for a bound of the long run.
pub(super) const MOST: f64 = 0.99;

/// Blocks whose earliest arrival is searched; more are grouped.
const SEARCHES: u64 = 2_000;

/// Searches for several blocks together.
const JOINT_SEARCHES: usize = 100;

/// Nanoseconds by which rounding may change a delay.
const ROUNDING: f64 = 8.0;

/// The blocks of a run, and the bounds of their delays. Times are in nanoseconds.
pub(super) struct Blocks {
    /// Payload bytes of a block.
    pub(super) bytes: f64,
    start: u64,
    /// The interval as a fraction.
    interval: (u128, u128),
    /// Written before the end of the run.
    pub(super) count: u64,
}

/// Consecutive blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) count: u64,
    /// The least mean delay of the first ones, of any number.
    pub(super) delay: f64,
    /// The least delay of each.
    each: f64,
    /// The times of the first and of the last one's writing.
    written: (u64, u64),
}

impl Group {
    /// The time that each has waited when the warm-up ends.
    fn waited(&self, warmup: u64) -> f64 {
        warmup.saturating_sub(self.written.1) as f64
    }
}

impl Blocks {
    pub(super) fn new(blocks: &ConstantRate, end: u64) -> Self {
        let interval = (u128::from(blocks.block) * 8_000_000_000, u128::from(blocks.rate));
        let start = blocks.start.as_nanos();
        let stop = blocks.stop.map_or(end, |stop| stop.as_nanos().min(end));
        // The block `j` is written at start + ⌊j · interval⌋ < stop.
        let span = u128::from(stop.saturating_sub(start));
        let count = (span * interval.1).div_ceil(interval.0);
        Self { bytes: blocks.block as f64, start, interval, count: u64::try_from(count).unwrap_or(u64::MAX) }
    }

    pub(super) fn written(&self, block: u64) -> u64 {
        let offset = u128::from(block) * self.interval.0 / self.interval.1;
        self.start.saturating_add(u64::try_from(offset).unwrap_or(u64::MAX))
    }

    /// Nanoseconds from one block to the next.
    pub(super) fn interval(&self) -> f64 {
        self.interval.0 as f64 / self.interval.1 as f64
    }
}

/// L0, and L0-joint if it is larger.
pub(super) fn bounds(scenario: &Scenario, network: &Network<'_>, workload: &ConstantRate) -> Vec<Bound> {
    let blocks = Blocks::new(workload, network.end);
    if blocks.count == 0 {
        return Vec::new();
    }
    let single = if super::has_full_segments(scenario) {
        demand_of(workload.block, network)
    } else {
        Demand::Bytes(blocks.bytes)
    };
    let groups = if network.is_steady() {
        steady(network, &blocks, single)
    } else {
        varying(network, &blocks, single)
    };
    let warmup = scenario.warmup.as_nanos();
    let least = mean(&groups, warmup, 1);
    let needed = ((blocks.count as f64 * MOST) as u64).max(1);
    let most = mean(&groups, warmup, needed).max(long_run(scenario, network, &blocks, groups[0].delay));
    let bound = |name, nanos: f64, runs, note| Bound {
        name,
        metric: BLOCK_DELAY,
        value: (nanos - ROUNDING).max(0.0) / 1e6,
        runs,
        note,
    };
    let mut bounds = vec![bound(
        "L0",
        least,
        Runs::All,
        "links alone, block by block. Tight at low rates, and loose where the fast paths are overloaded.",
    )];
    if most > least * 1.001 {
        bounds.push(bound(
            "L0-joint",
            most,
            Runs::Delivered(MOST),
            "for runs that deliver 99 % of the data. All blocks together: if the fast paths are overloaded, blocks \
             wait for slow paths or for each other.",
        ));
    }
    bounds
}

/// The bound of several blocks in a row holds at any time: from the writing of the first one to the
/// arrival of the last one.
fn steady(network: &Network<'_>, blocks: &Blocks, single: Demand) -> Vec<Group> {
    let from = vec![0; network.routes.len()];
    let mut groups: Vec<Group> = Vec::new();
    let (mut together, mut delay, mut arrival) = (1_u64, 0.0_f64, 0);
    while together <= blocks.count {
        let demand = if together == 1 { single } else { Demand::Bytes(together as f64 * blocks.bytes) };
        arrival = network.earliest(&from, demand, None, (arrival, u64::MAX >> 1));
        let waited = arrival as f64 - (together - 1) as f64 * blocks.interval();
        delay = delay.max(waited);
        // The links are faster than the blocks: more of them wait no longer.
        let last = together > 16 && waited < delay / 2.0;
        // Every number up to 256, then further and further apart.
        let next = if last { blocks.count + 1 } else { together + (together / 256).max(1) };
        let next = next.min(blocks.count + 1);
        let written = (blocks.written(together - 1), blocks.written(next - 2));
        groups.push(Group { count: next - together, delay, each: delay, written });
        together = next;
    }
    groups
}

/// Earliest arrivals at the times of writing. For a group of blocks, that of the first one.
fn varying(network: &Network<'_>, blocks: &Blocks, single: Demand) -> Vec<Group> {
    let paths = network.routes.len();
    let stride = blocks.count.div_ceil(SEARCHES);
    let firsts: Vec<u64> = (0..blocks.count).step_by(stride as usize).collect();
    let sparse = firsts.len().div_ceil(JOINT_SEARCHES);
    let mut groups: Vec<Group> = Vec::with_capacity(firsts.len());
    let floor = network.least_time(blocks.bytes);
    let mut arrival = 0;
    for (place, &first) in firsts.iter().enumerate() {
        let written = blocks.written(first);
        let low = arrival.max(written);
        let high = network.end.max(low);
        arrival = network.earliest(&vec![written; paths], single, None, (low, high));
        // Together with earlier blocks.
        let mut back = 1;
        while place % sparse == 0 && back <= place && arrival < network.end {
            let earlier = firsts[place - back];
            let demand = Demand::Bytes((first - earlier + 1) as f64 * blocks.bytes);
            let from = vec![blocks.written(earlier); paths];
            if !network.delivers(&from, arrival, demand, None) {
                arrival = network.earliest(&from, demand, None, (arrival, high));
            }
            back *= 2;
        }
        let count = stride.min(blocks.count - first);
        // All blocks of the group may arrive at the same time, but for the least time of each.
        let last = blocks.written(first + count - 1);
        let delay = falling_mean(arrival.saturating_sub(written) as f64, (last - written) as f64, floor);
        let each = floor.max(arrival.saturating_sub(last) as f64);
        groups.push(Group { count, delay, each, written: (written, last) });
    }
    groups
}

/// The mean of the larger one of `start` − x and `floor`, for x up to `span`. The mean of equal steps
/// is not smaller, as the function is convex.
fn falling_mean(start: f64, span: f64, floor: f64) -> f64 {
    let above = start - floor;
    let falls = above.clamp(0.0, span);
    if span > 0.0 { floor + falls * (above - falls / 2.0) / span } else { start.max(floor) }
}

/// The least mean delay of blocks that were delivered from the end of the warm-up on. These are
/// blocks in a row; all blocks before them, and at least `needed` in all, were delivered.
fn mean(groups: &[Group], warmup: u64, needed: u64) -> f64 {
    let begins = groups.partition_point(|group| group.written.0 < warmup).min(groups.len() - 1);
    let mut least = f64::INFINITY;
    // The first block of the row is the first one after the warm-up, or an earlier one. Blocks that
    // wait longer than the mean only raise it.
    for first in (0..=begins).rev() {
        if groups[first].waited(warmup) >= least {
            break;
        }
        least = least.min(mean_from(groups, first, needed, warmup));
        if warmup == 0 {
            break;
        }
    }
    least
}

/// The least mean of a row that begins with the group `first`; after a warm-up, perhaps with a later
/// block of it.
fn mean_from(groups: &[Group], first: usize, needed: u64, warmup: u64) -> f64 {
    let (mut count, mut sum, mut least) = (0_u64, 0.0, f64::INFINITY);
    let mut before: u64 = groups[..first].iter().map(|group| group.count).sum();
    for (place, group) in groups.iter().enumerate().skip(first) {
        let alone = if place == first && warmup > 0 { group.each } else { group.delay };
        let delay = alone.max(group.waited(warmup));
        // A mean whose row ends inside a group lies between those at the group's ends.
        let take = needed.saturating_sub(before).clamp(1, group.count);
        let shorter = (sum + take as f64 * delay) / (count + take) as f64;
        (count, sum) = (count + group.count, sum + group.count as f64 * delay);
        before += group.count;
        if before >= needed {
            least = least.min(shorter).min(sum / count as f64);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_falls_to_its_floor() {
        assert_eq!(falling_mean(50.0, 20.0, 10.0), 40.0);
        assert_eq!(falling_mean(30.0, 40.0, 10.0), 15.0);
        assert_eq!(falling_mean(5.0, 40.0, 10.0), 10.0);
        assert_eq!((falling_mean(50.0, 0.0, 10.0), falling_mean(5.0, 0.0, 10.0)), (50.0, 10.0));
    }

    #[test]
    fn a_row_may_begin_with_the_last_block_of_a_group() {
        // Ten blocks, 10 ns apart, that may all arrive 100 ns after the first one was written.
        let group = Group { count: 10, delay: 55.0, each: 10.0, written: (0, 90) };
        assert_eq!(mean(&[group], 0, 1), 55.0);
        assert_eq!(mean(&[group], 95, 1), 10.0);
        assert_eq!(mean(&[group], 120, 1), 30.0, "each has waited in the warm-up");
    }
}
