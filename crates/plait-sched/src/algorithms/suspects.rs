//! Suspects: paths that timed out and have acknowledged nothing since.
//!
//! What a timed-out path held in its queue is recalled and planned again. The facts of the path (round-trip time, delay,
//! window) are still those from before, so the plan would put segments into its queue again and again.

use crate::decision::Event;
use crate::view::{MAX_PATHS, Path, PathId, usable};

/// The paths under suspicion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspects(u32);

impl Suspects {
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn on_event(&mut self, event: &Event) {
        match *event {
            Event::Timeout { path } | Event::PathDown { path } if path.index() < MAX_PATHS => {
                self.0 |= 1 << path.0;
            }
            Event::Acked { path, .. } | Event::PathUp { path } if path.index() < MAX_PATHS => {
                self.0 &= !(1 << path.0);
            }
            _ => {}
        }
    }

    pub(crate) const fn contains(self, path: PathId) -> bool {
        self.0 >> path.0 & 1 == 1
    }

    /// True if nothing is to wait in the queue of `path`, one of `paths`: it is a suspect, and another one is not.
    pub(crate) fn excludes(self, path: &Path, paths: &[Path]) -> bool {
        self.contains(path.id) && usable(paths).any(|other| !self.contains(other.id))
    }

    /// True if arrivals can be compared, so that segments may be assigned ahead: two paths or more are usable,
    /// and each was measured, is not in loss recovery and is not excluded. Otherwise the other paths would be
    /// given the receiver's whole window, and one that joins would have nothing to send.
    pub(crate) fn comparable(self, paths: &[Path]) -> bool {
        let known = |path: &Path| path.has_rtt() && !path.in_recovery && !self.excludes(path, paths);
        usable(paths).nth(1).is_some() && usable(paths).all(known)
    }
}
