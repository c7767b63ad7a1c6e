//! Estimation error: shows wrong round-trip times to a scheduler, to see how its decisions change.
//! It is an instrument for experiments, not a way to send better.
//!
//! The scheduler and its other options see the measured round-trip times of path i times (1 ± e),
//! in the facts and in the samples of [`Event::Acked`]. The sign is + on paths 0, 2, 4 …, and − on
//! the others. So a positive e makes the first of two paths look slower than it is against the
//! second, and a negative e faster. An error of the same sign on all paths would change no order.
//!
//! The variation is scaled by the same factor, as the variation of samples with such an error would
//! be. The forward delay may contain a clock offset, which must not be scaled; it is shifted by e
//! times half of the smoothed round-trip time. All other facts, timeouts included, belong to the
//! transport and do not change.

use crate::decision::Event;
use crate::time::Duration;
use crate::view::{MAX_PATHS, Path, PathId};

/// e is kept in millionths: integers show the same times on every machine.
const UNIT: i64 = 1_000_000;

/// The error of the estimates that a scheduler sees.
#[derive(Clone, Copy, Debug)]
pub struct RttError {
    /// e in millionths.
    share: i64,
}

impl RttError {
    /// The largest error, as a share of the true value.
    pub const MAX: f64 = 0.9;

    /// Creates the error with the given share e, clamped to ±[`Self::MAX`].
    pub const fn new(share: f64) -> Self {
        let share = share.clamp(-Self::MAX, Self::MAX) * UNIT as f64;
        Self { share: (share + 0.5f64.copysign(share)) as i64 }
    }

    /// The signed error of the path, in millionths.
    const fn of(self, path: PathId) -> i64 {
        if path.0.is_multiple_of(2) { self.share } else { -self.share }
    }

    fn scaled(self, path: PathId, time: Duration) -> Duration {
        let factor = (UNIT + self.of(path)).unsigned_abs();
        let nanos = u128::from(time.as_nanos()) * u128::from(factor) / u128::from(UNIT.unsigned_abs());
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Returns the path as the scheduler sees it.
    pub(super) fn shown(self, path: &Path) -> Path {
        let scaled = |time| self.scaled(path.id, time);
        let shift = i128::from(path.srtt.as_nanos()) * i128::from(self.of(path.id)) / i128::from(2 * UNIT);
        let shift = i64::try_from(shift).unwrap_or(0);
        Path {
            srtt: scaled(path.srtt),
            rttvar: scaled(path.rttvar),
            latest_rtt: scaled(path.latest_rtt),
            own_rtt: scaled(path.own_rtt),
            min_rtt: scaled(path.min_rtt),
            forward_delay: path.forward_delay.map(|delay| delay.saturating_add(shift)),
            ..path.clone()
        }
    }

    /// Returns the event as the scheduler sees it.
    pub(super) fn told(self, event: &Event) -> Event {
        match *event {
            Event::Acked { path, segments, rtt } => {
                Event::Acked { path, segments, rtt: rtt.map(|sample| self.scaled(path, sample)) }
            }
            other => other,
        }
    }

    /// Calls `then` with the paths as the scheduler sees them, copied to the stack. Most
    /// connections have few paths.
    pub(super) fn show<R>(self, paths: &[Path], then: impl FnOnce(&[Path]) -> R) -> R {
        match paths.len() {
            0..=4 => self.show_up_to::<4, R>(paths, then),
            _ => self.show_up_to::<MAX_PATHS, R>(paths, then),
        }
    }

    fn show_up_to<const N: usize, R>(self, paths: &[Path], then: impl FnOnce(&[Path]) -> R) -> R {
        let shown: [Path; N] = core::array::from_fn(|i| match paths.get(i) {
            Some(path) => self.shown(path),
            None => Path::new(PathId(0), 0),
        });
        then(&shown[..paths.len().min(N)])
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec;
    use std::vec::Vec;

    use super::*;
    use crate::algorithms::lowest_rtt::LowestRtt;
    use crate::decision::{Capabilities, Decision, Scheduler};
    use crate::options::{Options, WithOptions};
    use crate::time::Time;
    use crate::view::Connection;

    fn path(id: u8, millis: u64) -> Path {
        let rtt = Duration::from_millis(millis);
        let facts = Path {
            srtt: rtt,
            latest_rtt: rtt,
            own_rtt: rtt,
            min_rtt: rtt,
            rttvar: rtt,
            ..Path::new(PathId(id), 1000)
        };
        Path { forward_delay: Some(-5_000_000), cwnd: 10, ..facts }
    }

    #[test]
    fn signs_alternate_and_a_clock_offset_is_not_scaled() {
        let error = RttError::new(0.2);
        let shown = |id| {
            let path = error.shown(&path(id, 100));
            assert_eq!([path.latest_rtt, path.own_rtt, path.min_rtt, path.rttvar], [path.srtt; 4]);
            (path.srtt.as_nanos() / 1_000_000, path.forward_delay.map(|delay| delay / 1_000_000))
        };
        assert_eq!([0, 1, 2].map(shown), [(120, Some(5)), (80, Some(-15)), (120, Some(5))]);
        assert_eq!(RttError::new(-0.2).shown(&path(0, 100)).srtt, Duration::from_millis(80));
        let unknown = error.shown(&Path::new(PathId(0), 1000));
        assert_eq!(unknown, Path::new(PathId(0), 1000), "what is not known stays so");
    }

    #[test]
    fn the_scheduler_decides_by_what_it_is_shown() {
        let connection = Connection { unassigned: 100, window_left: 1, ..Connection::default() };
        let paths = vec![path(0, 90), path(1, 100)];
        let chosen = |share| {
            let options = Options { rtt_error: Some(RttError::new(share)), ..Options::default() };
            let mut scheduler = WithOptions::new(LowestRtt, options);
            match scheduler.decide(Time::ZERO, &connection, &paths) {
                Decision::Assign { path, .. } => path.0,
                other => panic!("{other:?}"),
            }
        };
        // 90 · 1.05 = 94.5 < 100 · 0.95 = 95, but 90 · 1.06 > 100 · 0.94.
        assert_eq!([-0.5, 0.0, 0.05, 0.06].map(chosen), [0, 0, 0, 1]);
    }

    #[test]
    fn samples_are_disturbed_like_facts() {
        #[derive(Default)]
        struct Listener(Vec<(Option<Duration>, Duration)>);

        impl Scheduler for Listener {
            fn decide(&mut self, _: Time, _: &Connection, _: &[Path]) -> Decision {
                Decision::WAIT
            }

            fn on_event(&mut self, event: &Event, _: &Connection, paths: &[Path]) {
                let Event::Acked { rtt, path, .. } = event else { return };
                self.0.push((*rtt, paths[path.index()].srtt));
            }

            fn needs(&self) -> Capabilities {
                Capabilities::NONE
            }
        }

        let options = Options { rtt_error: Some(RttError::new(0.5)), ..Options::default() };
        let mut scheduler = WithOptions::new(Listener::default(), options);
        let paths: Vec<Path> = (0..6).map(|id| path(id, 40)).collect();
        for id in [0, 5] {
            let rtt = Some(Duration::from_millis(40));
            let event = Event::Acked { path: PathId(id), segments: 1, rtt };
            scheduler.on_event(&event, &Connection::default(), &paths);
        }
        let millis = [60, 20].map(Duration::from_millis);
        assert_eq!(scheduler.scheduler().0, millis.map(|rtt| (Some(rtt), rtt)));
    }
}
