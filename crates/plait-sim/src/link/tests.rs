//! A link's timing against exact arithmetic, its limits and losses against their definitions.

mod changes;
mod losses;
mod steps;
mod traces;

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

/// All packets inside, in the order of their exit.
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
        let head = EventKey { time: time(5 + expected + 10_000_000), since: time(5), order: 9 };
        assert_eq!(link.head(), Some(head), "{bytes} bytes at {rate} bit/s");
        assert_eq!(link.pop(), Exit::Delivered(77));
        assert_eq!(link.head(), None);
    }
}

#[test]
fn a_busy_period_is_exact_however_long() {
    // The last bit of packet n leaves at exactly n · bits / rate, rounded down.
    for rate in [10_000_000, 100_000_000_000, 3_000_000, 299_792_458, 999_999_999_989, 7] {
        let mut link = with(rate, |config| config.delay = Duration::ZERO.into());
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
        let mut link = with(3_000_000_000, |config| config.delay = Duration::ZERO.into());
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
    let mut link = with(1_000_000, |config| config.queue = QueueLimit::Packets(3).into());
    let sent: Vec<_> = (0..4).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::Queued, Admission::DroppedFull]);
    assert_eq!((link.queue_packets(Time::ZERO), link.queue_bytes(Time::ZERO)), (2, 3000));
    // The first leaves at 12 ms: a nanosecond before there is no room, then there is.
    assert_eq!(link.send(time(11_999_999), 1500, 4, 4), Admission::DroppedFull);
    assert_ne!(link.send(millis(12), 1500, 5, 5), Admission::DroppedFull);
    assert_eq!(link.counters().dropped, 2);
    assert_eq!(link.queue_packets(millis(1000)), 0);
}

#[test]
fn a_limit_of_bytes_counts_the_packet_in_transmission() {
    let mut link = with(1_000_000, |config| config.queue = QueueLimit::Bytes(3000).into());
    assert_ne!(link.send(Time::ZERO, 1500, 0, 0), Admission::DroppedFull);
    assert_ne!(link.send(Time::ZERO, 1000, 1, 1), Admission::DroppedFull);
    assert_eq!(link.send(Time::ZERO, 501, 2, 2), Admission::DroppedFull);
    assert_ne!(link.send(Time::ZERO, 500, 3, 3), Admission::DroppedFull);
    assert_eq!(link.queue_bytes(Time::ZERO), 1500);
}

#[test]
fn a_limit_of_time_is_the_longest_wait() {
    let mut link =
        with(1_000_000, |config| config.queue = QueueLimit::Wait(Duration::from_millis(24)).into());
    let sent: Vec<_> = (0..4).map(|n| link.send(Time::ZERO, 1500, n, n)).collect();
    assert_eq!(sent, [Admission::First, Admission::Queued, Admission::Queued, Admission::DroppedFull]); // waits of 0, 12, 24 and 36 ms
}

