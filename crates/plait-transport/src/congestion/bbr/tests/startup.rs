use super::*;

/// `bbr_init_pacing_rate_from_rtt`: 2.89 windows per round trip.
#[test]
fn the_first_pacing_rate_is_a_window_per_round_trip_times_the_gain() {
    let path = Path::new(0);
    let rate = 10 * SEGMENT * 50 * HIGH_GAIN / UNIT * 99 / 100;
    assert!(path.bbr.pacing_rate.abs_diff(rate) < 100, "{} and not {rate}", path.bbr.pacing_rate);
    let unmeasured = Bbr::new(&config(Algorithm::Bbr));
    assert_eq!(unmeasured.pacing_rate / path.bbr.pacing_rate, 20, "one millisecond");
}

/// A.1 of draft-ietf-ccwg-bbr-06; `bbr_check_full_bw_reached`.
#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut path = Path::new(0);
    path.in_flight = 100;
    for delivered in [4, 8, 16, PRODUCT, PRODUCT, PRODUCT] {
        path.round(delivered);
        assert_eq!(path.bbr.mode, Mode::Startup, "{delivered}");
    }
    path.round(PRODUCT);
    assert_eq!((path.bbr.mode, path.bbr.full), (Mode::Drain, true));
    assert_eq!(path.bbr.bandwidth(), RATE);
}

#[test]
fn startup_goes_on_while_each_third_round_has_a_quarter_more() {
    let mut path = Path::new(0);
    for delivered in [16, 16, 16, 20, 20, 20, 25, 25, 25, 32] {
        path.round(delivered);
        assert_eq!(path.bbr.mode, Mode::Startup, "{delivered}");
    }
}

/// Growth counts from the last rate that was a quarter larger.
#[test]
fn small_steps_that_add_up_to_a_quarter_count_as_growth() {
    let mut path = Path::new(0);
    for delivered in [20, 22, 24, 26, 28, 30] {
        path.round(delivered);
    }
    assert_eq!((path.bbr.mode, path.bbr.full_rounds), (Mode::Startup, 2));
}

#[test]
fn acknowledgements_within_a_round_do_not_end_startup() {
    let mut path = Path::new(0);
    path.round(PRODUCT);
    (0..50).for_each(|_| path.within_round(Duration::from_millis(1)));
    assert_eq!((path.bbr.mode, path.bbr.full_rounds), (Mode::Startup, 0));
}

/// A.7: rounds of an application that sends little do not show a full pipe.
#[test]
fn startup_goes_on_while_the_application_limits_the_rate() {
    let mut path = Path::new(0);
    path.app_limited = true;
    (0..50).for_each(|_| path.round(5));
    assert_eq!((path.bbr.mode, path.bbr.full_rounds), (Mode::Startup, 0));
}

/// A.3; `bbr_check_drain`: at most one bandwidth-delay product and three bursts of two packets.
#[test]
fn drain_ends_at_a_bandwidth_delay_product_in_flight() {
    let mut path = Path::new(0);
    path.in_flight = 60;
    (0..4).for_each(|_| path.round(PRODUCT));
    for in_flight in [60, 40, 27] {
        path.in_flight = in_flight;
        path.within_round(Duration::from_millis(1));
        assert_eq!((path.bbr.mode, path.bbr.pacing_gain), (Mode::Drain, DRAIN_GAIN), "{in_flight}");
    }
    assert_eq!(path.bbr.slow_start_threshold(), (PRODUCT + 6) * SEGMENT);
    path.in_flight = PRODUCT + 6;
    path.within_round(Duration::from_millis(1));
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
}

/// `bbr_packets_in_net_at_edt`: packets that arrive before the next departure do not count.
#[test]
fn drain_counts_the_packets_in_the_network_at_the_next_departure() {
    let mut path = Path::new(0);
    (0..4).for_each(|_| path.round(PRODUCT));
    path.bbr.pacing_gain = DRAIN_GAIN;
    let departure = path.now + Duration::from_millis(4);
    assert_eq!(path.bbr.in_network(path.now, 30, departure), 26);
    path.bbr.pacing_gain = HIGH_GAIN;
    assert_eq!(path.bbr.in_network(path.now, 30, departure), 26 + path.bbr.burst());
}

/// 2.89 doubles the rate in each round, and 1/2.89 drains what that built.
#[test]
fn the_gains_of_startup_and_drain_are_inverse() {
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
    assert_eq!((HIGH_GAIN * DRAIN_GAIN).div_ceil(UNIT), 255);
}
