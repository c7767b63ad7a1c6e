use super::super::script::Script;
use super::*;
use crate::time::Duration;

fn gaussian(mean: f64, variance: f64) -> Gaussian {
    Gaussian { mean, variance }
}

fn near(found: Gaussian, mean: f64, variance: f64) -> bool {
    (found.mean - mean).abs() < 1e-6 && (found.variance - variance).abs() < 1e-5
}

#[test]
fn the_maximum_is_that_of_clark() {
    // Two equal ones: μ + σ/√π, and σ² (1 − 1/π).
    let one = gaussian(5.0, 1.0);
    assert!(near(one.max(one), 5.564_189_58, 0.681_690_11), "{:?}", one.max(one));
    // θ = 5, α = −1: 10·0.15865525 + 15·0.84134475 + 5·0.24197072 = 15.41657735; the second moment
    // is 109·0.15865525 + 241·0.84134475 + 25·5·0.24197072 = 250.30384705.
    let found = gaussian(10.0, 9.0).max(gaussian(15.0, 16.0));
    assert!(near(found, 15.416_577_4, 12.632_989_8), "{found:?}");
    // A value that is certainly later decides alone.
    let found = gaussian(0.0, 1.0).max(gaussian(100.0, 4.0));
    assert!(near(found, 100.0, 4.0), "{found:?}");
    assert_eq!(gaussian(3.0, 0.0).max(gaussian(2.0, 0.0)), gaussian(3.0, 0.0));
}

#[test]
fn mean_and_variance_follow_the_newest_samples() {
    let mut script = script(&[(100, 10)]);
    let event =
        |millis| Event::Acked { path: PathId(0), segments: 1, rtt: Some(Duration::from_millis(millis)) };
    script.tell(&event(130));
    // The mean moves a third of the way; the variance is 2/3 of a third of 30².
    assert!((script.scheduler.round_trips[0].mean - 110e6).abs() < 1e-3);
    assert!((script.scheduler.round_trips[0].variance - 200e12).abs() < 1e3);
}

/// Paths as (round trip in milliseconds, window), measured once.
fn script(paths: &[(u64, u32)]) -> Script<SEdpf> {
    let mut script = Script::new(SEdpf::default(), paths);
    for (&(millis, _), id) in paths.iter().zip(0..) {
        let rtt = Some(Duration::from_millis(millis));
        script.tell(&Event::Acked { path: PathId(id), segments: 1, rtt });
    }
    script
}

#[test]
fn what_waits_on_the_fast_path_makes_the_slow_one_the_earliest() {
    let mut script = script(&[(100, 10), (20, 10)]).in_flight(0, 10).in_flight(1, 10);
    script.connection.unassigned = 27;
    // Both windows are full, so all segments wait: 12 ms and 2 more for each on the fast path, 60
    // ms and 10 more on the slow path. The 25th would arrive after 60 ms too, and its own arrival
    // is no earlier than that; the first of the equals takes it.
    let steps = script.opportunity();
    assert_eq!(steps[..24], [(1, 1); 24]);
    assert_eq!(steps[24..], [(0, 1), (1, 1), (1, 1)]);
}

#[test]
fn where_something_late_is_on_its_way_nothing_is_won_by_being_early() {
    let mut script = script(&[(20, 10), (60, 10)]);
    script.scheduler.latest = Some(gaussian(500e6, 1e6));
    script.connection.unassigned = 1;
    // Segments on both paths would wait for it. The earlier path takes the segment, so that less
    // waits.
    assert_eq!(script.opportunity(), [(0, 1)]);
}

#[test]
fn an_uncertain_path_is_expected_later() {
    // The mean is the same, but one path varies by 40 ms: E[max(Z, D)] is larger, since D may
    // exceed Z.
    let mut script = script(&[(60, 10), (60, 10)]);
    script.scheduler.round_trips[0].variance = 1.6e15;
    script.scheduler.latest = Some(gaussian(36e6, 0.0));
    script.connection.unassigned = 1;
    assert_eq!(script.opportunity(), [(1, 1)]);
}

#[test]
fn time_brings_the_latest_arrival_nearer() {
    let mut edpf = SEdpf { latest: Some(gaussian(500e6, 1e6)), ..SEdpf::default() };
    edpf.pass(Time::ZERO + Duration::from_millis(480));
    assert_eq!(edpf.latest, Some(gaussian(20e6, 1e6)));
}

#[test]
fn one_that_was_not_measured_takes_what_fits_first() {
    let mut script = Script::new(SEdpf::default(), &[(0, 3), (20, 4)]);
    let rtt = Some(Duration::from_millis(20));
    script.tell(&Event::Acked { path: PathId(1), segments: 1, rtt });
    script.connection.unassigned = 6;
    assert_eq!(script.opportunity(), [(0, 3), (1, 1), (1, 1), (1, 1)]);
    script.connection.unassigned = 6;
    assert_eq!(script.opportunity(), [(1, 1)], "nothing ahead on the other");
}
