//! Budgets of paths, and the choice of paths for duplicates.

use super::Session;
use crate::terms::PathTerms;
use plait_sched::{Path, PathId, Scheduler, Time};
use plait_transport::endpoint::PathChange;

impl<W: Scheduler> Session<W> {
    /// Tells the transport which paths have used up their budgets, and from which number on their
    /// packets were `refused`. Returns true if a path is newly spent.
    pub(super) fn apply_budgets(&mut self, now: Time, refused: &[(usize, u64)]) -> bool {
        let Self { endpoint, sent, received, budgets, observer, spent_paths, .. } = self;
        let before = *spent_paths;
        for path in (0..budgets.len()).filter(|&path| !has_budget(path, sent, received, budgets)) {
            let id = PathId(path as u8);
            if !spent_paths.contains(id) {
                let first = refused.iter().find(|refused| refused.0 == path);
                let from = first.map_or(u64::MAX, |refused| refused.1);
                endpoint.change_path(now, &PathChange::Spent(id, from), observer);
                spent_paths.insert(id);
            }
        }
        *spent_paths != before
    }

    /// True if the path has used up its budget.
    pub(crate) fn is_spent(&self, path: usize) -> bool {
        self.spent_paths.contains(PathId(path as u8))
    }

    /// Duplicates segments that have just left on every path that may carry data. Returns true if
    /// duplicates are queued.
    pub(super) fn duplicate(&mut self, segments: &[u64]) -> bool {
        if segments.is_empty() {
            return false;
        }
        let Self { endpoint, sent, received, budgets, .. } = self;
        let paths = endpoint.paths();
        let has_budget = |path: &&Path| has_budget(path.id.index(), sent, received, budgets);
        let usable = plait_sched::usable(&paths).filter(has_budget);
        let copies = usable.flat_map(|path| segments.iter().map(move |segment| (path.id, *segment)));
        copies.fold(false, |waits, (path, segment)| endpoint.copy(path, segment) | waits)
    }

    /// Payload bytes by path in both directions, duplicates included. Budgets count these bytes.
    pub fn budget_used(&self) -> Vec<u64> {
        self.sent.iter().zip(&self.received).map(|(sent, received)| sent + received).collect()
    }

    /// Sets the terms of a path. A spent path carries nothing more.
    pub fn set_terms(&mut self, now: Time, path: PathId, terms: &PathTerms) {
        let Some(budget) = self.budgets.get_mut(path.index()) else { return };
        *budget = if terms.spent { 0 } else { *budget };
        self.endpoint.set_terms(now, path, terms.backup, terms.cost, &mut self.observer);
    }
}

/// True if the path may carry another packet.
pub(super) fn has_budget(path: usize, sent: &[u64], received: &[u64], budgets: &[u64]) -> bool {
    sent[path] + received[path] < budgets[path]
}
