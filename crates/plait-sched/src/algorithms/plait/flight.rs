//! The newest segments of the stream, with their predicted arrivals.

use crate::view::{PathId, PathSet};

/// Number of segments remembered.
const SEGMENTS: usize = 1024;

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    /// The segment modulo 2³²: no two segments that far apart are in flight.
    segment: u32,
    /// The predicted arrival of the earliest copy, in nanoseconds.
    pub(super) due: i64,
    /// The paths that carry it, or are about to.
    pub(super) carried: PathSet,
}

/// A ring of the newest segments; the place of a segment follows from its number.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    sent: [Sent; SEGMENTS],
    /// One more than the newest segment.
    end: u64,
}

impl Flight {
    pub(super) const NONE: Self =
        Self { sent: [Sent { segment: u32::MAX, due: 0, carried: PathSet::EMPTY }; SEGMENTS], end: 0 };

    /// Notes a transmission on `path` that arrives at `due`.
    pub(super) fn on_sent(&mut self, segment: u64, path: PathId, due: i64) {
        self.end = self.end.max(segment.saturating_add(1));
        if segment < self.begin() {
            return;
        }
        let sent = &mut self.sent[place(segment)];
        if sent.segment != segment as u32 {
            *sent = Sent { segment: segment as u32, due, carried: PathSet::EMPTY };
        } else if sent.carried.contains(path) && sent.carried.without(only(path)) == PathSet::EMPTY {
            // The retransmission of a lost original.
            sent.due = due;
        } else {
            sent.due = sent.due.min(due);
        }
        sent.carried.insert(path);
    }

    /// The oldest segment that may be remembered.
    const fn begin(&self) -> u64 {
        self.end.saturating_sub(SEGMENTS as u64)
    }

    pub(super) fn get(&self, segment: u64) -> Option<&Sent> {
        Some(&self.sent[place(segment)]).filter(|sent| sent.segment == segment as u32)
    }

    /// The segment, if it is remembered and `path` lacks it.
    pub(super) fn missing(&self, segment: u64, path: PathId) -> Option<&Sent> {
        self.get(segment).filter(|sent| !sent.carried.contains(path))
    }

    /// The first segment from `from` on that `path` lacks and that is due after `arrival`, and the
    /// segment from which to search next: predictions of earlier segments do not change.
    pub(super) fn late(&self, from: u64, path: PathId, arrival: i64) -> (Option<u64>, u64) {
        let late = |&segment: &u64| self.missing(segment, path).is_some_and(|sent| arrival < sent.due);
        let found = (from.max(self.begin())..self.end).find(late);
        (found, found.unwrap_or(self.end))
    }

    /// Notes that a copy on `path` was decided.
    pub(super) fn copied(&mut self, segment: u64, path: PathId) {
        let sent = &mut self.sent[place(segment)];
        if sent.segment == segment as u32 {
            sent.carried.insert(path);
        }
    }
}

const fn place(segment: u64) -> usize {
    (segment % SEGMENTS as u64) as usize
}

const fn only(path: PathId) -> PathSet {
    let mut set = PathSet::EMPTY;
    set.insert(path);
    set
}
