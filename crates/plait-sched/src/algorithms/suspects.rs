//! Suspects: paths that timed out and have acknowledged nothing since.
//!
//! The queued segments of a timed-out path are recalled and planned again. The facts of the path
//! (round-trip time, delay, window) still date from before the timeout, so the plan would put
//! segments into its queue again and again.

use crate::decision::Event;
use crate::view::{MAX_PATHS, Path, PathId, usable};

/// The set of suspects.
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

    /// True if no segment may wait in the queue of `path`, one of `paths`: the path is a suspect,
    /// and another usable one is not.
    pub(crate) fn excludes(self, path: &Path, paths: &[Path]) -> bool {
        self.contains(path.id) && usable(paths).any(|other| !self.contains(other.id))
    }

    /// The path with the lowest round-trip time that no suspicion excludes, if it is measured and
    /// faster than `slow`, one of `paths`.
    #[inline]
    pub(crate) fn faster<'a>(self, slow: &Path, paths: &'a [Path]) -> Option<&'a Path> {
        let trusted = usable(paths).filter(|path| !self.excludes(path, paths));
        trusted.min_by_key(|path| path.srtt).filter(|fast| fast.has_rtt() && fast.srtt < slow.srtt)
    }

    /// True if arrivals can be compared, so that segments may be assigned ahead. Two paths or more
    /// must be usable, and each must be measured, not in loss recovery and not excluded.
    ///
    /// Otherwise the first paths would get the receiver's whole window, and a path that joins would
    /// have nothing to send.
    pub(crate) fn comparable(self, paths: &[Path]) -> bool {
        let known = |path: &Path| path.has_rtt() && !path.in_recovery && !self.excludes(path, paths);
        usable(paths).nth(1).is_some() && usable(paths).all(known)
    }
}
