//! Overtaken transmissions of a path, which may be lost.

use crate::core::{Flight, Transmission};

/// The transmissions of a path that are in flight though later ones have arrived.
///
/// Each transmission is examined once when the newest arrival passes it, and from then on only
/// while it is here. So an acknowledgement costs its new and its missing segments, not all segments
/// behind an old hole.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    /// All transmissions below this number were passed.
    passed: u64,
    /// Ascending.
    numbers: Vec<u64>,
    /// The lowest segment among them, as of the last look.
    lowest: u64,
}

impl Holes {
    /// Everything before `newest` has been overtaken.
    pub(super) fn extend(&mut self, flight: &Flight, newest: u64) {
        for number in self.passed.max(flight.first())..newest {
            if let Some(sent) = flight.get(number).filter(|sent| sent.is_in_flight()) {
                self.lowest =
                    if self.numbers.is_empty() { sent.segment } else { self.lowest.min(sent.segment) };
                self.numbers.push(number);
            }
        }
        self.passed = self.passed.max(newest);
    }

    /// True if an overtaken transmission may have a segment below `highest_end` − 1.
    #[inline]
    pub(super) fn begin_below(&self, highest_end: u64) -> bool {
        !self.numbers.is_empty() && self.lowest + 1 < highest_end
    }

    /// Examines all overtaken transmissions in flight. Forgets those for which `keep` returns false.
    pub(super) fn retain(
        &mut self,
        flight: &mut Flight,
        mut keep: impl FnMut(u64, &mut Transmission) -> bool,
    ) {
        let mut lowest = u64::MAX;
        self.numbers.retain(|&number| {
            let Some(sent) = flight.get_mut(number).filter(|sent| sent.is_in_flight()) else { return false };
            let kept = keep(number, sent);
            if kept {
                lowest = lowest.min(sent.segment);
            }
            kept
        });
        self.lowest = lowest;
    }
}
