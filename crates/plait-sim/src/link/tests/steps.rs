//! Links whose rate changes in steps.

use super::*;

fn stepping(first: u64, steps: &[(u64, u64)], repeat: Option<u64>) -> (Link<u64>, Steps<u64>) {
    let steps = steps.iter().map(|&(at, rate)| Step { at: time(at), value: rate }).collect();
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
    // 1 and 3 bit/s in turn, a nanosecond each: 2 bit/s.
    let (mut link, _) = stepping(1, &[(1, 3)], Some(2));
    let _ = link.send(Time::ZERO, 1 << 20, 0, 1);
    assert_eq!(link.head().map(|key| key.time), Some(time((1 << 20) * 4_000_000_000)));
}

proptest! {
    /// Compares with the definition: a packet leaves when the possible work since its start equals
    /// its size.
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
