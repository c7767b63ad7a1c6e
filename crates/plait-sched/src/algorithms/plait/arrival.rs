//! Rule 1: the predicted arrival of a segment.

use core::fmt;

use super::{Key, Plait, room, signed};
use crate::view::{Path, PathId, usable};

impl Plait {
    /// The time when the bottleneck will have transmitted a segment that is assigned to `path` now,
    /// behind `before` others: the later one of the times that the bottleneck's rate and the window
    /// allow. In nanoseconds; not before the last decision.
    fn departure(&self, path: &Path, before: u32) -> i64 {
        let bottleneck = self.bottleneck(path);
        let spacing = bottleneck.spacing(path);
        let in_flight = u64::from(bottleneck.in_flight(path));
        let place = in_flight + u64::from(path.lost) + u64::from(path.queued) + u64::from(before);
        let window = if self.plenty { path.cwnd.min(path.limit) } else { path.cwnd };
        let window = u64::from(window.max(1));
        let now = signed(self.now.as_nanos());
        let free = signed(bottleneck.corrected_free(self.now, path));
        let transmitted = |place: u64| {
            if place < in_flight {
                free.saturating_sub(signed(spacing.saturating_mul(in_flight - place - 1)))
            } else {
                free.max(now).saturating_add(signed(spacing.saturating_mul(place - in_flight + 1)))
            }
        };
        let mut departure = transmitted(place);
        if place >= window {
            // The segment a window earlier is in flight, or leaves some round trips from now.
            let behind = place.saturating_sub(window.max(in_flight));
            let rounds = signed(path.srtt.as_nanos().saturating_mul(behind / window + 1));
            departure = departure.max(transmitted(behind % window).saturating_add(rounds));
        }
        departure.max(now)
    }

    /// The predicted arrival of a segment that is assigned to the path now, behind `before` others,
    /// and the path's delay, which decides ties. `None` if the path takes no such segment.
    pub(super) fn arrival(&self, path: &Path, paths: &[Path], before: u32) -> Option<Key> {
        let has_room = room(path) > before;
        let bottleneck = self.bottleneck(path);
        if path.in_recovery {
            return None;
        }
        if !has_room {
            let unmeasured = self.switches.trains && !bottleneck.is_measured(path);
            if self.suspects.excludes(path, paths) || (unmeasured && usable(paths).nth(1).is_some()) {
                return None;
            }
        }
        match bottleneck.delay(path, self.one_way) {
            Some(delay) => Some((self.departure(path, before).saturating_add(delay), delay)),
            None => has_room.then_some((i64::MIN, i64::MIN)),
        }
    }

    /// Writes how much later or earlier than on `best` the next segment arrives on each other path.
    /// Only differences have a meaning, because clocks may differ.
    pub(super) fn write_arrivals(
        &self,
        best: PathId,
        paths: &[Path],
        reason: &mut dyn fmt::Write,
    ) -> fmt::Result {
        let arrival = |path: &Path| self.arrival(path, paths, 0).map(|(arrival, _)| arrival);
        let Some(first) = paths.get(best.index()).and_then(arrival) else { return Ok(()) };
        if first == i64::MIN {
            return write!(reason, "{{{}}} has no round-trip time yet", best.0);
        }
        let others = || usable(paths).filter(|path| path.id != best);
        if others().filter_map(arrival).all(|other| other >= first) {
            write!(reason, "arrives first on {{{}}}", best.0)?;
        } else {
            write!(reason, "stays on {{{}}} for a burst", best.0)?;
        }
        for path in others() {
            match arrival(path).map(|other| other.saturating_sub(first)) {
                Some(later) => {
                    let word = if later < 0 { "earlier" } else { "later" };
                    let time = later.unsigned_abs() as f64 / 1e6;
                    write!(reason, ", {time:.1} ms {word} on {{{}}}", path.id.0)?;
                }
                None => write!(reason, ", {{{}}} takes nothing ahead", path.id.0)?,
            }
        }
        Ok(())
    }
}
