//! A link's timing against exact arithmetic, its limits and losses against their definitions.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::ScenarioError;

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn with(rate: u64, change: impl FnOnce(&mut LinkConfig)) -> Link<u64> {
    let mut config = LinkConfig::new(rate, Duration::from_millis(10));
    change(&mut config);
    Link::new(&config, 1, "test")
}

fn following(trace: &[u8], delay: Duration) -> Link<u64> {
    let trace = Trace::parse("trace", trace).expect("a valid trace");
    let config = LinkConfig { capacity: Capacity::Trace(Arc::new(trace)), ..LinkConfig::new(1, delay) };
    Link::new(&config, 1, "test")
}

/// Everything inside, in the order of its exit.
fn drain(link: &mut Link<u64>) -> Vec<(Time, Exit<u64>)> {
    std::iter::from_fn(|| link.head().map(|key| (key.time, link.pop()))).collect()
}

#[test]
fn an_idle_link_delivers_after_serialization_and_delay() {
    for (rate, bytes, expected) in [
        (1_000_000, 1500, 12_000_000),
        (10_000_000, 1500, 1_200_000),
        (100_000_000_000, 1500, 120),
        (1_000_000_000_000, 1500, 12),
        (3_000_000, 1000, 2_666_666), // and 2/3, rounded down
        (7, 1, 1_142_857_142),
    ] {
        let mut link = with(rate, |_| {});
        assert_ne!(link.send(time(5), bytes, 9, 77), Admission::DroppedFull);
        let head = Key { time: time(5 + expected + 10_000_000), order: 9 };
        assert_eq!(link.head(), Some(head), "{bytes} bytes at {rate} bit/s");
        assert_eq!(link.pop(), Exit::Delivered(77));
        assert_eq!(link.head(), None);
    }
}

#[test]
fn a_busy_period_is_exact_however_long() {
    // The last bit of packet n leaves at exactly n · bits / rate, rounded down.
    for rate in [10_000_000, 100_000_000_000, 3_000_000, 299_792_458, 999_999_999_989, 7] {
        let mut link = with(rate, |config| config.delay = Duration::ZERO);
        let mut bits: u128 = 0;
        for n in 0..100_000_u64 {
            let bytes = [1500, 1500, 60, 333][n as usize % 4];
            bits += u128::from(bytes) * 8;
            assert_ne!(link.send(Time::ZERO, bytes, n, n), Admission::DroppedFull);
            let exact = u64::try_from(bits * 1_000_000_000 / u128::from(rate)).expect("fits");
            assert_eq!(link.head().map(|key| key.time), Some(time(exact)), "packet {n} at {rate} bit/s");
            link.pop();
        }
    }
}

#[test]
fn the_fraction_is_carried_while_busy_and_forgotten_when_idle() {
    // 1 byte at 3 Gbit/s takes 2 2/3 ns.
    let exits = |sends: [u64; 3]| {
        let mut link = with(3_000_000_000, |config| config.delay = Duration::ZERO);
        sends.map(|at| {
            let _ = link.send(time(at), 1, 0, 0);
            let exit = link.head().map(|key| key.time.as_nanos());
            link.pop();
            exit
        })
    };
    assert_eq!(exits([0, 0, 0]), [Some(2), Some(5), Some(8)]);
    // At 2 ns the first packet's last 2/3 ns are still on the wire.
    assert_eq!(exits([0, 2, 5]), [Some(2), Some(5), Some(8)]);
    assert_eq!(exits([0, 3, 6]), [Some(2), Some(5), Some(8)]);
}

#[test]
fn a_limit_of_packets_counts_the_one_in_transmission() {
    let mut link = with(1_000_000, |config| config.queue = QueueLimit::Packets(3));
    let sent: Vec<_> = (0..4).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::Queued, Admission::DroppedFull]);
    assert_eq!((link.queue_packets(Time::ZERO), link.queue_bytes(Time::ZERO)), (2, 3000));
    // The first leaves at 12 ms: a nanosecond before there is no room, then there is.
    assert_eq!(link.send(time(11_999_999), 1500, 4, 4), Admission::DroppedFull);
    assert_ne!(link.send(millis(12), 1500, 5, 5), Admission::DroppedFull);
    assert_eq!(link.counters().dropped, 2);
    assert_eq!(link.counters().max_queue_packets, 2);
    assert_eq!(link.queue_packets(millis(1000)), 0);
}

