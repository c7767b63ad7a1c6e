//! Expiry of Linux' timers: at a tick, and more coarsely for longer times (kernel/time/timer.c).
//!
//! A timer set for `n` ticks from now waits in a bucket of a wheel. A bucket of the first level
//! holds one tick; a bucket of each next level holds eight times as many. A timer expires at the
//! end of its bucket. So a timer of 15 ms comes one tick late, and a timer of 300 ms up to 8 ticks
//! late.

use plait_sched::Time;

/// CONFIG_HZ = 1000.
const TICK: u64 = 1_000_000;
/// Buckets of a level (LVL_SIZE), and the number of bits by which the next level is coarser
/// (LVL_CLK_SHIFT).
const BUCKETS: u64 = 64;
const COARSER: u32 = 3;
const LEVELS: u32 = 9;
/// Position of the wheel at the beginning of a run. Its counter starts five minutes before it wraps
/// (INITIAL_JIFFIES), and the run begins one second after the start of the machine.
const BEGINNING: u64 = (1 << 32) - 299_000;

/// A timer that was set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    /// The tick at which it is due.
    pub(super) expires: Time,
    /// Time at which it expires.
    pub(super) runs_out: Time,
}

/// Sets a timer at `now` that is due at `due`.
#[inline]
pub(super) fn set(now: Time, due: Time) -> Pending {
    let moment = |tick: u64| Time::from_nanos(tick.saturating_mul(TICK));
    let ticks = due.since(now).as_nanos().div_ceil(TICK);
    let expires = now.as_nanos() / TICK + ticks;
    let level = (0..LEVELS).find(|level| ticks < (BUCKETS - 1) << (level * COARSER)).unwrap_or(LEVELS);
    let shift = level * COARSER;
    let bucket = (BEGINNING + expires + (1 << shift)) >> shift;
    Pending { expires: moment(expires), runs_out: moment((bucket << shift) - BEGINNING) }
}

/// Returns the expiry of a timer set at `now` that is due at `due`.
#[inline]
pub(super) fn runs_out(now: Time, due: Time) -> Time {
    set(now, due).runs_out
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::Duration;

    fn after(now_micros: u64, micros: u64) -> u64 {
        let now = Time::ZERO + Duration::from_micros(now_micros);
        let out = runs_out(now, now + Duration::from_micros(micros));
        out.since(Time::ZERO).as_nanos() / 1_000
    }

    #[test]
    fn near_timers_come_one_tick_late() {
        assert_eq!(after(36_060, 14_800), 52_000);
        assert_eq!(after(36_000, 15_000), 52_000);
        assert_eq!(after(36_999, 15_000), 52_000);
        assert_eq!(after(0, 62_000), 63_000);
    }

    /// Times of a kernel's connection timer in a run of the lab: multiples of eight.
    #[test]
    fn far_timers_come_at_the_end_of_their_bucket() {
        assert_eq!(after(1_600_000, 331_000), 1_936_000);
        assert_eq!(after(1_600_000, 336_000), 1_944_000);
        assert_eq!(after(0, 63_000), 64_000);
        assert_eq!(after(0, 64_000), 72_000);
    }

    #[test]
    fn a_second_is_64_ticks_coarse() {
        // The counter's multiples of 64 are eight ticks before those of the run's milliseconds.
        assert_eq!(after(0, 1_000_000), 1_016_000);
        assert_eq!(after(0, 1_016_000), 1_080_000);
    }

    #[test]
    fn nothing_overflows() {
        let far = runs_out(Time::ZERO, Time::MAX);
        assert!(far >= Time::ZERO + Duration::from_secs(1));
        assert!(runs_out(Time::MAX, Time::MAX) >= Time::ZERO);
    }
}
