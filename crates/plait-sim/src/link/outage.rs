//! Times at which the wire is cut: a packet whose last bit would leave during an outage is lost.

use plait_sched::{Duration, Time};

/// One outage, from `from` (inclusive) to `to` (exclusive).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// The time at which the wire is cut.
    pub from: Time,
    /// The time at which the wire works again.
    pub to: Time,
}

/// The times at which the wire is cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outages {
    /// During these outages, which are in order and do not overlap.
    List(Vec<Outage>),
    /// Periodically.
    Periodic {
        /// The time from the beginning of one outage to the beginning of the next, more than zero.
        every: Duration,
        /// The length of each outage.
        length: Duration,
        /// The beginning of the first outage.
        first: Time,
    },
}

/// Outages, for queries about times that never decrease.
#[derive(Clone, Debug)]
pub(super) struct Cuts {
    outages: Outages,
    /// The first outage that is not over.
    current: usize,
}

impl Cuts {
    pub(super) fn new(outages: &Outages) -> Self {
        Self { outages: outages.clone(), current: 0 }
    }

    /// Whether the wire is cut at `moment`.
    pub(super) fn covers(&mut self, moment: Time) -> bool {
        match &self.outages {
            Outages::List(outages) => {
                while outages.get(self.current).is_some_and(|outage| outage.to <= moment) {
                    self.current += 1;
                }
                outages.get(self.current).is_some_and(|outage| outage.from <= moment)
            }
            Outages::Periodic { every, length, first } => {
                moment >= *first && moment.since(*first).as_nanos() % every.as_nanos() < length.as_nanos()
            }
        }
    }
}
