//! Approximate times at which segments were assigned.

use crate::time::{Duration, Time};

const MARKS: usize = 32;
/// Marks are about this part of the wanted age apart, so that the ring holds more than one and a
/// half times that age.
const PARTS: u64 = 16;

/// Times, each with the number of segments assigned by then. A ring, in order.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    marks: [(Time, u64); MARKS],
    /// The place of the next mark, and the number of marks.
    next: usize,
    count: usize,
}

impl Marks {
    pub(super) const NONE: Self = Self { marks: [(Time::ZERO, 0); MARKS], next: 0, count: 0 };

    /// Records that at `now` all segments below `assigned` have been assigned.
    pub(super) fn note(&mut self, now: Time, assigned: u64, age: Duration) {
        let apart = Duration::from_nanos(age.as_nanos() / PARTS);
        if let Some(&(at, before)) = self.newest() {
            if before >= assigned {
                return;
            }
            if now.since(at) < apart && self.count > 1 {
                let second = self.marks[(self.next + MARKS - 2) % MARKS].0;
                // The newest mark moves on while it is near the one before it: its segments get
                // younger, never older.
                if now.since(second) < apart {
                    self.marks[(self.next + MARKS - 1) % MARKS] = (now, assigned);
                    return;
                }
            }
        }
        self.marks[self.next] = (now, assigned);
        self.next = (self.next + 1) % MARKS;
        self.count = (self.count + 1).min(MARKS);
    }

    fn newest(&self) -> Option<&(Time, u64)> {
        (self.count > 0).then(|| &self.marks[(self.next + MARKS - 1) % MARKS])
    }

    /// The time when `segment` will have been in flight for `age`.
    pub(super) fn overdue(&self, segment: u64, age: Duration) -> Time {
        let mut oldest_first =
            (0..self.count).map(|at| self.marks[(self.next + MARKS - self.count + at) % MARKS]);
        let mark = oldest_first.find(|&(_, assigned)| assigned > segment);
        mark.map_or(Time::MAX, |(at, _)| at.saturating_add(age))
    }
}