#[test]
fn a_limit_of_bytes_counts_the_packet_in_transmission() {
    let mut link = with(1_000_000, |config| config.queue = QueueLimit::Bytes(3000));
    assert_ne!(link.send(Time::ZERO, 1500, 0, 0), Admission::DroppedFull);
    assert_ne!(link.send(Time::ZERO, 1000, 1, 1), Admission::DroppedFull);
    assert_eq!(link.send(Time::ZERO, 501, 2, 2), Admission::DroppedFull);
    assert_ne!(link.send(Time::ZERO, 500, 3, 3), Admission::DroppedFull);
    assert_eq!(link.queue_bytes(Time::ZERO), 1500);
}

#[test]
fn a_limit_of_time_is_the_longest_wait() {
    let mut link = with(1_000_000, |config| config.queue = QueueLimit::Wait(Duration::from_millis(24)));
    let sent: Vec<_> = (0..4).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::Queued, Admission::DroppedFull]); // waits of 0, 12, 24 and 36 ms
}

#[test]
fn a_dropped_packet_leaves_no_trace() {
    let run = |extra: bool| {
        let mut link = with(3_000_000, |config| {
            config.queue = QueueLimit::Packets(2);
            config.loss = Loss::Bernoulli { share: 300_000_000 };
            config.jitter = Some(Jitter { amount: Duration::from_millis(3), reorder: false });
        });
        let mut exits = Vec::new();
        for n in 0..500 {
            let now = Time::ZERO + Duration::from_millis(9) * n;
            let _ = link.send(now, 1500, n, n);
            let _ = link.send(now, 1500, n, n);
            if extra {
                assert_eq!(link.send(now, 1500, n, n), Admission::DroppedFull);
            }
            exits.extend(drain(&mut link));
        }
        exits
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn losses_take_their_time_on_the_wire() {
    let mut link = with(1_000_000, |config| config.loss = Loss::Bernoulli { share: 1_000_000_000 });
    let _ = link.send(Time::ZERO, 1500, 0, 1);
    let _ = link.send(Time::ZERO, 1500, 1, 2);
    assert_eq!(drain(&mut link), [(millis(22), Exit::Lost(1)), (millis(34), Exit::Lost(2))]);
    assert_eq!((link.counters().lost, link.counters().delivered_bytes), (2, 0));
}

fn lost_share(loss: Loss, count: u32) -> f64 {
    let mut losses = loss::Losses::new(loss, 42, "share");
    f64::from((0..count).filter(|_| losses.next()).count() as u32) / f64::from(count)
}

#[test]
fn independent_losses_have_their_share() {
    let loss = Loss::Bernoulli { share: 20_000_000 };
    // 2 % of a million: a standard deviation is 0.014 %.
    assert!((lost_share(loss, 1_000_000) - loss.mean()).abs() < 0.000_6);
}

#[test]
fn bursty_losses_have_their_stationary_share() {
    let loss = Loss::GilbertElliott {
        to_bad: 10_000_000,
        to_good: 250_000_000,
        good_loss: 1_000_000,
        bad_loss: 600_000_000,
    };
    let expected = (0.25 * 0.001 + 0.01 * 0.6) / 0.26;
    assert!((loss.mean() - expected).abs() < 1e-12);
    assert!((lost_share(loss, 4_000_000) / expected - 1.0).abs() < 0.03);
}

#[test]
fn bursts_have_their_mean_length() {
    // In the bad state everything is lost, in the good one nothing: bursts are geometric with mean 1/r = 4.
    let loss = Loss::GilbertElliott {
        to_bad: 10_000_000,
        to_good: 250_000_000,
        good_loss: 0,
        bad_loss: 1_000_000_000,
    };
    let mut losses = loss::Losses::new(loss, 3, "bursts");
    let (mut lost, mut bursts, mut previous) = (0_u32, 0_u32, false);
    for _ in 0..2_000_000 {
        let now = losses.next();
        lost += u32::from(now);
        bursts += u32::from(now && !previous);
        previous = now;
    }
    assert!((f64::from(lost) / f64::from(bursts) - 4.0).abs() < 0.15);
}

#[test]
fn a_loss_model_never_leaves_its_certain_states() {
    let stuck = Loss::GilbertElliott { to_bad: 0, to_good: 1, good_loss: 0, bad_loss: 1_000_000_000 };
    assert!(stuck.mean().abs() < f64::EPSILON && lost_share(stuck, 10_000) == 0.0);
}

#[test]
fn jitter_keeps_the_order_unless_told_otherwise() {
    for reorder in [false, true] {
        let amount = Duration::from_millis(50);
        let mut link = with(100_000_000, |config| config.jitter = Some(Jitter { amount, reorder }));
        for n in 0..1000 {
            let _ = link.send(Time::ZERO + Duration::from_millis(1) * n, 1500, n, n);
        }
        let exits = drain(&mut link);
        assert!(exits.is_sorted_by_key(|exit| exit.0));
        let order: Vec<_> = exits.iter().map(|(_, exit)| exit.payload()).collect();
        assert_eq!(order.is_sorted(), !reorder);
        for (arrival, exit) in exits {
            let n = exit.payload().expect("a packet");
            let delay = arrival.since(Time::ZERO + Duration::from_millis(1) * n);
            let least = Duration::from_nanos(10_120_000);
            assert!((least..=least + amount).contains(&delay), "{delay}");
        }
    }
}

#[test]
fn packets_that_arrive_together_leave_in_order_even_from_a_heap() {
    let amount = Duration::from_nanos(1);
    let mut link = with(1 << 61, |config| config.jitter = Some(Jitter { amount, reorder: true }));
    for n in 0..100 {
        let _ = link.send(Time::ZERO, 1, n, n);
    }
    let exits = drain(&mut link);
    assert!(exits.is_sorted_by_key(|(time, exit)| (*time, exit.payload())));
}

fn cut(outages: Outages, sends: &[u64]) -> Vec<bool> {
    // 1000 bytes at 8 Mbit/s: a packet leaves 1 ms after it was sent.
    let mut link = with(8_000_000, |config| config.outages = outages);
    sends
        .iter()
        .map(|&at| {
            let _ = link.send(millis(at), 1000, 0, 0);
            matches!(link.pop(), Exit::Lost(_))
        })
        .collect()
}

#[test]
fn a_packet_that_leaves_during_an_outage_is_lost() {
    let windows = vec![
        Window { from: millis(10), to: millis(12) },
        Window { from: millis(12), to: millis(13) },
        Window { from: millis(20), to: millis(21) },
    ];
    let lost = cut(Outages::Windows(windows), &[8, 9, 10, 11, 12, 18, 19, 20, 90]);
    assert_eq!(lost, [false, true, true, true, false, false, true, false, false]);
    let periodic = Outages::Periodic {
        every: Duration::from_millis(10),
        length: Duration::from_millis(2),
        first: millis(5),
    };
    let lost = cut(periodic, &[0, 3, 4, 5, 6, 14, 15, 16, 1004, 1006]);
    assert_eq!(lost, [false, false, true, true, false, true, true, false, true, false]);
}

#[test]
fn an_outage_does_not_shift_the_random_losses() {
    let lost = |outages: Outages| {
        let mut link = with(8_000_000, |config| {
            config.loss = Loss::Bernoulli { share: 500_000_000 };
            config.outages = outages;
        });
        for n in 0..200 {
            let _ = link.send(millis(n), 1000, n, n);
        }
        drain(&mut link)
    };
    let (without, with) = (
        lost(Outages::Windows(Vec::new())),
        lost(Outages::Windows(vec![Window { from: millis(50), to: millis(60) }])),
    );
    assert_eq!(without[60..], with[60..]);
    assert!(with[49..59].iter().all(|(_, exit)| matches!(exit, Exit::Lost(_))));
}

#[test]
fn a_trace_shares_and_spans_its_opportunities_and_repeats() {
    let mut link = following(b"2\n2\n5\n", Duration::from_millis(1));
    let sizes = [500, 500, 500, 2000, 1000, 1500, 3000, 4500];
    for (n, &bytes) in (0..).zip(&sizes) {
        assert_ne!(link.send(Time::ZERO, bytes, n, n), Admission::DroppedFull);
    }
    let exits: Vec<_> = drain(&mut link).iter().map(|(time, _)| time.as_nanos() / 1_000_000 - 1).collect();
    // Opportunities: 2 2 5 7 7 10 12 12 15 …; the packets take 1, –, –, 1⅓, ⅔, 1, 2, 3 of them.
    assert_eq!(exits, [2, 2, 2, 5, 5, 7, 10, 15]);
}

#[test]
fn what_a_trace_offers_to_nobody_is_gone() {
    let mut link = following(b"1\n3\n4\n", Duration::ZERO);
    let mut exit = |at: u64, bytes| {
        let _ = link.send(time(at), bytes, 0, 0);
        let exit = link.head().map(|key| key.time.as_nanos() / 1_000_000);
        link.pop();
        exit
    };
    assert_eq!(exit(0, 100), Some(1));
    assert_eq!(exit(1_000_000, 1400), Some(1)); // the same opportunity, at its very moment
    assert_eq!(exit(1_000_001, 100), Some(3));
    assert_eq!(exit(3_500_000, 1500), Some(4));
    assert_eq!(exit(8_000_000, 1500), Some(8)); // the last of the second period
    assert_eq!(exit(8_000_000, 1500), Some(9));
    assert_eq!(exit(4_000_000_000_000_000, 1500), Some(4_000_000_000));
    assert_eq!(exit(4_000_000_000_000_001, 1500), Some(4_000_000_001));
}

#[test]
fn a_trace_with_opportunities_at_zero_offers_them_when_it_repeats() {
    let mut link = following(b"0\n2\n", Duration::ZERO);
    for n in 0..5 {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let exits: Vec<_> = drain(&mut link).iter().map(|(time, _)| time.as_nanos() / 1_000_000).collect();
    assert_eq!(exits, [0, 2, 2, 4, 4]);
}

#[test]
fn a_trace_limits_its_queue_like_any_link() {
    let trace = Trace::parse("trace", b"10\n").expect("valid");
    let capacity = Capacity::Trace(Arc::new(trace));
    let queue = QueueLimit::Wait(Duration::from_millis(20));
    let mut link = Link::new(&LinkConfig { capacity, queue, ..LinkConfig::new(1, Duration::ZERO) }, 1, "t");
    let sent: Vec<_> = (0..3).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::DroppedFull]); // at 10, 20 and 30 ms
    assert_eq!(link.queue_packets(Time::ZERO), 1);
}

#[test]
fn bad_traces_are_refused_with_line_and_rule() {
    let refused = |bytes: &[u8]| Trace::parse("lte.up", bytes).expect_err("a bad trace").to_string();
    for (bytes, expected) in [
        (&b""[..], "lte.up: a trace has at least one timestamp"),
        (b"# nothing\n\n", "lte.up: a trace has at least one timestamp"),
        (b"0\n0\n", "lte.up: the last timestamp is the period and must be more than 0 ms"),
        (b"5\n4\n", "lte.up: line 2: timestamps never decrease: 4 after 5"),
        (b"\n# c\n1\nx\n", "lte.up: line 4: expected a whole number of milliseconds, got x"),
        (b"1.5\n", "lte.up: line 1: expected a whole number of milliseconds, got 1.5"),
        (b"-1\n", "lte.up: line 1: expected a whole number of milliseconds, got -1"),
        (b"1 2\n", "lte.up: line 1: expected a whole number of milliseconds, got 1 2"),
        (
            b"99999999999999999999999999\n",
            "lte.up: line 1: 18446744073709551615 is more than the largest timestamp, 1000000000 ms",
        ),
    ] {
        assert_eq!(refused(bytes), expected);
    }
    assert!(refused(b"\xff\xfe\0").contains("line 1: expected a whole number"));
    let trace = Trace::parse("ok", b"# two\r\n1\r\n\n 2 \n").expect("a valid trace");
    assert_eq!(
        (trace.opportunities(), trace.period_millis(), trace.mean_rate()),
        (&[1, 2][..], 2, 12_000_000)
    );
}

#[test]
fn a_trace_that_is_no_file_is_refused() {
    let refused = |path: &str| Trace::load(path, std::path::Path::new(path)).expect_err("no file");
    assert!(matches!(refused("/no/such/file"), ScenarioError::Trace { line: None, .. }));
    assert_eq!(refused("/").to_string(), "/: a trace is a regular file");
}

/// Recorded LTE traces, where the checkout has them: the busy link delivers what the trace says, period after period.
#[test]
fn recorded_traces_deliver_what_they_say() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces"));
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: there is no folder of recorded traces at {}", folder.display());
        return;
    };
    for entry in entries {
        let path = entry.expect("a readable folder").path();
        let trace =
            Arc::new(Trace::load(&path.display().to_string(), &path).expect("a recorded trace is valid"));
        let capacity = Capacity::Trace(Arc::clone(&trace));
        let mut link: Link<u64> =
            Link::new(&LinkConfig { capacity, ..LinkConfig::new(1, Duration::ZERO) }, 1, "t");
        let count = trace.opportunities().len() as u64;
        for n in 0..3 * count {
            let _ = link.send(Time::ZERO, 1500, n, n);
        }
        let exits = drain(&mut link);
        for (n, (exit, _)) in exits.iter().enumerate() {
            let (cycle, index) = (n as u64 / count, n % count as usize);
            let expected = cycle * trace.period_millis() + u64::from(trace.opportunities()[index]);
            assert_eq!(*exit, millis(expected), "{}", path.display());
        }
    }
}

