//! The paths involved with each segment.

use super::Stream;
use crate::core::segment::Spread;
use crate::core::transmission::TransmissionId;
use plait_sched::PathId;

impl Stream {
    /// Returns the paths involved with a segment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn spread(&self, segment: u64) -> Spread {
        let Some(entry) = self.segments.get(segment) else { return Spread::default() };
        entry.lone().unwrap_or_else(|| self.listed_spread(segment))
    }

    #[inline(never)]
    fn listed_spread(&self, segment: u64) -> Spread {
        self.spread.get(segment).copied().unwrap_or_default()
    }

    /// Mutable access to the paths involved with a segment.
    pub(crate) fn spread_mut(&mut self, segment: u64) -> Option<&mut Spread> {
        let entry = self.segments.get_mut(segment)?;
        if let Some(lone) = entry.lone() {
            entry.mark_spread();
            // Segments below this one may follow.
            self.spread.forget_below(self.segments.first());
            *self.spread.reach(segment, Spread::default())? = lone;
        }
        self.spread.get_mut(segment)
    }

    /// True if the segment waits or was sent on another path too: there are copies of it.
    pub(crate) fn is_copied(&self, segment: u64, path: PathId) -> bool {
        let spread = self.spread(segment);
        [spread.carried, spread.copies, spread.tried]
            .into_iter()
            .any(|paths| paths.iter().any(|other| other != path))
    }

    /// Records that a path fast retransmits a segment.
    pub(crate) fn mark_fast_retransmitted(&mut self, segment: u64, path: PathId) {
        let Some(entry) = self.segments.get_mut(segment) else { return };
        entry.mark_fast_retransmitted();
        if entry.lone().is_none()
            && let Some(spread) = self.spread.get_mut(segment)
        {
            spread.fast_retransmitted.insert(path);
        }
    }

    /// True if a segment was fast retransmitted, which happens once. Afterwards only the timer
    /// finds it lost (RFC 9260 §7.2.4). With `copies` of segments, each path does it once.
    #[inline]
    pub(crate) fn was_fast_retransmitted(&self, segment: u64, path: PathId, copies: bool) -> bool {
        let Some(entry) = self.segments.get(segment).filter(|entry| entry.fast_retransmitted()) else {
            return false;
        };
        !copies || entry.lone().is_some() || self.spread(segment).fast_retransmitted.contains(path)
    }

    /// Records that a segment leaves as this transmission. Returns true if it was sent on this path
    /// before.
    pub(crate) fn note_sending(&mut self, segment: u64, newest: TransmissionId) -> bool {
        let Some(entry) = self.get_mut(segment) else { return false };
        let path = PathId(newest.path());
        if entry.stays_alone(path) {
            let tried = entry.ever_sent();
            entry.newest = newest;
            entry.mark_sent();
            return tried;
        }
        let Some(spread) = self.spread_mut(segment) else { return false };
        let tried = spread.tried.contains(path);
        spread.tried.insert(path);
        spread.carried.insert(path);
        if let Some(entry) = self.segments.get_mut(segment) {
            entry.newest = newest;
            entry.mark_sent();
        }
        tried
    }

    /// Records that no copy of the segment waits on the path.
    pub(crate) fn drop_copy(&mut self, segment: u64, path: PathId) {
        // There may be no entry if no copy waited.
        if let Some(spread) = self.spread.get_mut(segment) {
            spread.copies.remove(path);
        }
    }

    /// Records that the segment is no longer in flight on the path.
    #[inline]
    pub(crate) fn note_gone(&mut self, segment: u64, path: PathId) {
        let Some(entry) = self.segments.get_mut(segment) else { return };
        if !entry.leave(path)
            && let Some(spread) = self.spread.get_mut(segment)
        {
            spread.carried.remove(path);
        }
    }
}
