//! Every path carries every segment.
//!
//! # Rule
//! For each path the number of the next segment to copy is kept. An open path, by ascending smoothed round-trip time,
//! copies the next segment that some path has sent, from the oldest unacknowledged one on; a path that has copied
//! everything takes new data. So the path that is ahead of the others sends first, and a slow path skips what was
//! acknowledged meanwhile.
//!
//! # Departures
//! * A segment is copied once per path. What is lost is sent again by the engine, whatever other copies there are.
//! * While the oldest unacknowledged segment is not known (it is to be sent again), paths take new data and copy later.
//! * A copy that turns out to be of no use (the segment arrived, or the path carries it) is not sent, but decided.
//! * A copy is the segment as the first path cut it. Small writes that wait for a path are not
//!   merged there. Linux merges waiting data on each subflow (`mptcp_sendmsg_frag`).

use super::super::clip;
use crate::decision::{Decision, Event};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// What each path has carried.
#[derive(Clone, Debug)]
pub(in super::super) struct Full {
    /// The next segment that a path has to copy.
    next: [u64; MAX_PATHS],
    sent: SentSegments,
}

impl Full {
    /// Nothing has been sent.
    pub(in super::super) const NEW: Self = Self { next: [0; MAX_PATHS], sent: SentSegments::NOTHING };

    /// Whatever the oldest unacknowledged segment tells, to be known before a copy is looked for.
    pub(in super::super) fn look(&mut self, connection: &Connection) {
        if let Some(oldest) = connection.oldest_unacked {
            self.sent.is_below(oldest.segment + 1);
        }
    }

    /// `path` goes on with `segment`, unless it is further.
    pub(in super::super) fn skip_to(&mut self, path: crate::view::PathId, segment: u64) {
        if let Some(next) = self.next.get_mut(path.index()) {
            *next = segment.max(*next);
        }
    }

    /// The next segment that `path` has to copy, if it has not copied everything.
    pub(in super::super) fn copy(&mut self, connection: &Connection, path: &Path) -> Option<u64> {
        let oldest = connection.oldest_unacked?;
        let next = &mut self.next[path.id.index()];
        *next = oldest.segment.max(*next);
        if *next == oldest.segment && oldest.carried.contains(path.id) {
            *next += 1;
        }
        (*next < self.sent.up_to).then(|| {
            *next += 1;
            *next - 1
        })
    }

    pub(super) fn decide(&mut self, connection: &Connection, paths: &[Path]) -> Decision {
        if let Some(oldest) = connection.oldest_unacked {
            self.sent.is_below(oldest.segment + 1);
        }
        // A bit per path that has neither something to copy nor new data.
        let mut done = 0_u32;
        loop {
            let open =
                usable(paths).take(MAX_PATHS).filter(|path| path.is_open() && done >> path.id.0 & 1 == 0);
            // `min_by_key` keeps the first of equals; zero, the time of an unmeasured path, is the smallest.
            let Some(path) = open.min_by_key(|path| path.srtt) else { return Decision::WAIT };
            if let Some(segment) = self.copy(connection, path) {
                return Decision::Reinject { path: path.id, segment };
            }
            if connection.sendable() > 0 {
                return Decision::Assign {
                    path: path.id,
                    segments: clip(path.room(), connection.sendable()),
                };
            }
            done |= 1 << path.id.0;
        }
    }

    pub(in super::super) fn on_event(&mut self, event: &Event) {
        if let Event::Sent { path, segment, .. } = *event {
            self.sent.insert(segment);
            if let Some(next) = self.next.get_mut(path.index()).filter(|next| **next == segment) {
                *next += 1;
            }
        }
    }
}

/// Which segments have been sent: all below a number, and some of those that follow it.
///
/// Segments are not sent in order: one that waits in the queue of a path may be overtaken on another.
#[derive(Clone, Debug)]
struct SentSegments {
    /// All below this.
    up_to: u64,
    /// A bit per segment from there on.
    beyond: [u64; Self::WORDS],
}

impl SentSegments {
    const WORDS: usize = 16;
    const BITS: u64 = 64 * Self::WORDS as u64;
    const NOTHING: Self = Self { up_to: 0, beyond: [0; Self::WORDS] };

    /// The place of a segment's bit.
    const fn place(segment: u64) -> (usize, u64) {
        ((segment / 64) as usize % Self::WORDS, 1 << (segment % 64))
    }

    /// One further ahead than there are bits is forgotten, until it is the oldest that is not acknowledged.
    fn insert(&mut self, segment: u64) {
        if segment >= self.up_to && segment - self.up_to < Self::BITS {
            let (word, bit) = Self::place(segment);
            self.beyond[word] |= bit;
            self.advance();
        }
    }

    /// All segments below `segment` have been sent.
    fn is_below(&mut self, segment: u64) {
        if segment <= self.up_to {
            return;
        }
        if segment - self.up_to >= Self::BITS {
            self.beyond = [0; Self::WORDS];
        } else {
            for below in self.up_to..segment {
                let (word, bit) = Self::place(below);
                self.beyond[word] &= !bit;
            }
        }
        self.up_to = segment;
        self.advance();
    }

    fn advance(&mut self) {
        loop {
            let (word, bit) = Self::place(self.up_to);
            if self.beyond[word] & bit == 0 {
                return;
            }
            self.beyond[word] &= !bit;
            self.up_to += 1;
        }
    }
}

#[cfg(test)]
mod tests;