#[test]
fn a_hopeless_backlog_saturates_instead_of_overflowing() {
    let mut link = with(1, |_| {});
    for n in 0..2000 {
        assert_ne!(link.send(Time::ZERO, MAX_PACKET_BYTES, n, n), Admission::DroppedFull);
    }
    assert_eq!(drain(&mut link).last().map(|exit| exit.0), Some(Time::MAX));
}

#[test]
#[should_panic(expected = "taken only from a link that has one")]
fn taking_from_an_empty_link_is_a_broken_invariant() {
    with(1, |_| {}).pop();
}

fn any_config() -> impl Strategy<Value = LinkConfig> {
    let capacity = prop_oneof![
        (1_u64..=1_000_000_000_000).prop_map(Capacity::Rate),
        (100_000_u64..=100_000_000).prop_map(Capacity::Rate),
        prop::collection::vec(0_u32..30, 1..20).prop_map(|mut millis| {
            millis.sort_unstable();
            millis.push(31);
            let text = millis.iter().map(|m| format!("{m}\n")).collect::<String>();
            Capacity::Trace(Arc::new(Trace::parse("any", text.as_bytes()).expect("valid")))
        }),
    ];
    let queue = prop_oneof![
        Just(QueueLimit::Infinite),
        (1_u64..40).prop_map(QueueLimit::Packets),
        (100_u64..60_000).prop_map(QueueLimit::Bytes),
        (1_u64..100_000_000).prop_map(|nanos| QueueLimit::Wait(Duration::from_nanos(nanos))),
    ];
    let share = 0_u32..=1_000_000_000;
    let loss = prop_oneof![
        Just(Loss::None),
        share.clone().prop_map(|share| Loss::Bernoulli { share }),
        (share.clone(), 1_u32..=1_000_000_000, share.clone(), share).prop_map(
            |(to_bad, to_good, good_loss, bad_loss)| Loss::GilbertElliott {
                to_bad,
                to_good,
                good_loss,
                bad_loss
            }
        ),
    ];
    let jitter = prop::option::of(
        (0_u64..50_000_000, any::<bool>())
            .prop_map(|(amount, reorder)| Jitter { amount: Duration::from_nanos(amount), reorder }),
    );
    let outages = prop_oneof![
        Just(Outages::Windows(Vec::new())),
        Just(Outages::Windows(vec![Window { from: millis(100), to: millis(300) }])),
        Just(Outages::Periodic {
            every: Duration::from_millis(70),
            length: Duration::from_millis(20),
            first: millis(10)
        }),
    ];
    (capacity, 0_u64..200_000_000, queue, loss, jitter, outages).prop_map(
        |(capacity, delay, queue, loss, jitter, outages)| LinkConfig {
            capacity,
            delay: Duration::from_nanos(delay),
            queue,
            discipline: None,
            loss,
            jitter,
            outages,
        },
    )
}

