use super::*;
use plait_sched::{Duration, SCHEDULERS};

fn path(path: usize, megabits: f64, round_trip: u64, queue: u64) -> Measured {
    Measured {
        path,
        rate_bps: megabits * 1e6,
        busy: true,
        round_trip: Duration::from_millis(round_trip),
        recent: Duration::from_millis(round_trip),
        loss: 0.0,
        queue: Duration::from_millis(queue),
        overflowed: true,
        packets: 1_000,
        rounds: 10,
    }
}

fn question(paths: [Measured; 2], window: u64, left: u64) -> Question {
    Question {
        paths: paths.to_vec(),
        left: Some(left),
        window,
        segment: 1_150,
        congestion: Algorithm::Cubic,
        current: "lowest-rtt",
    }
}

#[test]
fn candidates_are_built_in_and_need_nothing_that_a_file_lacks() {
    for name in CANDIDATES {
        assert!(Builtin::new(name, &[]).is_ok(), "{name}");
        let info = SCHEDULERS.iter().find(|info| Some(info.name) == name.split('+').next());
        assert!(info.is_some(), "{name}");
    }
    assert!(CANDIDATES.contains(&crate::auto::FIRST));
}

#[test]
fn variations_are_about_what_was_measured_and_always_the_same() {
    let asked = question(
        [path(0, 16.0, 25, 50), Measured { loss: 0.01, ..path(3, 6.0, 60, 300) }],
        1 << 24,
        5_000_000,
    );
    let read = |number| {
        let text = scenario(&asked, number, 1_000_000);
        Scenario::from_toml(&text, "auto.toml", Path::new(""))
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    };
    for number in 0..20 {
        let made = read(number);
        assert_eq!(made, read(number));
        assert_eq!(made.paths.iter().map(|path| path.name.as_str()).collect::<Vec<_>>(), ["path0", "path3"]);
        for (path, measured) in [(0, 25.0), (1, 60.0)] {
            let [there, back] =
                [simulation_way(true), simulation_way(false)].map(|way| made.delay(path, way));
            let round_trip = (there + back).as_millis_f64();
            assert!(round_trip < measured * 1.1 && round_trip > measured * 0.9 - 2.0, "{round_trip}");
        }
    }
    assert_ne!(read(0), read(1));
}

fn simulation_way(forward: bool) -> plait_sim::scenario::Direction {
    if forward { plait_sim::scenario::Direction::Forward } else { plait_sim::scenario::Direction::Backward }
}

#[test]
fn equal_paths_with_room_are_no_reason_to_change() {
    let asked = question([path(0, 20.0, 30, 60), path(1, 20.0, 30, 60)], 1 << 24, 30_000_000);
    let answer = answer(asked, &mut || false).expect("it can be simulated");
    assert!(!answer.is_gain(), "{answer:?}");
}

/// The window is smaller than the bandwidth-delay product. A scheduler that lets the slow path fill
/// it blocks the fast path.
#[test]
fn a_short_window_over_unequal_paths_is() {
    let asked = question([path(0, 20.0, 20, 40), path(1, 4.0, 300, 300)], 150_000, 8_000_000);
    let found = answer(asked.clone(), &mut || false).expect("it can be simulated");
    assert!(found.is_gain(), "{found:?}");
    assert_eq!(found.gain.seeds, 5);
    assert!(found.gain.low <= found.gain.percent && found.gain.percent <= found.gain.high);
    assert_eq!(answer(asked, &mut || false), Some(found), "the same question has the same answer");
}

#[test]
fn whoever_does_not_wait_for_the_answer_gets_none() {
    let asked = question([path(0, 20.0, 20, 40), path(1, 4.0, 300, 300)], 150_000, 30_000_000);
    assert_eq!(answer(asked, &mut || true), None);
}

/// Bounds the cost of any question, in events instead of seconds.
#[test]
fn a_question_costs_so_many_events_at_most() {
    for (rate, round_trip) in [(2.0, 5), (100.0, 300)] {
        let lossy = |number| Measured { loss: 0.02, ..path(number, rate, round_trip, 100) };
        let asked = question([lossy(0), lossy(1)], 200_000, 1 << 40);
        let events = answer(asked, &mut || false).map_or(0, |answer| answer.events);
        assert!((100_000..4_000_000).contains(&events), "{events}");
    }
}

#[test]
fn intervals_are_students() {
    let found = gain(&[1.1, 1.2, 1.0, 1.1, 1.1]);
    assert!((found.percent - 10.0).abs() < 1e-9);
    // The standard deviation is √0.005. Divided by √5, times the quantile, it is half of the
    // interval.
    let half = 2.776 * (0.005_f64 / 5.0).sqrt() * 100.0;
    assert!((found.low - (10.0 - half)).abs() < 1e-9 && (found.high - (10.0 + half)).abs() < 1e-9);
    assert_eq!(gain(&[]).seeds, 0);
}
