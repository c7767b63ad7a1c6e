//! MuSher: divides segments between two paths in a ratio. A new ratio is searched when the
//! throughput or the amount of outstanding data changes.
//!
//! # Source
//! Sahni, Sur, Zhang, *MuSher: An Agile Multipath-TCP Scheduler for Dual-Band 802.11ad/ac Wireless
//! LANs* (ACM MobiCom 2019), after its authors' code (mptcp-musher).
//!
//! The first path carries a share between 5 and 95 of each 100 segments. Every 100 ms the
//! throughput and the mean of the outstanding data are measured; five measurements make a
//! reference. A search begins after five intervals in a row in which throughput has moved away from
//! the reference by more than `change` in sum, or the outstanding data is 75 kB less.
//!
//! A search raises the share by 5, and again as long as each step gains more than `gain`, measured
//! after 200 ms. If the first step does not, it lowers the share by 5 in the same way. A step
//! without gain is undone. Searches are 3 s apart.
//!
//! # Readings
//! * "In sum" is the sum of all differences since the reference was made. A search is followed by a
//!   new reference.
//! * Outstanding data is the bytes that paths hold: assigned and not acknowledged.
//! * The first share is one half: the code's is set from outside.
//!
//! # Departures
//! * When the first step downwards fails, the code takes another 5 away instead of giving 5 back.
//!   Here the step is undone.
//! * The thresholds are for links of hundreds of Mbit/s, so they are parameters.
//! * The rule is for two paths. With more, the first carries its share, and the others share the
//!   rest equally. A backup path takes part only where no active path is usable.
//! * The check of every 100 ms happens at the first decision after that time. If there is none for
//!   another 100 ms, the interval does not count.
//!
//! # Progress
//! The scheduler waits for a path with an unsent part of the hundred only while that path has data
//! in flight; otherwise the next hundred begins.

use super::clip;
use super::suspects::Suspects;
use crate::decision::{Capabilities, Decision, Event, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::{Duration, Time};
use crate::view::{Connection, MAX_PATHS, Path, PathSet, usable};

/// Number of segments that are divided at once.
const CYCLE: u32 = 100;
/// The smallest and the largest share of the first path, and the step of a search.
const SHARES: [u32; 2] = [5, 95];
const STEP: u32 = 5;
const INTERVAL: Duration = Duration::from_millis(100);
const SEARCH_INTERVAL: Duration = Duration::from_millis(200);
const BETWEEN_SEARCHES: Duration = Duration::from_secs(3);
/// Number of intervals of a reference, and of differing intervals before a search.
const INTERVALS: u32 = 5;
/// A decrease of outstanding data that counts as a change, in bytes.
const DRAINED: i64 = 75_000;
/// Bound of rates for sums, in bits per second.
const MOST: u64 = 1 << 50;

/// The measurements of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    since: Time,
    acknowledged: u64,
    /// The sum of outstanding bytes over all samples, and the number of samples.
    waited: u64,
    looks: u64,
}

/// The use of an interval's measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Makes the reference: sums of throughput and of outstanding data.
    Refers { intervals: u32, rate: i64, waiting: i64 },
    /// Compares with the reference: the sum of differences, and the number of differing intervals
    /// in a row.
    Watches { rate: i64, waiting: i64, moved: i64, running: u32 },
    /// Searches with a larger or smaller share for the first path, after `steps` successful steps;
    /// `rate` is the throughput before.
    Searches { up: bool, steps: u32, rate: i64 },
}

const ANEW: Phase = Phase::Refers { intervals: 0, rate: 0, waiting: 0 };

/// The state of MuSher.
#[derive(Clone, Debug)]
pub struct Musher {
    /// Thresholds in bits per second.
    change: i64,
    gain: i64,
    /// The first path's share of a hundred segments.
    share: u32,
    interval: Interval,
    phase: Phase,
    searched: Option<Time>,
    /// Segments of this hundred that each path has still to send.
    left: [u32; MAX_PATHS],
    sharing: PathSet,
    suspects: Suspects,
}