proptest! {
    /// Whatever the link and the traffic: nothing appears or vanishes, time moves on, order holds where it must,
    /// limits hold, and a second run is the same run.
    #[test]
    fn packets_are_conserved(
        config in any_config(),
        sends in prop::collection::vec((0_u64..5_000_000, 1_u32..3000), 1..300),
        seed in any::<u64>(),
    ) {
        let run = || {
            let mut link: Link<u64> = Link::new(&config, seed, "any");
            let (mut now, mut exits, mut accepted) = (Time::ZERO, Vec::new(), 0);
            for (n, &(gap, bytes)) in (0..).zip(&sends) {
                let next = now + Duration::from_nanos(gap);
                while let Some(key) = link.head().filter(|key| key.time <= next) {
                    exits.push((key, link.pop()));
                }
                now = next;
                accepted += u64::from(link.send(now, bytes, n, n) != Admission::DroppedFull);
                let counters = *link.counters();
                assert_eq!(counters.accepted, accepted);
                assert_eq!(counters.accepted + counters.dropped, n + 1);
                assert_eq!(counters.accepted, counters.delivered + counters.lost + link.inside() as u64);
                assert!(link.queue_packets(now) <= link.inside() as u64);
                match config.queue {
                    QueueLimit::Packets(limit) => assert!(link.queue_packets(now) < limit),
                    QueueLimit::Bytes(limit) => assert!(link.queue_bytes(now) <= limit),
                    QueueLimit::Wait(_) | QueueLimit::Infinite => {}
                }
            }
            while let Some(key) = link.head() {
                exits.push((key, link.pop()));
            }
            let counters = *link.counters();
            assert_eq!(counters.accepted, counters.delivered + counters.lost);
            assert_eq!(counters.accepted, exits.len() as u64);
            exits
        };
        let exits = run();
        prop_assert!(exits.is_sorted_by_key(|exit| exit.0));
        if config.jitter.is_none_or(|jitter| !jitter.reorder) {
            prop_assert!(exits.is_sorted_by_key(|(_, exit)| exit.payload()));
        }
        prop_assert_eq!(exits, run());
    }
}

