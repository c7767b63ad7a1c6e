use super::*;

/// A path whose shortest round trip was measured ten seconds ago, in PROBE_RTT.
fn probing() -> Path {
    let mut path = Path::cruising(0);
    path.round_trip = Duration::from_millis(25);
    while path.bbr.mode == Mode::ProbeBandwidth {
        path.round(PRODUCT);
        assert!(path.now < Time::ZERO + Duration::from_secs(11));
    }
    path
}

/// A.10; `bbr_update_min_rtt`: version 1 probes after ten seconds.
#[test]
fn ten_seconds_without_a_shorter_round_trip_begin_probe_rtt() {
    let path = probing();
    assert_eq!(path.bbr.mode, Mode::ProbeRoundTrip);
    let since = path.now.since(Time::ZERO);
    assert!(since > SHORTEST_WINDOW && since <= SHORTEST_WINDOW + path.round_trip * 2, "{since:?}");
    assert_eq!(path.bbr.shortest, Some(path.round_trip), "the old one has expired");
}

#[test]
fn a_round_trip_that_is_as_short_does_not_postpone_probe_rtt() {
    let mut path = Path::cruising(0);
    (0..600).for_each(|_| path.round(PRODUCT));
    assert_eq!(path.bbr.mode, Mode::ProbeRoundTrip);
}

#[test]
fn a_shorter_round_trip_postpones_probe_rtt() {
    let mut path = Path::cruising(0);
    path.round_trip = Duration::from_millis(25);
    for _ in 0..360 {
        path.round(PRODUCT);
    }
    path.round_trip = Duration::from_millis(19);
    path.round(PRODUCT);
    path.round_trip = Duration::from_millis(25);
    (0..360).for_each(|_| path.round(PRODUCT));
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
}

#[test]
fn probe_rtt_keeps_four_packets_in_flight_at_the_path_s_rate() {
    let path = probing();
    assert_eq!(path.bbr.window(), 4 * SEGMENT);
    assert_eq!((path.bbr.pacing_gain, path.bbr.window_gain), (UNIT, UNIT));
    assert!(path.bbr.limits_itself(), "its samples are marked");
}

#[test]
fn probe_rtt_lasts_200_ms_and_a_round_from_four_packets_in_flight() {
    let mut path = probing();
    for _ in 0..40 {
        path.round(PRODUCT);
        assert_eq!(path.bbr.mode, Mode::ProbeRoundTrip, "more than four packets are in flight");
    }
    path.in_flight = 4;
    path.round(4);
    let begin = path.now;
    // Time alone.
    (0..12).for_each(|_| path.within_round(path.round_trip));
    assert_eq!((path.bbr.mode, path.now.since(begin)), (Mode::ProbeRoundTrip, Duration::from_millis(300)));
    path.round(4);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
}

#[test]
fn a_round_of_probe_rtt_does_not_end_it_before_200_ms() {
    let mut path = probing();
    path.in_flight = 4;
    for _ in 0..8 {
        path.round(4);
        assert_eq!(path.bbr.mode, Mode::ProbeRoundTrip);
    }
    path.round(4);
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth, "225 ms");
}

#[test]
fn after_probe_rtt_the_window_is_what_it_was() {
    let mut path = Path::cruising(0);
    (0..20).for_each(|_| path.round(PRODUCT));
    let window = path.bbr.window;
    path.round_trip = Duration::from_millis(25);
    while path.bbr.mode == Mode::ProbeBandwidth {
        path.round(PRODUCT);
    }
    path.in_flight = 4;
    (0..10).for_each(|_| path.round(4));
    assert_eq!(path.bbr.mode, Mode::ProbeBandwidth);
    assert!(path.bbr.window >= window, "{} and not {window}", path.bbr.window);
}

/// A.20
#[test]
fn probe_rtt_before_the_pipe_is_full_returns_to_startup() {
    let mut path = Path::new(0);
    path.round_trip = Duration::from_millis(25);
    path.app_limited = true;
    while path.bbr.mode == Mode::Startup {
        path.round(5);
    }
    path.in_flight = 4;
    (0..10).for_each(|_| path.round(4));
    assert_eq!((path.bbr.mode, path.bbr.pacing_gain), (Mode::Startup, HIGH_GAIN));
}

/// A.11: a pause has emptied the queue.
#[test]
fn after_a_pause_of_the_application_probe_rtt_is_skipped() {
    let resumed = |app_limited| {
        let mut path = Path::cruising(0);
        path.now += Duration::from_secs(11);
        path.event(CongestionEvent::Resumed { idle: Duration::from_secs(11), app_limited });
        path.round_trip = Duration::from_millis(25);
        path.round(PRODUCT);
        (path.bbr.mode, path.bbr.shortest)
    };
    assert_eq!(resumed(true), (Mode::ProbeBandwidth, Some(Duration::from_millis(25))));
    assert_eq!(resumed(false).0, Mode::ProbeRoundTrip);
}

/// `bbr_cwnd_event`
#[test]
fn after_a_pause_packets_leave_at_the_known_rate() {
    let mut path = Path::cruising(0);
    path.bbr.pacing_rate = 2 * RATE;
    path.event(CongestionEvent::Resumed { idle: Duration::from_secs(1), app_limited: true });
    assert_eq!(path.bbr.pacing_rate, RATE * 99 / 100);
}

/// The acknowledgement of a single packet may have been delayed.
#[test]
fn an_expired_round_trip_is_not_replaced_by_that_of_a_single_packet() {
    let mut path = Path::cruising(0);
    path.now += Duration::from_secs(11);
    path.round_trip = Duration::from_millis(60);
    path.round(1);
    assert_eq!(path.bbr.shortest, Some(ROUND_TRIP));
    path.round(2);
    assert_eq!(path.bbr.shortest, Some(Duration::from_millis(60)));
}