#[test]
fn a_dropped_packet_leaves_no_trace() {
    let run = |extra: bool| {
        let mut link = with(3_000_000, |config| {
            config.queue = QueueLimit::Packets(2).into();
            config.loss = Loss::Bernoulli { share: 300_000_000 }.into();
            config.jitter = Some(Jitter { amount: Duration::from_millis(3), ..Jitter::default() });
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
fn jitter_keeps_the_order_unless_told_otherwise() {
    for reorder in [false, true] {
        let amount = Duration::from_millis(50);
        let mut link =
            with(100_000_000, |config| config.jitter = Some(Jitter { amount, reorder, ..Jitter::default() }));
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
    let mut link =
        with(1 << 61, |config| config.jitter = Some(Jitter { amount, reorder: true, ..Jitter::default() }));
    for n in 0..100 {
        let _ = link.send(Time::ZERO, 1, n, n);
    }
    let exits = drain(&mut link);
    assert!(exits.is_sorted_by_key(|(time, exit)| (*time, exit.payload())));
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

/// Usually constant, sometimes in a few steps.
fn varying<T: Copy + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Varying<T>> {
    let steps = prop::collection::btree_map(1_u64..500_000_000, value.clone(), 0..4);
    let steps =
        (value.clone(), steps, prop::option::of(1_u64..500_000_000)).prop_map(|(first, steps, rest)| {
            let last = steps.last_key_value().map_or(0, |(at, _)| *at);
            let steps = steps.into_iter().map(|(at, value)| Step { at: time(at), value }).collect();
            let repeat = rest.map(|rest| Duration::from_nanos(last + rest));
            Varying::Steps(Arc::new(Steps::new(first, steps, repeat)))
        });
    prop_oneof![2 => value.prop_map(Varying::Constant), 1 => steps]
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
    use JitterDistribution::{Normal, Pareto, ParetoNormal, Uniform};
    let distribution = prop::sample::select(vec![Uniform, Normal, Pareto, ParetoNormal]);
    let correlation = prop_oneof![Just(0), 0_u32..1_000_000_000];
    let jitter =
        prop::option::of((0_u64..50_000_000, distribution, correlation.clone(), any::<bool>()).prop_map(
            |(amount, distribution, correlation, reorder)| Jitter {
                amount: Duration::from_nanos(amount),
                distribution,
                correlation,
                reorder,
            },
        ));
    let copies = (1_u32..=1_000_000_000, correlation)
        .prop_map(|(share, correlation)| Duplicate { share, correlation });
    let duplicate = prop::option::weighted(0.3, copies);
    let delay = varying(0_u64..200_000_000).prop_map(|delay| delay.map(Duration::from_nanos));
    let special = (duplicate, any::<bool>());
    let outages = prop_oneof![
        Just(Outages::List(Vec::new())),
        Just(Outages::List(vec![Outage { from: millis(100), to: millis(300) }])),
        Just(Outages::Periodic {
            every: Duration::from_millis(70),
            length: Duration::from_millis(20),
            first: millis(10)
        }),
    ];
    (capacity, delay, varying(queue), varying(loss), jitter, outages, special).prop_map(
        |(capacity, delay, queue, loss, jitter, outages, (duplicate, reorder))| LinkConfig {
            capacity,
            delay,
            queue,
            discipline: None,
            loss,
            duplicate,
            jitter,
            reorder,
            outages,
        },
    )
}

proptest! {
    /// For any link and traffic: packets are conserved, time increases, order and limits hold, and
    /// a second run is identical.
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
                let put = counters.accepted + counters.duplicated;
                assert_eq!(put, counters.delivered + counters.lost + link.inside() as u64);
                assert!(link.queue_packets(now) <= link.inside() as u64);
                let limit = config.queue.steps().map_or(Some(config.queue.first()), |_| None);
                match limit.unwrap_or(QueueLimit::Infinite) {
                    QueueLimit::Packets(limit) => assert!(link.queue_packets(now) < limit),
                    QueueLimit::Bytes(limit) => assert!(link.queue_bytes(now) <= limit),
                    QueueLimit::Wait(_) | QueueLimit::Infinite => {}
                }
            }
            while let Some(key) = link.head() {
                exits.push((key, link.pop()));
            }
            let counters = *link.counters();
            assert_eq!(counters.accepted + counters.duplicated, counters.delivered + counters.lost);
            assert_eq!(counters.accepted + counters.duplicated, exits.len() as u64);
            assert_eq!(link.copies_to_come(), 0);
            // Each packet leaves once, or as a copy and then once more.
            let mut left = std::collections::BTreeMap::new();
            for (_, exit) in &exits {
                let before = left.insert(exit.payload(), matches!(exit, Exit::Copied(_)));
                assert_ne!(before, Some(false), "{exit:?} left before");
            }
            assert!(left.values().all(|copied| !copied), "a copy without its packet");
            exits
        };
        let exits = run();
        prop_assert!(exits.is_sorted_by_key(|exit| exit.0));
        if !config.reorders() {
            prop_assert!(exits.is_sorted_by_key(|(_, exit)| exit.payload()));
        }
        prop_assert_eq!(exits, run());
    }
}
