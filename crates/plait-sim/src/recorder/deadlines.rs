//! Messages and their deadlines.

use plait_sched::Time;

/// Judges messages when they arrive, or when their deadline has passed. Messages that are judged
/// before the end of the warm-up do not count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadlines {
    warmup_end: Time,
    pub(crate) in_time: u64,
    pub(crate) late: u64,
}

impl Deadlines {
    pub(super) const fn new(warmup_end: Time) -> Self {
        Self { warmup_end, in_time: 0, late: 0 }
    }

    /// Judges a message that is delivered wholly at `now`.
    pub(super) fn delivered(&mut self, deadline: Time, now: Time) {
        if now > deadline {
            self.missed(deadline);
        } else if now >= self.warmup_end {
            self.in_time += 1;
        }
    }

    /// Judges a message that has not arrived at the end of the run.
    pub(crate) fn abandoned(&mut self, deadline: Time, end: Time) {
        if deadline < end {
            self.missed(deadline);
        }
    }

    fn missed(&mut self, deadline: Time) {
        self.late += u64::from(deadline >= self.warmup_end);
    }

    /// The share of judged messages that arrived in time.
    pub(crate) fn share(&self) -> Option<f64> {
        let judged = self.in_time + self.late;
        (judged > 0).then(|| self.in_time as f64 / judged as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::Duration;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_message_is_judged_when_it_arrives_or_its_deadline_passes() {
        let mut deadlines = Deadlines::new(at(1_000));
        deadlines.delivered(at(950), at(950));
        deadlines.delivered(at(999), at(1_200));
        assert_eq!((deadlines.in_time, deadlines.late, deadlines.share()), (0, 0, None), "in the warm-up");
        deadlines.delivered(at(1_000), at(1_000));
        deadlines.delivered(at(1_000), at(1_001));
        deadlines.delivered(at(2_000), at(1_950));
        deadlines.abandoned(at(1_999), at(2_000));
        deadlines.abandoned(at(2_000), at(2_000));
        assert_eq!((deadlines.in_time, deadlines.late, deadlines.share()), (2, 2, Some(0.5)));
    }
}
