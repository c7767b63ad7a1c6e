//! Data in flight that a path does not carry, for schedulers that choose segments to copy.

use super::SegmentState;
use super::stream::Stream;
use plait_sched::{Path, PathId, PathSet};

/// For each path, the number below which it carries all data in flight; empty if no scheduler asks.
///
/// The numbers advance with acknowledged and carried data. They go back to a segment that a path
/// lost, or that was not in flight when it was passed. So no segment is examined twice for another
/// reason.
#[derive(Clone, Debug, Default)]
pub(super) struct Uncarried {
    lacks_nothing_below: Vec<u64>,
}

impl Uncarried {
    pub(super) fn new(paths: usize, wanted: bool) -> Self {
        Self { lacks_nothing_below: vec![0; if wanted { paths } else { 0 }] }
    }

    /// There is another path.
    pub(super) fn add(&mut self, wanted: bool) {
        if wanted {
            self.lacks_nothing_below.push(0);
        }
    }

    /// The segment has left, or a path has lost it; these carry it.
    #[inline]
    pub(super) fn look_again(&mut self, segment: u64, carried: PathSet) {
        for (below, index) in self.lacks_nothing_below.iter_mut().zip(0..) {
            if segment < *below && !carried.contains(PathId(index)) {
                *below = segment;
            }
        }
    }

    /// The path dropped the copies that waited on it.
    pub(super) fn begin_anew(&mut self, path: PathId) {
        if let Some(below) = self.lacks_nothing_below.get_mut(path.index()) {
            *below = 0;
        }
    }

    /// Brings the paths' facts up to date. Nothing from `sent_end` on was ever sent.
    pub(super) fn show(&mut self, stream: &Stream, sent_end: u64, facts: &mut [Path]) {
        for (below, facts) in self.lacks_nothing_below.iter_mut().zip(facts) {
            *below = stream.first().max(*below);
            while *below < sent_end && !lacks(stream, *below, facts.id) {
                *below += 1;
            }
            facts.uncarried = (*below < sent_end).then_some(*below);
        }
    }
}

fn lacks(stream: &Stream, segment: u64, path: PathId) -> bool {
    stream.get(segment).is_some_and(|entry| {
        let spread = stream.spread(segment);
        entry.state() == SegmentState::InFlight
            && !spread.carried.contains(path)
            && !spread.copies.contains(path)
    })
}
