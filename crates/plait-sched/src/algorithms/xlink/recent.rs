//! A set of segments near the oldest one in flight.

/// Number of segments that the set covers.
const COVERED: u64 = 2048;
const WORDS: usize = (COVERED / 64) as usize;

/// Segments from the oldest in flight on, as a ring of bits.
#[derive(Clone, Debug)]
pub(super) struct Recent {
    /// No segment below this number is in the set.
    from: u64,
    /// One more than the largest segment that was ever inserted.
    end: u64,
    bits: [u64; WORDS],
}

impl Recent {
    pub(super) const NONE: Self = Self { from: 0, end: 0, bits: [0; WORDS] };

    /// Whether the set can hold `segment` while `oldest` is the oldest in flight.
    pub(super) const fn covers(oldest: u64, segment: u64) -> bool {
        segment.saturating_sub(oldest) < COVERED
    }

    /// Removes all segments below `oldest`.
    pub(super) fn forget_below(&mut self, oldest: u64) {
        if oldest < self.end {
            for segment in self.from..oldest {
                let (word, bit) = place(segment);
                self.bits[word] &= !bit;
            }
        } else {
            if self.from < self.end {
                self.bits = [0; WORDS];
            }
            self.end = oldest;
        }
        self.from = self.from.max(oldest);
    }

    /// Inserts `segment` if it is covered.
    pub(super) fn insert(&mut self, segment: u64) {
        if segment >= self.from && Self::covers(self.from, segment) {
            let (word, bit) = place(segment);
            self.bits[word] |= bit;
            self.end = self.end.max(segment + 1);
        }
    }

    pub(super) fn contains(&self, segment: u64) -> bool {
        let (word, bit) = place(segment);
        segment >= self.from && segment < self.end && self.bits[word] & bit != 0
    }
}

const fn place(segment: u64) -> (usize, u64) {
    let at = segment % COVERED;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_round() {
        let mut recent = Recent::NONE;
        recent.insert(2047);
        recent.insert(2048);
        assert!(recent.contains(2047) && !recent.contains(2048), "beyond what is covered");
        recent.forget_below(2000);
        recent.insert(4000);
        assert!(recent.contains(4000) && recent.contains(2047) && !recent.contains(1952), "the same place");
        recent.forget_below(2048);
        assert!(recent.contains(4000) && !recent.contains(2047));
        recent.insert(4095);
        recent.forget_below(9000);
        assert!(!recent.contains(4095) && !recent.contains(6_143));
        recent.insert(9001);
        recent.forget_below(9001);
        assert!(recent.contains(9001));
    }
}
