//! The newest segments of the stream, with the times at which they leave the bottlenecks.

use crate::view::{PathId, PathSet};

/// Number of segments remembered.
const SEGMENTS: u64 = 1024;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The time when the copy that arrives first has left its bottleneck, in nanoseconds.
    pub(super) departure: u64,
    /// The paths that carry a copy, or are about to.
    pub(super) carried: PathSet,
    /// The path of the copy that arrives first.
    pub(super) carrier: PathId,
    /// The segment's number divided by [`SEGMENTS`], modulo 2¹⁶: no two segments so far apart are
    /// in flight.
    lap: u16,
}

/// A ring of the newest segments; the place of a segment follows from its number.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    sent: [Sent; SEGMENTS as usize],
    /// One more than the newest segment.
    end: u64,
}

impl Flight {
    pub(super) const NONE: Self = Self {
        sent: [Sent { departure: 0, carried: PathSet::EMPTY, carrier: PathId(0), lap: u16::MAX };
            SEGMENTS as usize],
        end: 0,
    };

    /// Notes a transmission on `path`; `arrival` gives the arrival of a copy. `again` is true if the
    /// segment had been sent before.
    pub(super) fn on_sent(
        &mut self,
        segment: u64,
        path: PathId,
        departure: u64,
        again: bool,
        arrival: impl Fn(PathId, u64) -> i64,
    ) {
        self.end = self.end.max(segment.saturating_add(1));
        if segment < self.begin() {
            return;
        }
        let sent = &mut self.sent[place(segment)];
        if sent.lap != lap(segment) || sent.carried == PathSet::EMPTY {
            *sent = Sent { departure, carried: PathSet::EMPTY, carrier: path, lap: lap(segment) };
        } else {
            // The engine sent a lost segment again, on its path or on one without a copy.
            let lost = sent.carrier == path || (again && !sent.carried.contains(path));
            if lost || arrival(path, departure) < arrival(sent.carrier, sent.departure) {
                (sent.departure, sent.carrier) = (departure, path);
            }
        }
        sent.carried.insert(path);
    }

    /// The oldest segment that may be remembered.
    pub(super) const fn begin(&self) -> u64 {
        self.end.saturating_sub(SEGMENTS)
    }

    /// The segment, if it is remembered.
    pub(super) fn get(&self, segment: u64) -> Option<&Sent> {
        let sent = &self.sent[place(segment)];
        (sent.lap == lap(segment) && sent.carried != PathSet::EMPTY).then_some(sent)
    }

    /// The first segment from `from` on that `path` lacks and that is `late`, and the segment from
    /// which to search next. Predictions seldom change, so earlier segments need no second look.
    pub(super) fn late(&self, from: u64, path: PathId, late: impl Fn(&Sent) -> bool) -> (Option<u64>, u64) {
        let wanted =
            |segment: &u64| self.get(*segment).is_some_and(|sent| !sent.carried.contains(path) && late(sent));
        let found = (from.max(self.begin())..self.end).find(wanted);
        (found, found.unwrap_or(self.end))
    }

    /// Notes that a copy on `path` was decided.
    pub(super) fn copied(&mut self, segment: u64, path: PathId) {
        if self.get(segment).is_some() {
            self.sent[place(segment)].carried.insert(path);
        }
    }

    /// Forgets the copies on `path`, which failed or timed out. The copy that arrives first stays,
    /// so that its delay shows its loss.
    pub(super) fn forget(&mut self, path: PathId) {
        for sent in self.sent.iter_mut().filter(|sent| sent.carrier != path) {
            sent.carried.remove(path);
        }
    }
}

const fn place(segment: u64) -> usize {
    (segment % SEGMENTS) as usize
}

const fn lap(segment: u64) -> u16 {
    (segment / SEGMENTS) as u16
}
