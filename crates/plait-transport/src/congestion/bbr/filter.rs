//! The largest value of the last rounds, after Kathleen Nichols' filter in `lib/win_minmax.c`: the
//! best three values, each newer than the one before.

/// A value, and the round in which it was measured.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    round: u64,
    value: u64,
}

/// The largest value of a window of rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Measured; 3],
}

impl WindowedMax {
    /// The largest value.
    pub(super) fn get(&self) -> u64 {
        self.best[0].value
    }

    /// Takes a value (`minmax_running_max`).
    pub(super) fn take(&mut self, window: u64, round: u64, value: u64) {
        let measured = Measured { round, value };
        if value >= self.best[0].value || round - self.best[2].round > window {
            self.best = [measured; 3];
            return;
        }
        if value >= self.best[1].value {
            self.best = [self.best[0], measured, measured];
        } else if value >= self.best[2].value {
            self.best[2] = measured;
        }
        self.age(window, measured);
    }

    /// The best value leaves the window, or the others are spread over it (`minmax_subwin_update`).
    fn age(&mut self, window: u64, newest: Measured) {
        let [first, second, third] = self.best;
        let age = newest.round - first.round;
        if age > window {
            self.best = [second, third, newest];
            if newest.round - self.best[0].round > window {
                self.best = [third, newest, newest];
            }
        } else if second.round == first.round && age > window / 4 {
            self.best = [first, newest, newest];
        } else if third.round == second.round && age > window / 2 {
            self.best[2] = newest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_value_is_kept_for_the_window() {
        let mut max = WindowedMax::default();
        max.take(10, 0, 100);
        for round in 1..=10 {
            max.take(10, round, 50 + round);
            assert_eq!(max.get(), 100, "{round}");
        }
        max.take(10, 11, 55);
        assert!((51..=60).contains(&max.get()), "{}", max.get());
    }

    proptest! {
        /// Never less than the newest value, nor more than the largest of the window.
        #[test]
        fn it_lies_between_the_newest_and_the_largest(values in prop::collection::vec(0u64..1000, 1..200)) {
            let mut max = WindowedMax::default();
            for (round, &value) in values.iter().enumerate() {
                max.take(10, round as u64, value);
                let recent = &values[round.saturating_sub(10)..=round];
                prop_assert!(max.get() >= value);
                prop_assert!(max.get() <= *recent.iter().max().unwrap());
            }
        }
    }
}
