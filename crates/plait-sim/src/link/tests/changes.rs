//! Links whose delay, losses or queue change, that copy packets, and whose jitter is not uniform.

use super::*;

const CERTAIN: u32 = 1_000_000_000;

fn stepped<T: Copy>(first: T, steps: &[(u64, T)], repeat: Option<u64>) -> Varying<T> {
    let steps = steps.iter().map(|&(at, value)| Step { at: millis(at), value }).collect();
    Varying::Steps(Arc::new(Steps::new(first, steps, repeat.map(Duration::from_millis))))
}

fn delays(first: u64, steps: &[(u64, u64)], repeat: Option<u64>) -> Varying<Duration> {
    stepped(first, steps, repeat).map(Duration::from_millis)
}

/// A packet of 1500 bytes takes 12 ms.
fn slow(change: impl FnOnce(&mut LinkConfig)) -> Link<u64> {
    with(1_000_000, change)
}

/// The arrival times, in milliseconds and in order, of `count` packets that are sent at once.
fn arrivals(link: &mut Link<u64>, count: u64) -> Vec<(u64, Option<u64>)> {
    for n in 0..count {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let exits = drain(link).into_iter();
    exits.map(|(at, exit)| (at.as_nanos() / 1_000_000, exit.payload())).collect()
}

#[test]
fn the_delay_is_that_of_the_moment_when_the_last_bit_leaves() {
    let mut link = slow(|config| config.delay = delays(10, &[(24, 50)], None));
    assert_eq!(arrivals(&mut link, 3), [(22, Some(0)), (74, Some(1)), (86, Some(2))]);
    let mut link = slow(|config| config.delay = delays(10, &[(25, 50)], None));
    assert_eq!(arrivals(&mut link, 3), [(22, Some(0)), (34, Some(1)), (86, Some(2))]);
    // 10 ms and 50 ms in turn, 20 ms each.
    let mut link = slow(|config| config.delay = delays(10, &[(20, 50)], Some(40)));
    let found: Vec<u64> = arrivals(&mut link, 5).into_iter().map(|(at, _)| at).collect();
    assert_eq!(found, [22, 74, 86, 86, 110], "left at 12, 24, 36, 48, 60; the fourth waits for the third");
}

#[test]
fn packets_keep_their_order_when_the_delay_falls_unless_they_may_overtake() {
    let mut link = slow(|config| config.delay = delays(50, &[(24, 10)], None));
    let kept = [(62, Some(0)), (62, Some(1)), (62, Some(2)), (62, Some(3)), (70, Some(4))];
    assert_eq!(arrivals(&mut link, 5), kept);
    let mut link = slow(|config| {
        config.delay = delays(50, &[(24, 10)], None);
        config.reorder = true;
    });
    assert_eq!(arrivals(&mut link, 4), [(34, Some(1)), (46, Some(2)), (58, Some(3)), (62, Some(0))]);
}

#[test]
fn the_loss_is_that_of_the_moment_when_the_last_bit_leaves() {
    let mut link = slow(|config| {
        config.loss =
            stepped(Loss::None, &[(24, Loss::Bernoulli { share: CERTAIN }), (48, Loss::None)], None);
    });
    for n in 0..5 {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let lost: Vec<bool> =
        drain(&mut link).into_iter().map(|(_, exit)| matches!(exit, Exit::Lost(_))).collect();
    assert_eq!(lost, [false, true, true, false, false]);
}

/// Two runs that differ in one loss have the same later losses.
#[test]
fn what_is_lost_later_does_not_depend_on_what_was_lost_before() {
    let fates = |first| {
        let mut link = slow(|config| {
            config.loss = stepped(first, &[(120, Loss::Bernoulli { share: CERTAIN / 2 })], None);
        });
        for n in 0..200 {
            let _ = link.send(Time::ZERO, 1500, n, n);
        }
        drain(&mut link)
    };
    let (none, all) = (fates(Loss::None), fates(Loss::Bernoulli { share: CERTAIN }));
    assert_eq!(none[9..], all[9..]);
    assert_ne!(none[..9], all[..9]);
}

#[test]
fn the_limit_of_a_queue_is_that_of_the_arrival() {
    let limits = [(5, QueueLimit::Packets(1)), (15, QueueLimit::Packets(3))];
    let mut link = slow(|config| config.queue = stepped(QueueLimit::Packets(2), &limits, None));
    let mut admitted = |at, n| link.send(millis(at), 1500, n, n) != Admission::DroppedFull;
    assert_eq!([admitted(0, 0), admitted(0, 1), admitted(0, 2)], [true, true, false]);
    // Waiting packets stay. At 12 ms the first has left, and the second fills the limit of one.
    assert_eq!([admitted(5, 3), admitted(12, 4), admitted(14, 5)], [false, false, false]);
    assert_eq!([admitted(15, 6), admitted(15, 7), admitted(15, 8)], [true, true, false]);
}

fn copying(share: u32, loss: u32, change: impl FnOnce(&mut LinkConfig)) -> Link<u64> {
    slow(|config| {
        config.duplicate = Some(Duplicate { share, correlation: 0 });
        config.loss = Loss::Bernoulli { share: loss }.into();
        change(config);
    })
}

#[test]
fn a_copy_arrives_with_its_packet_and_takes_no_capacity() {
    let mut link = copying(CERTAIN, 0, |_| {});
    let _ = link.send(Time::ZERO, 1500, 0, 7);
    let _ = link.send(Time::ZERO, 1500, 1, 8);
    assert_eq!((link.inside(), link.queue_packets(Time::ZERO)), (4, 1));
    let expected = [
        (millis(22), Exit::Copied(7)),
        (millis(22), Exit::Delivered(7)),
        (millis(34), Exit::Copied(8)),
        (millis(34), Exit::Delivered(8)),
    ];
    assert_eq!(drain(&mut link), expected);
    let counters = link.counters();
    assert_eq!((counters.accepted, counters.duplicated, counters.delivered, counters.lost), (2, 2, 4, 0));
}

/// `netem_enqueue`: if a copied packet is lost, one of the two goes on. Otherwise the copy has a
/// loss draw of its own.
#[test]
fn losses_take_copies_as_netem_has_it() {
    let mut link = copying(CERTAIN, CERTAIN, |_| {});
    let _ = link.send(Time::ZERO, 1500, 0, 7);
    assert_eq!(drain(&mut link), [(millis(22), Exit::Delivered(7))]);
    let (count, copied, lost) = (40_000, 0.3, 0.2);
    let mut link = copying(300_000_000, 200_000_000, |_| {});
    for n in 0..count {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    drain(&mut link);
    let per_packet = link.counters().delivered as f64 / count as f64;
    let expected = (1.0 - copied) * (1.0 - lost) + copied * (lost + (1.0 - lost) * (2.0 - lost));
    assert!((per_packet - expected).abs() < 0.01, "{per_packet}, expected {expected}");
}

#[test]
fn nothing_comes_of_a_copy_in_an_outage() {
    let outage = Outages::List(vec![Outage { from: Time::ZERO, to: millis(20) }]);
    let mut link = copying(CERTAIN, 0, |config| config.outages = outage);
    let _ = link.send(Time::ZERO, 1500, 0, 7);
    let _ = link.send(Time::ZERO, 1500, 1, 8);
    let expected =
        [(millis(22), Exit::Lost(7)), (millis(34), Exit::Copied(8)), (millis(34), Exit::Delivered(8))];
    assert_eq!(drain(&mut link), expected);
}

/// Packet and copy have separate jitter: the first of them to arrive leaves the other behind.
#[test]
fn a_copy_has_its_own_jitter_and_the_first_of_both_says_so() {
    let jitter = Jitter { amount: Duration::from_millis(100), reorder: true, ..Jitter::default() };
    let mut link = copying(CERTAIN, 0, |config| config.jitter = Some(jitter));
    for n in 0..100 {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let exits = drain(&mut link);
    let times = |n| exits.iter().filter(move |(_, exit)| exit.payload() == Some(n)).map(|(at, _)| *at);
    let apart = (0..100).filter(|&n| times(n).next() != times(n).next_back()).count();
    assert_eq!((exits.len(), apart), (200, 100));
}

/// Extra delays of packets that leave far apart.
fn extras(jitter: Jitter, count: u64) -> Vec<f64> {
    let mut link = with(1 << 61, |config| {
        config.delay = Duration::from_secs(1).into();
        config.jitter = Some(jitter);
    });
    (0..count)
        .map(|n| {
            let sent = Time::ZERO + Duration::from_secs(3) * n;
            let _ = link.send(sent, 1, n, n);
            let (at, _) = drain(&mut link)[0];
            at.since(sent).as_secs_f64() - 1.0
        })
        .collect()
}

fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    values.clone().sum::<f64>() / values.count() as f64
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let centre = mean(values.iter().copied());
    let variance = mean(values.iter().map(|value| (value - centre).powi(2)));
    let pairs = values.iter().zip(&values[lag..]);
    mean(pairs.map(|(one, other)| (one - centre) * (other - centre))) / variance
}

/// The correlation changes no distribution, and falls with the distance as a geometric series.
#[test]
fn correlated_jitter_is_distributed_as_without_and_correlates_as_it_says() {
    use JitterDistribution::{Normal, Pareto, ParetoNormal, Uniform};
    let amount = Duration::from_millis(50);
    // Means and standard deviations in units of the amount: of a uniform number, and see
    // `distribution`.
    let moments = [
        (Uniform, 0.5, 12_f64.sqrt().recip()),
        (Normal, 0.0, 1.0),
        (Pareto, -0.0329, 0.8209),
        (ParetoNormal, -0.0247, 0.8349),
    ];
    for (distribution, expected, deviation) in moments {
        for correlation in [0.0_f64, 0.25, 0.8] {
            let parts = (correlation * 1e9) as u32;
            let jitter = Jitter { amount, distribution, correlation: parts, reorder: false };
            let found: Vec<f64> =
                extras(jitter, 60_000).iter().map(|extra| extra / amount.as_secs_f64()).collect();
            let centre = mean(found.iter().copied());
            let spread = mean(found.iter().map(|value| (value - centre).powi(2))).sqrt();
            let what = format!("{distribution:?}, correlation {correlation}: {centre:.4} ± {spread:.4}");
            // The mean of n correlated values is as exact as that of n · (1 − c)/(1 + c)
            // independent ones.
            let error = 4.0 * ((1.0 + correlation) / (1.0 - correlation) / 60_000.0).sqrt();
            assert!((centre - expected).abs() < error, "{what}");
            assert!((spread - deviation).abs() < 2.0 * error, "{what}, expected ± {deviation}");
            for lag in 1..4 {
                let close = (autocorrelation(&found, lag) - correlation.powi(lag as i32)).abs();
                assert!(close < 0.03, "{what}, lag {lag}: {}", autocorrelation(&found, lag));
            }
        }
    }
}

#[test]
fn no_packet_takes_less_than_no_time() {
    let jitter = Jitter {
        amount: Duration::from_millis(100),
        distribution: JitterDistribution::Normal,
        reorder: true,
        ..Jitter::default()
    };
    let mut link = with(8_000_000, |config| config.jitter = Some(jitter));
    for n in 0..1000 {
        let _ = link.send(millis(1000 * n), 1000, n, n);
        let (at, _) = drain(&mut link)[0];
        assert!(at >= millis(1000 * n + 1), "packet {n} at {at}");
    }
}

#[test]
fn copies_come_as_often_as_they_are_said_to_and_in_runs() {
    let (share, correlation, count) = (0.2, 0.6, 60_000);
    let mut link = slow(|config| {
        config.duplicate = Some(Duplicate { share: 200_000_000, correlation: 600_000_000 });
    });
    for n in 0..count {
        let _ = link.send(Time::ZERO, 1500, n, n);
    }
    let mut copied = vec![0.0; count as usize];
    for (_, exit) in drain(&mut link) {
        if let Exit::Copied(n) = exit {
            copied[n as usize] = 1.0;
        }
    }
    let found = mean(copied.iter().copied());
    assert!((found - share).abs() < 0.015, "{found}");
    assert!((autocorrelation(&copied, 1) - correlation).abs() < 0.03);
}
