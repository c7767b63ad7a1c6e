//! What a path is for: what it costs, how much it may carry, whether it only stands in for others.
//!
//! Schedulers take a path that has carried its budget for a failed one. What the transport itself would send there again is lost
//! ([`Session`](crate::session::Session)), so that it finds the path dead and takes another.

use plait_sched::{
    Capabilities, Connection, Decision, Event, Interest, Path, PathSet, PathState, Scheduler, Time,
};
use plait_transport::PathConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The terms of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// What using it costs, in units of the user's choice: schedulers see it (`cheapest-first`).
    pub cost: u32,
    /// Payload bytes that it may carry, both ways, copies included; `None` is without end. What leaves exceeds it by a packet at most; what comes, by what was on its way
    /// when the peer heard that it is spent.
    pub budget: Option<u64>,
    /// To be used only while no other path works.
    pub backup: bool,
}

/// What the end that opens paths tells the other one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathTerms {
    /// See [`Terms::cost`].
    pub cost: u32,
    /// See [`Terms::backup`].
    pub backup: bool,
    /// It has carried all that it may.
    pub spent: bool,
}

impl Terms {
    /// What the other end is told, of a path that has carried all that it may or not.
    pub(crate) fn told(self, spent: bool) -> PathTerms {
        PathTerms { cost: self.cost, backup: self.backup, spent }
    }

    pub(crate) fn path(self) -> PathConfig {
        PathConfig { cost: self.cost, backup: self.backup, ..PathConfig::default() }
    }
}

/// Which paths have carried all that they may.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent(Arc<AtomicU32>);

impl Spent {
    /// Looks at what every path has carried.
    pub(crate) fn count(&self, terms: &[Terms], carried: &[u64]) {
        let spent = terms.iter().zip(carried).enumerate();
        let spent =
            spent.filter(|(_, (terms, carried))| terms.budget.is_some_and(|budget| **carried >= budget));
        self.0.store(spent.fold(0, |all, (path, _)| all | 1 << path), Ordering::Relaxed);
    }

    /// The path has carried all that it may, by the peer's word.
    pub(crate) fn note(&self, path: usize) {
        self.0.fetch_or(1 << path, Ordering::Relaxed);
    }

    pub(crate) fn paths(&self) -> PathSet {
        PathSet(self.0.load(Ordering::Relaxed))
    }

    pub(crate) fn has(&self, path: usize) -> bool {
        self.paths().0 & 1 << path != 0
    }
}

/// A scheduler to which a path that has carried all that it may is a failed one.
#[derive(Debug)]
pub struct Budgeted<W> {
    scheduler: W,
    spent: Spent,
    /// What it sees, where that is not what there is.
    seen: Vec<Path>,
}

impl<W> Budgeted<W> {
    pub(crate) fn new(scheduler: W, spent: Spent) -> Self {
        Self { scheduler, spent, seen: Vec::new() }
    }

    fn look(&mut self, paths: &[Path]) {
        self.seen.clear();
        self.seen.extend(paths.iter().map(|path| match path {
            path if self.spent.has(path.id.index()) => Path { state: PathState::Failed, ..path.clone() },
            path => path.clone(),
        }));
    }
}

impl<W: Scheduler> Scheduler for Budgeted<W> {
    fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.spent.paths().0 == 0 {
            return self.scheduler.decide(now, connection, paths);
        }
        self.look(paths);
        self.scheduler.decide(now, connection, &self.seen)
    }

    fn on_event(&mut self, event: &Event, connection: &Connection, paths: &[Path]) {
        if self.spent.paths().0 == 0 {
            return self.scheduler.on_event(event, connection, paths);
        }
        self.look(paths);
        self.scheduler.on_event(event, connection, &self.seen);
    }

    fn needs(&self) -> Capabilities {
        self.scheduler.needs()
    }

    fn interest(&self) -> Interest {
        self.scheduler.interest()
    }

    fn waits_without_room(&self) -> bool {
        self.scheduler.waits_without_room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Agreed, Extent, Session};
    use crate::settings::Settings;
    use plait_sched::{Builtin, PathId};
    use plait_transport::endpoint::Side;

    #[test]
    fn schedulers_see_what_paths_cost_and_which_stand_by() {
        let terms = [Terms { cost: 5, ..Terms::default() }, Terms { backup: true, ..Terms::default() }];
        let extent = Extent::Piece { sends: 10, gets: 0 };
        let agreed = Agreed { paths: 2, initial: 0, segment: 1_000, window: 1 << 20, extent };
        let scheduler = Builtin::new("cheapest-first", &[]).expect("it is built in");
        let session = Session::over(Side::Client, &Settings::default(), agreed, &terms, scheduler);
        let paths = session.expect("it needs nothing special").paths();
        assert_eq!(paths.iter().map(|path| path.cost).collect::<Vec<_>>(), [5, 0]);
    }

    #[test]
    fn a_path_that_has_carried_its_budget_is_a_failed_one_to_schedulers() {
        let terms = [Terms { budget: Some(10), ..Terms::default() }, Terms::default()];
        let spent = Spent::default();
        spent.count(&terms, &[9, 1 << 40]);
        assert_eq!(spent.paths(), PathSet(0));
        spent.count(&terms, &[10, 1 << 40]);
        let mut budgeted = Budgeted::new((), spent);
        budgeted.look(&[Path::new(PathId(0), 1_000), Path::new(PathId(1), 1_000)]);
        let states: Vec<PathState> = budgeted.seen.iter().map(|path| path.state).collect();
        assert_eq!(states[0], PathState::Failed);
        assert_ne!(states[1], PathState::Failed);
    }
}