fn stepping(first: u64, steps: &[(u64, u64)], repeat: Option<u64>) -> (Link<u64>, Steps) {
    let steps = steps.iter().map(|&(at, rate)| Step { at: time(at), rate }).collect();
    let steps = Steps::new(first, steps, repeat.map(Duration::from_nanos));
    let config = LinkConfig {
        capacity: Capacity::Steps(Arc::new(steps.clone())),
        ..LinkConfig::new(1, Duration::ZERO)
    };
    (Link::new(&config, 1, "test"), steps)
}

#[test]
fn a_packet_in_transmission_leaves_at_both_rates() {
    // 12000 bits: 5 ms at 1 Mbit/s carry 5000, the other 7000 take 3.5 ms at 2 Mbit/s.
    let (mut link, _) = stepping(1_000_000, &[(5_000_000, 2_000_000)], None);
    let _ = link.send(Time::ZERO, 1500, 0, 1);
    let _ = link.send(Time::ZERO, 1500, 1, 2);
    let exits: Vec<_> = drain(&mut link).into_iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(exits, [8_500_000, 14_500_000]);
}

#[test]
fn steps_repeat_also_after_a_long_silence() {
    // 10 ms at 1 Mbit/s, 10 ms at 3 Mbit/s: 40000 bits per period.
    let (mut link, steps) = stepping(1_000_000, &[(10_000_000, 3_000_000)], Some(20_000_000));
    let _ = link.send(Time::ZERO, 5000, 0, 1);
    let _ = link.send(time(1_000_015_000_000), 1500, 1, 2);
    let exits: Vec<_> = drain(&mut link).into_iter().map(|(at, _)| at.as_nanos()).collect();
    assert_eq!(exits, [20_000_000, 1_000_019_000_000]);
    assert_eq!(steps.mean_rate(Time::ZERO, time(60_000_000)), 2_000_000);
    assert_eq!(steps.mean_rate(time(10_000_000), time(20_000_000)), 3_000_000);
    assert_eq!((steps.slowest(), steps.first()), (1_000_000, 1_000_000));
}

