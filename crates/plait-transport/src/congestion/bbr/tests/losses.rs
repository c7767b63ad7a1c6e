use super::*;

/// `bbr_set_cwnd_to_recover_or_restore`
#[test]
fn the_first_round_of_a_recovery_sends_as_many_packets_as_arrive() {
    let mut path = Path::cruising(0);
    (0..20).for_each(|_| path.round(PRODUCT));
    let window = path.bbr.window;
    path.loss();
    (path.repairing, path.lost, path.in_flight) = (Repairing::Losses, 1, 18);
    path.within_round(ROUND_TRIP);
    assert_eq!(path.bbr.window, 19);
    path.in_flight = 17;
    path.within_round(Duration::from_millis(1));
    assert_eq!(path.bbr.window, 19, "it does not shrink without a loss");
    path.lost = 3;
    path.within_round(Duration::from_millis(1));
    assert_eq!(path.bbr.window, 18, "less the losses, but a packet may leave for the one that arrived");
    path.round(5);
    assert!(!path.bbr.conserves && path.bbr.window == 23, "the next round: as without losses");
    path.repairing = Repairing::Nothing;
    path.within_round(Duration::from_millis(1));
    // The phase may have changed, of which one has two packets more.
    assert!(path.bbr.window + 2 >= window, "{} and not {window}", path.bbr.window);
}

#[test]
fn losses_do_not_lower_the_pacing_rate() {
    let mut path = Path::cruising(0);
    (0..20).for_each(|_| path.round(PRODUCT));
    let rate = path.bbr.bandwidth();
    path.loss();
    (path.repairing, path.lost) = (Repairing::Losses, 2);
    path.round(PRODUCT);
    assert_eq!(path.bbr.bandwidth(), rate);
}

#[test]
fn a_timeout_leaves_one_packet_and_the_window_returns_after_it() {
    let mut path = Path::cruising(0);
    (0..20).for_each(|_| path.round(PRODUCT));
    let window = path.bbr.window;
    path.event(CongestionEvent::Timeout { outstanding: PRODUCT * SEGMENT, repairing: false });
    assert_eq!(path.bbr.window(), SEGMENT);
    (path.repairing, path.in_flight) = (Repairing::Timeout, 1);
    path.within_round(ROUND_TRIP);
    assert!(path.bbr.window < window);
    path.repairing = Repairing::Nothing;
    path.within_round(ROUND_TRIP);
    assert!(path.bbr.window >= window, "{} and not {window}", path.bbr.window);
}

/// `bbr_undo_cwnd`; A.18 and A.19: a needless recovery is no sign of a full pipe.
#[test]
fn a_needless_recovery_restarts_the_search_for_the_full_pipe() {
    let mut path = Path::new(0);
    (0..3).for_each(|_| path.round(PRODUCT));
    assert_eq!(path.bbr.full_rounds, 2);
    path.event(CongestionEvent::Undone { window: 0, threshold: 0 });
    path.round(PRODUCT);
    assert_eq!((path.bbr.full, path.bbr.full_rounds), (false, 0));
}

/// A path through a policer: so many packets are delivered and lost in each of these rounds.
fn policed(rounds: &[(u64, u64)]) -> Path {
    let mut path = Path::cruising(0);
    for &(delivered, lost) in rounds {
        path.lost = lost;
        path.round(delivered);
    }
    path
}

/// A.17; `bbr_lt_bw_sampling`: two intervals of four rounds with a fifth of losses and equal rates.
#[test]
fn two_intervals_with_losses_and_about_the_same_rate_show_a_policer() {
    let mut found = policed(&[(10, 3); 8]);
    assert_eq!(found.bbr.policer.rate(), Some(RATE / 2));
    for phase in 0..CYCLE.len() {
        found.bbr.phase = phase;
        found.within_round(Duration::from_millis(1));
        assert_eq!((found.bbr.bandwidth(), found.bbr.pacing_gain), (RATE / 2, UNIT), "{phase}");
    }
    assert_eq!(policed(&[(10, 3); 7]).bbr.policer.rate(), None, "four rounds each");
}

#[test]
fn a_seventh_of_losses_shows_no_policer() {
    assert_eq!(policed(&[(14, 2); 40]).bbr.policer.rate(), None);
}

#[test]
fn intervals_of_different_rates_show_no_policer() {
    let rounds: Vec<_> = (0..40).map(|round| if round / 4 % 2 == 0 { (10, 3) } else { (16, 5) }).collect();
    assert_eq!(policed(&rounds).bbr.policer.rate(), None);
}

#[test]
fn app_limited_rounds_show_no_policer() {
    let mut path = Path::cruising(0);
    path.app_limited = true;
    for _ in 0..40 {
        path.lost = 3;
        path.round(10);
    }
    assert_eq!(path.bbr.policer.rate(), None);
}

#[test]
fn the_rate_of_a_policer_is_kept_for_48_rounds() {
    let mut path = policed(&[(10, 3); 8]);
    for round in 1..48 {
        path.round(10);
        assert_eq!(path.bbr.policer.rate(), Some(RATE / 2), "{round}");
    }
    path.round(10);
    assert_eq!(path.bbr.policer.rate(), None);
}
