//! Losses and outages against their definitions.

use super::*;

#[test]
fn losses_take_their_time_on_the_wire() {
    let mut link = with(1_000_000, |config| config.loss = Loss::Bernoulli { share: 1_000_000_000 }.into());
    let _ = link.send(Time::ZERO, 1500, 0, 1);
    let _ = link.send(Time::ZERO, 1500, 1, 2);
    assert_eq!(drain(&mut link), [(millis(22), Exit::Lost(1)), (millis(34), Exit::Lost(2))]);
    assert_eq!((link.counters().lost, link.counters().delivered), (2, 0));
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
    // In the bad state all packets are lost, in the good state none: bursts are geometric with mean
    // 1/r = 4.
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
    let outages = vec![
        Outage { from: millis(10), to: millis(12) },
        Outage { from: millis(12), to: millis(13) },
        Outage { from: millis(20), to: millis(21) },
    ];
    let lost = cut(Outages::List(outages), &[8, 9, 10, 11, 12, 18, 19, 20, 90]);
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
            config.loss = Loss::Bernoulli { share: 500_000_000 }.into();
            config.outages = outages;
        });
        for n in 0..200 {
            let _ = link.send(millis(n), 1000, n, n);
        }
        drain(&mut link)
    };
    let (without, with) = (
        lost(Outages::List(Vec::new())),
        lost(Outages::List(vec![Outage { from: millis(50), to: millis(60) }])),
    );
    assert_eq!(without[60..], with[60..]);
    assert!(with[49..59].iter().all(|(_, exit)| matches!(exit, Exit::Lost(_))));
}
