use super::*;

/// `bbr_set_cwnd`: two bandwidth-delay products, three bursts, and the packet of an acknowledgement.
#[test]
fn the_window_is_two_bandwidth_delay_products_once_the_pipe_was_full() {
    let mut path = Path::cruising(0);
    for _ in 0..100 {
        path.acknowledge(Duration::from_millis(1), 1, PRODUCT, 0);
        let probing = u64::from(path.bbr.phase == 0) * 2;
        assert!(path.bbr.window <= 2 * PRODUCT + 6 + 2 + probing, "{}", path.bbr.window);
    }
    assert!(path.bbr.window >= 2 * PRODUCT + 6);
}

/// A.14: a bandwidth-delay product below one packet.
#[test]
fn the_window_has_four_packets_at_least() {
    let mut path = Path::cruising(0);
    (path.round_trip, path.in_flight) = (Duration::from_micros(100), 1);
    path.round(1);
    path.bbr.window = 1;
    path.within_round(Duration::from_micros(100));
    assert_eq!(path.bbr.window, 4);
}

/// A.13; `bbr_update_ack_aggregation`: acknowledgements of 20 packets in bursts of 40 ms.
#[test]
fn the_window_has_room_for_aggregated_acknowledgements() {
    let mut path = Path::cruising(0);
    let burst = 40;
    for _ in 0..20 {
        path.acknowledge(Duration::from_millis(burst), burst, PRODUCT, path.total);
    }
    let extra = path.bbr.aggregation.extra(true, path.bbr.bandwidth(), SEGMENT);
    assert!((burst / 2..=burst + 1).contains(&extra), "{extra}");
    assert!(path.bbr.window > 2 * PRODUCT + 6 + burst / 2, "{}", path.bbr.window);
}

#[test]
fn steady_acknowledgements_need_no_room_for_aggregation() {
    let mut path = Path::cruising(0);
    for round in 0..400 {
        let prior = if round % 20 == 0 { path.total } else { 0 };
        path.acknowledge(Duration::from_millis(1), 1, PRODUCT, prior);
    }
    assert!(path.bbr.aggregation.extra(true, path.bbr.bandwidth(), SEGMENT) <= 2);
}

/// `bbr_pacing_margin_percent`
#[test]
fn the_pacing_rate_is_a_hundredth_below_the_bandwidth() {
    let mut path = Path::cruising(0);
    while path.bbr.pacing_gain != UNIT {
        path.within_round(Duration::from_millis(5));
    }
    assert_eq!(path.bbr.pacing_rate, RATE * 99 / 100);
}

/// `bbr_rate_bytes_per_sec` multiplies by `mss_cache`, which ignores MPTCP's options.
#[test]
fn the_pacing_rate_counts_options_that_windows_do_not() {
    let mut path = Path::cruising(0);
    path.bbr.paced_packet = SEGMENT + 24;
    path.bbr.set_pacing_rate(UNIT, ROUND_TRIP);
    assert_eq!(path.bbr.pacing_rate, RATE * 99 / 100 * (SEGMENT + 24) / SEGMENT);
    assert_eq!(path.bbr.bandwidth(), RATE);
}

/// `bbr_update_ack_aggregation` rounds the expected packets down, and so the excess up.
#[test]
fn the_excess_of_acknowledged_packets_is_rounded_up() {
    let sample =
        RateSample { acked: 2 * SEGMENT, interval: ROUND_TRIP, delivered: SEGMENT, ..RateSample::default() };
    let mut aggregation = Aggregation::default();
    let one_and_a_half = Time::ZERO + Duration::from_micros(1500);
    aggregation.take(Time::ZERO, &sample, true, RATE, (100 * SEGMENT, SEGMENT));
    assert_eq!(aggregation.extra(true, RATE, SEGMENT), 2);
    aggregation.take(one_and_a_half, &sample, false, RATE, (100 * SEGMENT, SEGMENT));
    assert_eq!(aggregation.extra(true, RATE, SEGMENT), 3, "4 packets of 1.5 expected ones");
}

/// `bbr_ack_epoch_acked_reset_thresh`
#[test]
fn counting_of_acknowledged_packets_restarts_after_two_to_the_twentieth() {
    let almost = ((1 << 20) - 2) * SEGMENT;
    let mut sample =
        RateSample { acked: almost, interval: ROUND_TRIP, delivered: SEGMENT, ..RateSample::default() };
    let mut aggregation = Aggregation::default();
    aggregation.take(Time::ZERO, &sample, true, RATE, (SEGMENT, SEGMENT));
    sample.acked = 2 * SEGMENT;
    aggregation.take(Time::ZERO, &sample, false, RATE, (10 * SEGMENT, SEGMENT));
    assert_eq!(aggregation.extra(true, RATE, SEGMENT), 2, "of the new count alone");
}

/// `bbr_set_pacing_rate`
#[test]
fn the_pacing_rate_only_grows_until_the_pipe_was_full() {
    let mut path = Path::new(0);
    let first = path.bbr.pacing_rate;
    path.round(1);
    assert_eq!(path.bbr.pacing_rate, first);
    path.round(PRODUCT);
    let grown = path.bbr.pacing_rate;
    assert!(grown > first);
    path.bbr.full = true;
    path.bbr.set_pacing_rate(DRAIN_GAIN, ROUND_TRIP);
    assert!(path.bbr.pacing_rate < first);
}
