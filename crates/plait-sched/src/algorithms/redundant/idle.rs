//! Lowest RTT, with copies of segments in flight while there is no new data.

use super::super::clip;
use super::super::opportunity::Opportunity;
use super::{fastest, open};
use crate::decision::{Decision, Event};
use crate::time::Time;
use crate::view::{Connection, MAX_PATHS, Path};

/// The copies decided at this moment. A copy that does not leave is not decided again.
#[derive(Clone, Debug)]
pub(super) struct WhenIdle {
    opportunity: Opportunity,
    /// The last segment that each path had to copy.
    copied: [Option<u64>; MAX_PATHS],
}

impl WhenIdle {
    /// Creates the state without copies.
    pub(super) const fn new() -> Self {
        Self { opportunity: Opportunity::NEW, copied: [None; MAX_PATHS] }
    }

    pub(super) fn decide(&mut self, now: Time, connection: &Connection, paths: &[Path]) -> Decision {
        if self.opportunity.begins(now) {
            self.copied = [None; MAX_PATHS];
        }
        let open = open(paths);
        if connection.unassigned > 0 {
            let sendable = connection.sendable();
            return match fastest(open, paths) {
                Some(path) if sendable > 0 => {
                    Decision::Assign { path: path.id, segments: clip(path.room(), sendable) }
                }
                _ => self.opportunity.end(),
            };
        }
        let lacking =
            |path: &Path| path.uncarried.filter(|&segment| self.copied[path.id.index()] != Some(segment));
        let copies = paths
            .iter()
            .filter(|path| open.contains(path.id))
            .filter_map(|path| lacking(path).map(|segment| (segment, path)));
        match copies.min_by_key(|&(segment, path)| (segment, path.srtt)) {
            Some((segment, path)) => {
                self.copied[path.id.index()] = Some(segment);
                Decision::Reinject { path: path.id, segment }
            }
            None => self.opportunity.end(),
        }
    }

    pub(super) fn on_event(&mut self, event: &Event) {
        self.opportunity.on_event(event);
    }
}

#[cfg(test)]
mod tests;
