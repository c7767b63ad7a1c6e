//! Response functions: a controller's average window for a given loss rate, against the formulas of
//! the RFCs.
//!
//! Acknowledgements arrive evenly, one window per round-trip time. Every n-th packet of each path
//! is lost; or all paths share a bottleneck.

use super::fixtures::{SEGMENT, ack, config};
use super::*;
use plait_sched::Duration;

/// A path that loses every `interval`-th packet.
struct Flow {
    control: Controller,
    rtt: Duration,
    interval: u64,
    since_loss: u64,
    /// Of the next acknowledgement.
    next: Time,
    packets: u64,
    losses: u64,
}

impl Flow {
    fn new(algorithm: Algorithm, millis: u64, interval: u64) -> Self {
        let rtt = Duration::from_millis(millis);
        Self {
            control: Controller::new(&config(algorithm)),
            rtt,
            interval,
            since_loss: 0,
            next: Time::ZERO + rtt,
            packets: 0,
            losses: 0,
        }
    }

    fn share(&self) -> Share {
        Share {
            window: self.control.window(),
            srtt: self.rtt,
            loss_interval: self.control.loss_interval(),
            usable: true,
        }
    }

    fn acknowledge(&mut self, path: usize, shares: &[Share]) {
        let window = self.control.window();
        let acknowledged = Acknowledged { now: self.next, srtt: self.rtt, path, ..ack(SEGMENT, window) };
        self.control.on_ack(&acknowledged, None, shares);
        self.packets += 1;
        self.since_loss += 1;
        self.next += Duration::from_nanos(self.rtt.as_nanos() * SEGMENT / window);
    }

    fn lose(&mut self) {
        self.control.on_event(self.next, CongestionEvent::Loss { outstanding: self.control.window() });
        self.since_loss = 0;
        self.losses += 1;
    }
}

/// Runs the flows side by side as one connection until the first one has had this many losses.
/// Returns the average window of each in segments. The first fifth of the losses is not measured.
fn averages(flows: &mut [Flow], losses: u64) -> Vec<f64> {
    let mut begin = None;
    let mut shares = Vec::new();
    while flows[0].losses < losses {
        if begin.is_none() && flows[0].losses == losses / 5 {
            begin = Some((flows[0].next, flows.iter().map(|flow| flow.packets).collect::<Vec<_>>()));
        }
        shares.clear();
        shares.extend(flows.iter().map(Flow::share));
        let path = (0..flows.len()).min_by_key(|&path| flows[path].next).unwrap();
        let flow = &mut flows[path];
        flow.acknowledge(path, &shares);
        if flow.since_loss == flow.interval {
            flow.lose();
        }
    }
    let (since, packets) = begin.unwrap();
    let seconds = flows[0].next.since(since).as_secs_f64();
    let window =
        |(flow, before): (&Flow, u64)| (flow.packets - before) as f64 * flow.rtt.as_secs_f64() / seconds;
    flows.iter().zip(packets).map(window).collect()
}

fn average(algorithm: Algorithm, millis: u64, interval: u64) -> f64 {
    averages(&mut [Flow::new(algorithm, millis, interval)], 50)[0]
}

/// Two paths of a connection, half a loss interval apart.
fn pair(algorithm: Algorithm, first: (u64, u64), second: (u64, u64)) -> [f64; 2] {
    let mut flows = [first, second].map(|(millis, interval)| Flow::new(algorithm, millis, interval));
    flows[1].since_loss = second.1 / 2;
    let result = averages(&mut flows, 500);
    [result[0], result[1]]
}

/// √(3/2) / √p, the average window of TCP.
fn tcp(interval: u64) -> f64 {
    (1.5 * interval as f64).sqrt()
}

fn assert_within(value: f64, expected: f64, part: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= part, "{what}: {value}, expected {expected}");
}

#[test]
fn renos_sawtooth() {
    for interval in [1_000, 10_000, 100_000] {
        assert_within(average(Algorithm::Reno, 50, interval), tcp(interval), 0.05, "Reno");
    }
}

/// RFC 9438 §5.1: AVG_W_cubic = (C (3 + β) / (4 (1 − β)) · (RTT / p)³)^¼.
#[test]
fn cubics_average_window() {
    for (millis, interval) in [(100, 100_000), (100, 300_000), (200, 10_000), (50, 300_000)] {
        let cubed = (millis as f64 / 1000.0 * interval as f64).powi(3);
        let expected = (0.4 * 3.7 / (4.0 * 0.3) * cubed).sqrt().sqrt();
        assert!(expected > 1.2 * tcp(interval), "not the region of Reno");
        assert_within(average(Algorithm::Cubic, millis, interval), expected, 0.15, "CUBIC");
    }
}

