//! The common part of MPTCP's coupled controllers: all of [`Reno`] but the speed of congestion
//! avoidance.
//!
//! A rule states its increase as a gain: the window's growth relative to TCP alone. TCP alone grows
//! by one segment per window, MSS · bytes / w per acknowledgement, so an increase of Δ is a gain of
//! Δ · w / (MSS · bytes). The gain is cut at 1 for all rules, so that no path takes more than TCP
//! would there (RFC 6356 §2, goal 2). LIA requires this itself (§3), and BALIA never exceeds 1.
//! OLIA's draft does not cut the gain, and may exceed 1 while it moves window to a better path.

use super::{Acknowledged, CongestionConfig, CongestionController, CongestionEvent, RateSample, Reno, Share};
use plait_sched::Time;
use std::fmt::Debug;

/// Differences between a coupled controller and TCP's.
pub trait Coupling: Debug + Send + Sync {
    /// Growth of the window of path `own` in congestion avoidance, relative to TCP alone. Called
    /// for each acknowledgement, also in slow start; the own path is usable and measured. `segment`
    /// is in bytes.
    fn gain(&mut self, own: &Share, shares: &[Share], segment: u64) -> f64;

    /// The part of the window that a loss takes.
    fn decrease(&self) -> f64 {
        0.5
    }

    /// So many bytes were acknowledged, also while losses were being repaired.
    fn note_acknowledged(&mut self, _bytes: u64) {}

    /// A loss or a timeout.
    fn note_loss(&mut self) {}

    /// See [`Share::loss_interval`].
    fn loss_interval(&self) -> u64 {
        0
    }
}

/// TCP's controller on one path of several, with the increase (and maybe the decrease) of a
/// [`Coupling`].
#[derive(Clone, Debug)]
pub struct Coupled<C> {
    pub(super) reno: Reno,
    pub(super) coupling: C,
}

impl<C: Coupling + Default> Coupled<C> {
    /// Creates the initial state, as [`Reno::new`] does.
    pub fn new(config: &CongestionConfig) -> Self {
        Self { reno: Reno::new(config), coupling: C::default() }
    }
}

impl<C: Coupling> CongestionController for Coupled<C> {
    fn on_ack(&mut self, ack: &Acknowledged, _rate: Option<&RateSample>, shares: &[Share]) {
        self.coupling.note_acknowledged(ack.bytes);
        if !ack.may_grow {
            return;
        }
        // A path without measurements grows as TCP alone.
        let gain = match shares.get(ack.path) {
            Some(own) if own.counts() => self.coupling.gain(own, shares, self.reno.segment),
            _ => 1.0,
        };
        self.reno.grow(ack, gain);
    }

    fn on_event(&mut self, now: Time, event: CongestionEvent) {
        match event {
            CongestionEvent::Loss { outstanding } | CongestionEvent::Mark { outstanding } => {
                self.coupling.note_loss();
                let used = self.reno.used_window(outstanding);
                self.reno.reduce(used - (used as f64 * self.coupling.decrease()) as u64);
            }
            CongestionEvent::Timeout { .. } => {
                self.coupling.note_loss();
                self.reno.on_event(now, event);
            }
            _ => self.reno.on_event(now, event),
        }
    }

    fn loss_interval(&self) -> u64 {
        self.coupling.loss_interval()
    }

    fn window(&self) -> u64 {
        self.reno.window()
    }

    fn slow_start_threshold(&self) -> u64 {
        self.reno.slow_start_threshold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{SEGMENT, ack, config, segments, share};
    use super::super::{BaliaCoupling, LiaCoupling, OliaCoupling};
    use super::*;
    use crate::congestion::Algorithm;

    /// A gain that is handed in; takes three quarters on a loss.
    #[derive(Default, Debug)]
    struct Fixed(f64);

    impl Coupling for Fixed {
        fn gain(&mut self, _own: &Share, _shares: &[Share], _segment: u64) -> f64 {
            self.0
        }

        fn decrease(&self) -> f64 {
            0.75
        }
    }

    fn avoiding(gain: f64) -> Coupled<Fixed> {
        let mut control = Coupled::<Fixed>::new(&config(Algorithm::Lia));
        control.coupling.0 = gain;
        control.reno.threshold = segments(10);
        control
    }

    fn rounds(control: &mut Coupled<Fixed>, count: u64, shares: &[Share]) {
        for _ in 0..10 * count {
            control.on_ack(&ack(SEGMENT, segments(10)), None, shares);
        }
    }

    #[test]
    fn avoidance_has_the_speed_of_the_rule() {
        let mut control = avoiding(0.25);
        rounds(&mut control, 3, &[share(10, 20)]);
        assert_eq!(control.window(), segments(10));
        rounds(&mut control, 1, &[share(10, 20)]);
        assert_eq!(control.window(), segments(11));
    }

    #[test]
    fn an_unmeasured_or_unusable_path_is_tcps_alone() {
        for own in [share(10, 0), Share { usable: false, ..share(10, 20) }] {
            let mut control = avoiding(0.0);
            rounds(&mut control, 1, &[own, share(10, 20)]);
            assert_eq!(control.window(), segments(11));
        }
        let mut control = avoiding(0.0);
        rounds(&mut control, 1, &[]);
        assert_eq!(control.window(), segments(11));
    }

    #[test]
    fn slow_start_and_timeouts_are_not_coupled_but_losses_may_be() {
        let mut control = avoiding(0.0);
        control.reno.threshold = u64::MAX;
        control.on_ack(&ack(SEGMENT, segments(10)), None, &[share(10, 20)]);
        assert_eq!(control.window(), segments(11));
        control.reno.window = segments(20);
        control.on_event(Time::ZERO, CongestionEvent::Loss { outstanding: segments(20) });
        assert_eq!((control.window(), control.slow_start_threshold()), (segments(5), segments(5)));
        control.reno.window = segments(20);
        control
            .on_event(Time::ZERO, CongestionEvent::Timeout { outstanding: segments(20), repairing: false });
        assert_eq!((control.window(), control.slow_start_threshold()), (SEGMENT, segments(10)));
    }

    /// With one path every rule is TCP: a gain of 1.
    #[test]
    fn one_path_is_tcp() {
        let alone = share(17, 35);
        assert!((LiaCoupling.gain(&alone, &[alone], SEGMENT) - 1.0).abs() < 1e-12);
        assert!((OliaCoupling::default().gain(&alone, &[alone], SEGMENT) - 1.0).abs() < 1e-12);
        let mut balia = BaliaCoupling::default();
        assert!((balia.gain(&alone, &[alone], SEGMENT) - 1.0).abs() < 1e-12);
        assert_eq!(balia.decrease(), 0.5);
    }

    /// Paths that are down or unmeasured are no part of any sum.
    #[test]
    fn paths_without_use_do_not_count() {
        let (own, other) = (share(10, 20), share(30, 50));
        let failed = Share { usable: false, ..share(500, 10) };
        let (few, many) = (vec![own, other], vec![own, failed, other, share(400, 0)]);
        assert_eq!(LiaCoupling.gain(&own, &few, SEGMENT), LiaCoupling.gain(&own, &many, SEGMENT));
        assert_eq!(
            OliaCoupling::default().gain(&own, &few, SEGMENT),
            OliaCoupling::default().gain(&own, &many, SEGMENT)
        );
        assert_eq!(
            BaliaCoupling::default().gain(&own, &few, SEGMENT),
            BaliaCoupling::default().gain(&own, &many, SEGMENT)
        );
    }
}