#[test]
fn a_large_packet_on_a_slow_link_with_short_steps_is_served_at_once() {
    // 1 and 3 bit/s by turns of a nanosecond: 2 bit/s.
    let (mut link, _) = stepping(1, &[(1, 3)], Some(2));
    let _ = link.send(Time::ZERO, 1 << 20, 0, 1);
    assert_eq!(link.head().map(|key| key.time), Some(time((1 << 20) * 4_000_000_000)));
}

proptest! {
    /// Against the definition: a packet has left when the work possible since its start is its size.
    #[test]
    fn steps_are_exact_over_a_busy_period(
        first in 1_u64..10_000_000_000,
        steps in prop::collection::btree_map(1_u64..1_000_000, 1_u64..10_000_000_000, 0..6),
        repeat in prop::option::of(1_u64..1_000_000),
        sizes in prop::collection::vec(1_u32..3_000, 1..60),
    ) {
        let steps: Vec<(u64, u64)> = steps.into_iter().collect();
        let last = steps.last().map_or(0, |step| step.0);
        let repeat = repeat.map(|rest| last + rest);
        let (mut link, _) = stepping(first, &steps, repeat);
        // (length, rate) of the pieces, in order, for ever.
        let mut bounds: Vec<(u64, u64)> = vec![(0, first)];
        bounds.extend(&steps);
        let mut piece = 0;
        let (mut now, mut done) = (0_u128, 0_u128);
        let left = |piece: usize| -> Option<u128> {
            let end = bounds.get(piece + 1).map(|next| next.0).or(repeat)?;
            Some(u128::from(end - bounds[piece].0))
        };
        let mut total = 0_u128;
        for (index, &bytes) in sizes.iter().enumerate() {
            let _ = link.send(Time::ZERO, bytes, index as u64, 0);
            total += u128::from(bytes) * 8_000_000_000;
            loop {
                let rate = u128::from(bounds[piece].1);
                match left(piece) {
                    Some(length) if done + length * rate <= total => {
                        done += length * rate;
                        now += length;
                        piece = if piece + 1 < bounds.len() { piece + 1 } else { 0 };
                    }
                    _ => break,
                }
            }
            let exact = now + (total - done) / u128::from(bounds[piece].1);
            if exact > 1_000_000_000_000_000 {
                break;
            }
            let exit = drain(&mut link).pop().map(|(at, _)| u128::from(at.as_nanos()));
            prop_assert_eq!(exit, Some(exact), "packet {}", index);
        }
    }
}
