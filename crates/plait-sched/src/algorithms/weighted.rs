//! Weighted round-robin: the paths take turns of one segment, in proportion to their weights.
//!
//! # Source
//! The tunnels of MLVPN (`wrr.c` of the public code); other devices that bond lines for SD-WAN do
//! the same. Each tunnel has a counter and a weight in percent. A packet goes to the tunnel with
//! the smallest counter, the first of equals. Then every counter above zero falls by 1, and the
//! chosen tunnel's is set to 100/weight, the number of packets between two of its turns. Here the
//! weights are those of the scenario's paths ([`Path::weight`], 1 unless set), and their sum is the
//! 100 %.
//!
//! # Readings
//! * `shares`, the default: the chosen path's counter is *raised* by 100/weight instead of set, and
//!   all counters fall, also below zero. So the fraction of a turn is not lost, and the shares are
//!   those of the weights. The code counts whole numbers: a path's credit, which is minus its
//!   counter times its weight. Every open path earns its weight. The path with the most credit gets
//!   the turn, and pays the sum that all have earned.
//! * `mlvpn`: the counter is set, as in the code. Counters then stay between −1 and 100/weight, and
//!   weights of 60 and 40 % make equal shares: 100/60 and 100/40 are not whole, and each turn drops
//!   the fraction.
//!
//! # Departures
//! * MLVPN's tunnels have no congestion window: the tunnel whose turn it is sends. Here only open
//!   paths have turns. By `shares`, a path that is not open earns nothing meanwhile, so it does not
//!   make up for missed turns. By `mlvpn` its counter goes on falling, and it has one turn at once
//!   when it opens. Where windows and not the application limit the sending, their sizes make the
//!   shares, not the weights.
//! * By `shares`, a path that alone is open takes as many segments as its window admits: it earns
//!   as much as it pays.
//! * MLVPN's search begins with a smallest counter of 100, so it never sees a tunnel of less than 1
//!   %; here it does.
//! * A weight of 0 counts as 1, one above 65 535 as 65 535.
//!
//! # Progress
//! As in round-robin: it waits only for data, for the receiver's window, or for room on any path.

use super::clip;
use crate::decision::{Decision, Interest, Scheduler};
use crate::params::{Domain, ParameterInfo, Parameters, SchedulerInfo, Value};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path, PathSet, usable};

/// The treatment of the fraction of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reading {
    /// The fraction is kept: the shares are those of the weights.
    #[default]
    Shares,
    /// The fraction is dropped, as in MLVPN's code.
    Mlvpn,
}

/// The state of weighted round-robin.
#[derive(Clone, Debug)]
pub struct Weighted {
    reading: Reading,
    /// By `Shares` the credit of each path, by `Mlvpn` its counter times its weight.
    counts: [i64; MAX_PATHS],
}

impl Weighted {
    /// The description in the registry.
    pub const INFO: SchedulerInfo = SchedulerInfo {
        name: "weighted",
        title: "Weighted round-robin",
        summary: "The open paths take turns of one segment, in proportion to their weights.",
        source: "MLVPN; the weighted balancing of SD-WAN devices",
        needs: crate::Capabilities::NONE,
        parameters: &[ParameterInfo {
            name: "reading",
            doc: "If 100 % divided by the weight is no whole number: the fraction of a turn is kept, so that the shares equal the weights (shares), or it is dropped as in MLVPN's code (mlvpn).",
            default: Value::Text("shares"),
            domain: Domain::Choice(&["shares", "mlvpn"]),
        }],
    };

    /// Creates the state before any turn.
    pub const fn new(reading: Reading) -> Self {
        Self { reading, counts: [0; MAX_PATHS] }
    }

    /// Builds the scheduler from checked parameters.
    pub fn from_parameters(parameters: &Parameters<'_>) -> Self {
        Self::new(if parameters.text("reading") == "mlvpn" { Reading::Mlvpn } else { Reading::Shares })
    }

    /// Returns the open path whose turn it is, and updates the credits.
    fn turn_by_shares<'a>(&mut self, paths: &'a [Path], open: PathSet) -> Option<&'a Path> {
        let mut earned = 0;
        let mut most: Option<&Path> = None;
        for path in paths.iter().filter(|path| open.contains(path.id)) {
            let credit = &mut self.counts[path.id.index()];
            *credit += weight(path);
            earned += weight(path);
            let credit = *credit;
            if most.is_none_or(|most| credit > self.counts[most.id.index()]) {
                most = Some(path);
            }
        }
        if let Some(path) = most {
            self.counts[path.id.index()] -= earned;
        }
        most
    }

    /// Returns the open path whose turn it is. Counters are compared as fractions with the weights
    /// as denominators.
    fn turn_by_counters<'a>(&mut self, paths: &'a [Path], open: PathSet) -> Option<&'a Path> {
        let counts = &mut self.counts;
        let mut least: Option<&Path> = None;
        for path in paths.iter().filter(|path| open.contains(path.id)) {
            let is_less = |least: &Path| {
                counts[path.id.index()] * weight(least) < counts[least.id.index()] * weight(path)
            };
            if least.is_none_or(is_less) {
                least = Some(path);
            }
        }
        let mut total = 0;
        for path in usable(paths).take(MAX_PATHS) {
            let count = &mut counts[path.id.index()];
            *count -= if *count > 0 { weight(path) } else { 0 };
            total += weight(path);
        }
        if let Some(path) = least {
            counts[path.id.index()] = total;
        }
        least
    }
}

impl Default for Weighted {
    fn default() -> Self {
        Self::new(Reading::Shares)
    }
}

/// The weight of a path, within its bounds.
fn weight(path: &Path) -> i64 {
    i64::from(path.weight.clamp(1, 65_535))
}

impl Scheduler for Weighted {
    #[inline]
    fn decide(&mut self, _now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        let sendable = connection.sendable();
        if sendable == 0 {
            return Decision::WAIT;
        }
        let mut open = PathSet::EMPTY;
        for path in usable(paths).take(MAX_PATHS).filter(|path| path.is_open()) {
            open.insert(path.id);
        }
        if open == PathSet::EMPTY {
            return Decision::WAIT;
        }
        if self.reading == Reading::Mlvpn {
            let path = self.turn_by_counters(paths, open);
            return path.map_or(Decision::WAIT, |path| Decision::Assign { path: path.id, segments: 1 });
        }
        let segments = if open.0.is_power_of_two() { u32::MAX } else { 1 };
        let path = self.turn_by_shares(paths, open);
        path.map_or(Decision::WAIT, |path| Decision::Assign {
            path: path.id,
            segments: clip(path.room().min(segments), sendable),
        })
    }

    fn interest(&self) -> Interest {
        Interest::NONE
    }

    fn waits_without_room(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