/// §4.3: where CUBIC alone would be slower, it is as fast as Reno.
#[test]
fn cubic_follows_reno_on_short_paths() {
    for (millis, interval) in [(10, 1_000), (10, 10_000), (1, 10_000)] {
        assert_within(average(Algorithm::Cubic, millis, interval), tcp(interval), 0.15, "CUBIC");
    }
}

/// Two equal paths with the loss rate of one TCP take as much as this TCP, and half each.
#[test]
fn coupled_paths_together_take_what_tcp_takes() {
    for algorithm in [Algorithm::Lia, Algorithm::Olia, Algorithm::Balia] {
        let [first, second] = pair(algorithm, (50, 10_000), (50, 10_000));
        assert_within(first + second, tcp(10_000), 0.1, "both");
        assert_within(first, second, 0.1, "one");
    }
    let [first, second] = pair(Algorithm::Reno, (50, 10_000), (50, 10_000));
    assert_within(first + second, 2.0 * tcp(10_000), 0.05, "uncoupled");
}

/// Of two paths with the same round-trip time, one loses four times as many packets. Together they
/// take as much as TCP on the better one: LIA in proportion to 1/p, OLIA on the better one alone
/// (but for the smallest window), BALIA in between.
#[test]
fn coupled_paths_prefer_the_path_that_loses_less() {
    let best = tcp(10_000);
    let worse = [Algorithm::Lia, Algorithm::Olia, Algorithm::Balia].map(|algorithm| {
        let [first, second] = pair(algorithm, (50, 10_000), (50, 2_500));
        assert_within(first + second, best, 0.05, "both");
        second
    });
    assert_within(worse[0], best / 5.0, 0.1, "LIA");
    assert_within(worse[1], 2.0, 0.1, "OLIA");
    assert!(worse[1] < worse[2] && worse[2] < worse[0], "{worse:?}");
}

/// Of two paths with the same loss rate, one is four times as long. Together they are as fast as
/// TCP on the shorter one: LIA with equal windows, OLIA without the longer one.
#[test]
fn coupled_paths_are_as_fast_as_tcp_on_the_shorter_path() {
    for algorithm in [Algorithm::Lia, Algorithm::Olia, Algorithm::Balia] {
        let [first, second] = pair(algorithm, (50, 10_000), (200, 10_000));
        assert_within(first + second / 4.0, tcp(10_000), 0.05, "both");
        match algorithm {
            Algorithm::Lia => assert_within(second, first, 0.05, "LIA"),
            Algorithm::Olia => assert!(second < 0.05 * first, "OLIA: {first}, {second}"),
            _ => assert!(second > 0.1 * first && second < 0.5 * first, "BALIA: {first}, {second}"),
        }
    }
}

/// Packets of each of three flows through one bottleneck of `capacity` packets per round trip: one
/// TCP, and the two paths of one connection. The flow with the most packets since its last loss
/// gets the next loss, so that all see the same loss rate.
fn bottleneck(algorithm: Algorithm, capacity: u64) -> [u64; 3] {
    let mut flows = [Algorithm::Reno, algorithm, algorithm].map(|each| Flow::new(each, 50, u64::MAX));
    let mut begin = [0; 3];
    for round in 0..20_000 {
        if round == 2_000 {
            begin = [0, 1, 2].map(|index: usize| flows[index].packets);
        }
        for path in 0..flows.len() {
            let shares = [flows[1].share(), flows[2].share()];
            for _ in 0..flows[path].control.window() / SEGMENT {
                flows[path].acknowledge(path.saturating_sub(1), &shares);
            }
        }
        if flows.iter().map(|flow| flow.control.window()).sum::<u64>() > capacity * SEGMENT {
            flows.iter_mut().max_by_key(|flow| flow.since_loss).unwrap().lose();
        }
    }
    [0, 1, 2].map(|index: usize| flows[index].packets - begin[index])
}

/// The increase of LIA is convex in the windows: paths that lose at different times take a little
/// more than TCP, by an eighth here. OLIA's increase has no such surplus, BALIA's little.
#[test]
fn coupled_paths_share_a_bottleneck_with_tcp() {
    let bounds = [(Algorithm::Lia, 1.15), (Algorithm::Olia, 1.05), (Algorithm::Balia, 1.1)];
    for (algorithm, most) in bounds {
        for capacity in [100, 307, 450] {
            let [tcp, first, second] = bottleneck(algorithm, capacity);
            let ratio = (first + second) as f64 / tcp as f64;
            assert!((0.95..most).contains(&ratio), "{algorithm:?} in {capacity}: {ratio}");
        }
    }
    let [tcp, first, second] = bottleneck(Algorithm::Reno, 400);
    assert_within((first + second) as f64 / tcp as f64, 2.0, 0.02, "uncoupled");
}
