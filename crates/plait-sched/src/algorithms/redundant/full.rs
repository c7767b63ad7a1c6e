//! Every path carries every segment.
//!
//! # Rule
//! For each path the number of the next segment to copy is kept. Open paths act by ascending
//! smoothed round-trip time. A path copies the next segment that some path has sent, from the
//! oldest unacknowledged one on. A path that has copied all of them takes new data. So the path
//! ahead of the others sends first, and a slow path skips segments that were acknowledged
//! meanwhile.
//!
//! # Departures
//! * A segment is copied once per path. The engine retransmits lost segments, even if other copies
//!   exist.
//! * While the oldest unacknowledged segment is not known (it waits for retransmission), paths take
//!   new data and copy later.
//! * A useless copy (the segment arrived, or the path carries it) is decided, but not sent.
//! * A copy has the boundaries of the first transmission. Small writes that wait for a path are not
//!   merged there, while Linux merges waiting data on each subflow (`mptcp_sendmsg_frag`).

use super::super::clip;
use crate::decision::{Decision, Event};
use crate::view::{Connection, MAX_PATHS, Path, usable};

/// The segments that each path has carried.
#[derive(Clone, Debug)]
pub(in super::super) struct Full {
    /// The next segment that a path has to copy.
    next: [u64; MAX_PATHS],
    sent: SentSegments,
}

impl Full {
    /// The state before anything was sent.
    pub(in super::super) const NEW: Self = Self { next: [0; MAX_PATHS], sent: SentSegments::NOTHING };

    /// Reads the oldest unacknowledged segment; called before a copy is looked for.
    pub(in super::super) fn look(&mut self, connection: &Connection) {
        if let Some(oldest) = connection.oldest_unacked {
            self.sent.is_below(oldest.segment + 1);
        }
    }

    /// Moves the position of `path` to `segment`, unless it is beyond that already.
    pub(in super::super) fn skip_to(&mut self, path: crate::view::PathId, segment: u64) {
        if let Some(next) = self.next.get_mut(path.index()) {
            *next = segment.max(*next);
        }
    }

    /// Returns the next segment that `path` has to copy, if any.
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
        // A bit per path that has neither a segment to copy nor new data.
        let mut done = 0_u32;
        loop {
            let open =
                usable(paths).take(MAX_PATHS).filter(|path| path.is_open() && done >> path.id.0 & 1 == 0);
            // `min_by_key` keeps the first of equals; zero, the time of an unmeasured path, is the
            // smallest.
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

/// The segments that have been sent: all below a number, and some of the following ones.
///
/// Segments are not sent in order: a segment in one path queue may be overtaken on another path.
#[derive(Clone, Debug)]
struct SentSegments {
    /// All segments below this number.
    up_to: u64,
    /// A bit for each following segment.
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

    /// Adds a segment. A segment beyond the bits is forgotten, until it is the oldest
    /// unacknowledged one.
    fn insert(&mut self, segment: u64) {
        if segment >= self.up_to && segment - self.up_to < Self::BITS {
            let (word, bit) = Self::place(segment);
            self.beyond[word] |= bit;
            self.advance();
        }
    }

    /// Records that all segments below `segment` have been sent.
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
