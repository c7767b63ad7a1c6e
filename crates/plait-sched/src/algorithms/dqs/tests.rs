use proptest::prelude::*;

use super::super::script::Script;
use super::*;
use crate::view::PathId;

fn script(paths: &[(u64, u32)]) -> Script<Dqs> {
    Script::new(Dqs::new(Window::Free), paths)
}

/// Eq. (9) as it is printed.
fn printed(forward: f64, rto: f64, l: f64) -> f64 {
    (1.0 - l.powi(4)) * forward + (l + l.powi(2) + l.powi(3) - 3.0 * l.powi(4)) * rto
}

/// Eq. (7), from which eq. (9) follows, with m = 3.
fn from_the_start(forward: f64, rto: f64, l: f64) -> f64 {
    (0..=3).map(|k| l.powi(k) * (1.0 - l) * (f64::from(k) * rto + forward)).sum()
}

/// RTT 20 ms, 10 % lost, RTO 1 s: 0.9999 · 10 ms + (0.1 + 0.01 + 0.001 − 0.0003) · 1000 ms.
#[test]
fn the_average_time_by_hand() {
    assert_eq!(transmission_time(10_000_000, 1_000_000_000, 100_000), 9_999_000 + 110_700_000);
    assert_eq!(transmission_time(10_000_000, 1_000_000_000, 0), 10_000_000);
    assert_eq!(transmission_time(10_000_000, 1_000_000_000, 1_000_000), 0, "as printed: it never arrives");
    assert_eq!(transmission_time(u64::MAX, u64::MAX, 500_000), u64::MAX);
}

proptest! {
    #[test]
    fn the_average_time_is_that_of_the_formula(forward in 0_u64..60_000_000_000, rto in 0_u64..120_000_000_000, loss in 0_u32..=1_000_000) {
        let exact = printed(forward as f64, rto as f64, f64::from(loss) / 1e6);
        let time = transmission_time(forward, rto, loss) as f64;
        prop_assert!((time - exact).abs() <= 1.0 + exact * 1e-12, "{time} instead of {exact}");
        let series = from_the_start(forward as f64, rto as f64, f64::from(loss) / 1e6);
        prop_assert!((time - series).abs() <= 1.0 + (forward + rto) as f64 * 1e-12, "{time} instead of {series}");
    }

    #[test]
    fn the_average_round_trip_is_that_of_the_formula(samples in prop::collection::vec(1_u64..10_000_000_000, 1..50)) {
        let (mut average, mut exact) = (0, samples[0] as f64);
        for &sample in &samples {
            average = smooth(average, sample);
            exact = 0.75 * exact + 0.25 * sample as f64;
        }
        // Every step loses less than a nanosecond, and the next step removes a quarter of that.
        prop_assert!((average as f64 - exact).abs() <= 4.1);
    }
}

#[test]
fn paths_are_filled_by_ascending_time() {
    let mut script = script(&[(100, 4), (20, 2), (50, 3)]).in_flight(0, 1);
    assert_eq!(script.opportunity(), [(1, 2), (2, 3), (0, 3)]);
}

/// 20 ms with 10 % loss takes 120.7 ms on the average (RTO 1 s), 200 ms without loss takes 100.
#[test]
fn losses_count() {
    let mut script = script(&[(20, 1), (200, 1)]);
    script.paths[0].loss_ppm = 100_000;
    assert_eq!(script.opportunity(), [(1, 1), (0, 1)]);
}

#[test]
fn its_own_average_replaces_the_transports() {
    let mut script = script(&[(20, 1), (50, 1)]);
    let rtt = Some(Duration::from_millis(80));
    script.tell(&Event::Acked { path: PathId(0), segments: 1, rtt });
    assert_eq!(script.opportunity(), [(1, 1), (0, 1)]);
}

#[test]
fn an_unmeasured_path_goes_first() {
    let mut script = script(&[(20, 1), (0, 2)]);
    assert_eq!(script.opportunity(), [(1, 2), (0, 1)]);
}

#[test]
fn a_whole_window_waits_on_each_path() {
    let mut script = Script::new(Dqs::new(Window::Whole), &[(100, 4), (20, 2)]).in_flight(1, 1);
    assert_eq!(
        script.opportunity(),
        [(1, 2), (0, 4), (0, 4)],
        "one of path 1's waits, and a window of path 0's"
    );
    assert_eq!((script.paths[0].queued, script.paths[1].queued), (4, 1));
    script.acked(1, 1);
    assert_eq!(script.opportunity(), [(1, 2)]);
}

#[test]
fn after_a_timeout_the_others_take_what_waited() {
    let mut script = Script::new(Dqs::new(Window::Whole), &[(20, 2), (100, 4)]);
    assert_eq!(script.opportunity(), [(0, 2), (0, 2), (1, 4), (1, 4)]);
    script.paths[1].queued = 0;
    script.connection.unassigned = 4;
    script.tell(&Event::Timeout { path: PathId(0) });
    assert_eq!(script.opportunity(), [(0, 0), (1, 4), (0, 2)], "(0, 0) is the recall");
    script.acked(0, 1);
    script.connection.unassigned = 2;
    script.paths[0].queued = 0;
    script.paths[1].queued = 0;
    assert_eq!(script.opportunity(), [(0, 2)], "it works again, and is first again");
}

#[test]
fn the_smaller_of_data_and_window_limits() {
    let mut script = script(&[(20, 9)]);
    script.connection.unassigned = 2;
    assert_eq!(script.opportunity(), [(0, 2)]);
    script.connection.unassigned = 9;
    script.connection.window_left = 1;
    assert_eq!(script.opportunity(), [(0, 1)]);
}