impl Musher {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "musher",
        title: "MuSher",
        summary: "Two paths share every hundred segments in a ratio; a new ratio is searched when the throughput changes.",
        source: "Sahni et al., MuSher, ACM MobiCom 2019",
        needs: Capabilities::NONE,
        parameters: &[
            ParameterInfo {
                name: "share",
                doc: "The segments of the first path in each hundred, before the first search.",
                default: Value::Integer(50),
                domain: Domain::Integer { min: 5, max: 95 },
            },
            ParameterInfo {
                name: "change",
                doc: "The change of throughput, in Mbit/s summed over intervals of 100 ms, that starts a search for a better share. A smaller value searches more often.",
                default: Value::Number(200.0),
                domain: Domain::Number { min: 0.001, max: 1_000_000.0 },
            },
            ParameterInfo {
                name: "gain",
                doc: "The least additional throughput for which a step of the search is kept, in Mbit/s.",
                default: Value::Number(5.0),
                domain: Domain::Number { min: 0.0, max: 1_000_000.0 },
            },
        ],
    };

    /// Creates the state with the first path's share of a hundred, and thresholds in bits per
    /// second.
    pub const fn new(share: u32, change: i64, gain: i64) -> Self {
        Self {
            change,
            gain,
            share,
            interval: Interval { since: Time::ZERO, acknowledged: 0, waited: 0, looks: 0 },
            phase: ANEW,
            searched: None,
            left: [0; MAX_PATHS],
            sharing: PathSet::EMPTY,
            suspects: Suspects::NONE,
        }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        let bits = |name| (parameters.number(name) * 1e6 + 0.5) as i64;
        Self::new(parameters.integer("share") as u32, bits("change"), bits("gain"))
    }

    /// Samples the outstanding data, and ends the interval if its time is over.
    fn look(&mut self, now: Time, paths: &[Path]) {
        let held = |path: &Path| {
            let segments = u64::from(path.in_flight) + u64::from(path.lost) + u64::from(path.queued);
            segments.saturating_mul(path.mss.into())
        };
        let waits = paths.iter().map(held).fold(0, u64::saturating_add).min(MOST);
        self.interval.waited = self.interval.waited.saturating_add(waits);
        self.interval.looks += 1;
        let lasts = if matches!(self.phase, Phase::Searches { .. }) { SEARCH_INTERVAL } else { INTERVAL };
        let span = now.since(self.interval.since);
        if span < lasts {
            return;
        }
        let over = core::mem::replace(&mut self.interval, Interval { since: now, ..Interval::default() });
        if span >= lasts + INTERVAL {
            return;
        }
        let bits = u128::from(over.acknowledged) * 8_000_000_000 / u128::from(span.as_nanos());
        let rate = u64::try_from(bits).unwrap_or(MOST).min(MOST) as i64;
        self.judge(now, rate, (over.waited / over.looks) as i64);
    }

    /// Processes the throughput of an interval, in bits per second, and the mean of its outstanding
    /// bytes.
    fn judge(&mut self, now: Time, measured: i64, waited: i64) {
        match self.phase {
            Phase::Refers { intervals, rate, waiting } => {
                let (rate, waiting, count) = (rate + measured, waiting + waited, intervals + 1);
                self.phase = if count < INTERVALS {
                    Phase::Refers { intervals: count, rate, waiting }
                } else {
                    let mean = |sum: i64| sum / i64::from(INTERVALS);
                    Phase::Watches { rate: mean(rate), waiting: mean(waiting), moved: 0, running: 0 }
                };
            }
            Phase::Watches { rate, waiting, moved, running } => {
                let moved = moved.saturating_add(measured - rate);
                let differs = moved.saturating_abs() > self.change || waited - waiting < -DRAINED;
                let running = if differs { running.saturating_add(1) } else { 0 };
                let rests = self.searched.is_some_and(|last| now.since(last) < BETWEEN_SEARCHES);
                self.phase = Phase::Watches { rate, waiting, moved, running };
                if running >= INTERVALS && !rests {
                    self.searched = Some(now);
                    self.step(true, 0, measured);
                }
            }
            Phase::Searches { up, steps, rate } if measured - rate > self.gain => {
                self.step(up, steps + 1, measured);
            }
            Phase::Searches { up, steps, rate } => {
                self.share = if up { self.share - STEP } else { self.share + STEP };
                self.phase = ANEW;
                if up && steps == 0 {
                    self.step(false, 0, rate);
                }
            }
        }
    }

    /// Makes a step of the search, if the share stays within its bounds.
    fn step(&mut self, up: bool, steps: u32, rate: i64) {
        let share = if up { self.share + STEP } else { self.share.saturating_sub(STEP) };
        if (SHARES[0]..=SHARES[1]).contains(&share) {
            self.share = share;
            self.phase = Phase::Searches { up, steps, rate };
        } else if up && steps == 0 {
            self.step(false, 0, rate);
        } else {
            self.phase = ANEW;
        }
    }

    /// Divides the next hundred among these paths.
    fn divide(&mut self, sharing: PathSet) {
        self.left = [0; MAX_PATHS];
        self.sharing = sharing;
        let count = sharing.0.count_ones();
        for (place, path) in (0..count).zip(sharing.iter()) {
            self.left[path.index()] = match (place, count) {
                (_, 1) => CYCLE,
                (0, _) => self.share,
                _ => {
                    let (rest, others) = (CYCLE - self.share, count - 1);
                    // Each gets at least one segment, so that every path is used. The first of the
                    // others gets the remainder.
                    let over = if place == 1 { rest % others } else { 0 };
                    (rest / others + over).max(1)
                }
            };
        }
    }
}

impl Default for Musher {
    fn default() -> Self {
        Self::new(50, 200_000_000, 5_000_000)
    }
}

impl Scheduler for Musher {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        self.look(now, paths);
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let suspects = self.suspects;
        let shares = || usable(paths).take(MAX_PATHS).filter(move |path| !suspects.excludes(path, paths));
        let mut sharing = PathSet::EMPTY;
        shares().for_each(|path| sharing.insert(path.id));
        let comes = |path: &Path| path.is_open() || path.in_flight > 0;
        if self.sharing != sharing || !shares().any(|path| self.left[path.id.index()] > 0 && comes(path)) {
            self.divide(sharing);
        }
        let Some(path) = shares().find(|path| self.left[path.id.index()] > 0 && path.is_open()) else {
            return Decision::WAIT;
        };
        let left = &mut self.left[path.id.index()];
        let segments = clip(path.room().min(*left), sendable);
        *left -= segments;
        Decision::Assign { path: path.id, segments }
    }

    fn on_event(&mut self, event: &Event, _connection: &Connection, paths: &[Path]) {
        self.suspects.on_event(event);
        if let Event::Acked { path, segments, .. } = *event {
            let size = paths.get(path.index()).map_or(0, |path| path.mss);
            let bytes = u64::from(segments) * u64::from(size);
            self.interval.acknowledged = self.interval.acknowledged.saturating_add(bytes);
        }
    }

    fn interest(&self) -> Interest {
        Interest::ACKED
    }
}

#[cfg(test)]
mod tests;
