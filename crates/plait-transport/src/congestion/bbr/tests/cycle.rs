use super::*;

/// Acknowledgements come every five milliseconds.
const STEP: Duration = Duration::from_millis(5);

/// The gains of the next phases with their durations in steps. Packets in flight fill each phase.
fn phases(path: &mut Path, count: usize) -> Vec<(u64, u32)> {
    let (mut seen, mut steps) = (Vec::new(), 0);
    while seen.len() < count {
        let (phase, gain) = (path.bbr.phase, path.bbr.pacing_gain);
        path.in_flight = match gain {
            UNIT => PRODUCT,
            gain if gain > UNIT => 40,
            _ => 30,
        };
        path.within_round(STEP);
        steps += 1;
        if path.bbr.phase != phase {
            seen.push((gain, core::mem::take(&mut steps)));
        }
    }
    seen
}

/// `bbr_is_next_cycle_phase`: a phase lasts longer than the shortest round trip.
#[test]
fn the_eight_phases_have_their_gains_and_last_a_round_trip_each() {
    let mut path = Path::cruising(0);
    while path.bbr.phase != 0 {
        path.within_round(STEP);
    }
    let gains = [320, 192, 256, 256, 256, 256, 256, 256];
    let expected: Vec<_> = gains.iter().map(|&gain| (gain, 5)).collect();
    assert_eq!(phases(&mut path, 8), expected);
    assert_eq!(phases(&mut path, 8), expected, "again");
}

/// `bbr_reset_probe_bw_mode`
#[test]
fn a_cycle_begins_in_any_phase_but_the_draining_one() {
    let mut counts = [0; 8];
    (0..700).for_each(|seed| counts[Path::cruising(seed).bbr.phase] += 1);
    assert_eq!(counts[1], 0);
    assert!((0..8).all(|phase| phase == 1 || (60..140).contains(&counts[phase])), "{counts:?}");
}

/// A path in the phase of this gain, which has just begun.
fn in_phase(gain: u64) -> Path {
    let mut path = Path::cruising(0);
    while path.bbr.pacing_gain != gain {
        phases(&mut path, 1);
    }
    path
}

#[test]
fn the_probing_phase_lasts_until_a_quarter_more_is_in_flight() {
    let mut path = in_phase(UNIT * 5 / 4);
    path.in_flight = PRODUCT;
    (0..100).for_each(|_| path.within_round(STEP));
    assert_eq!(path.bbr.phase, 0);
    // ⌈1.25 · 20⌉ + 3 bursts of 2, even, and 2; one burst is on its way.
    path.in_flight = 31;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 0);
    path.in_flight = 32;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 1);
}

#[test]
fn the_probing_phase_ends_with_a_loss_after_a_round_trip() {
    let mut path = in_phase(UNIT * 5 / 4);
    path.in_flight = PRODUCT;
    path.lost = 1;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 0, "not yet a round trip");
    (0..4).for_each(|_| path.within_round(STEP));
    path.lost = 1;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 1);
}

/// A.8: the phase that drains ends early.
#[test]
fn the_draining_phase_ends_once_the_queue_is_empty() {
    let mut path = in_phase(UNIT * 3 / 4);
    path.in_flight = PRODUCT + 7;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 1);
    path.in_flight = PRODUCT + 6;
    path.within_round(STEP);
    assert_eq!(path.bbr.phase, 2);
}

/// `bbr_bw_rtts`; A.16: a path that became slower is known after ten rounds.
#[test]
fn the_largest_rate_of_ten_rounds_counts() {
    let mut path = Path::cruising(0);
    for round in 1..=10 {
        path.round(2);
        assert_eq!(path.bbr.bandwidth(), RATE, "{round}");
    }
    path.round(2);
    assert_eq!(path.bbr.bandwidth(), RATE / 10);
    path.round(PRODUCT);
    assert_eq!(path.bbr.bandwidth(), RATE, "a larger rate counts at once");
}

/// A.22; `bbr_update_bw`
#[test]
fn app_limited_samples_do_not_lower_the_rate_but_raise_it() {
    let mut path = Path::cruising(0);
    path.app_limited = true;
    (0..100).for_each(|_| path.round(2));
    assert_eq!(path.bbr.bandwidth(), RATE);
    path.round(2 * PRODUCT);
    assert_eq!(path.bbr.bandwidth(), 2 * RATE);
}

/// A round is a flight: it begins with the acknowledgement of a packet that left after the last one
/// began.
#[test]
fn a_round_begins_with_a_packet_that_left_in_it() {
    let mut path = Path::cruising(0);
    let rounds = path.bbr.rounds;
    let begin = path.total;
    path.acknowledge(STEP, 10, PRODUCT, begin);
    assert_eq!(path.bbr.rounds, rounds + 1);
    path.acknowledge(STEP, 10, PRODUCT, begin + 9 * SEGMENT);
    assert_eq!(path.bbr.rounds, rounds + 1);
    path.acknowledge(STEP, 10, PRODUCT, begin + 10 * SEGMENT);
    assert_eq!(path.bbr.rounds, rounds + 2);
}
