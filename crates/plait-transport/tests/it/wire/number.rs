//! Numbers around their wraps.

use plait_transport::wire::number::{Sequence, Truncated, nearest};
use proptest::prelude::*;

/// Counters near the wraps of 32 bits, and anywhere.
fn counter() -> impl Strategy<Value = u64> {
    let near = |power: u32| (0u64..200).prop_map(move |step| ((1u64 << power) - 100).saturating_add(step));
    prop_oneof![0u64..200, near(31), near(32), near(33), near(61), 0u64..1 << 62]
}

proptest! {
    #[test]
    fn a_counter_is_found_again_within_two_to_the_31(
        initial in any::<u32>(),
        counter in counter(),
        ahead in prop_oneof![-100i64..100, -(1i64 << 31) + 1..1i64 << 31],
    ) {
        let sequence = Sequence { initial };
        let Some(expected) = counter.checked_add_signed(-ahead) else { return Ok(()) };
        prop_assert_eq!(sequence.unwrap(sequence.wrap(counter), expected), counter);
        prop_assert_eq!(nearest(counter as u32, expected), counter);
    }

    #[test]
    fn neighbours_differ_by_one(initial in any::<u32>(), counter in counter()) {
        let sequence = Sequence { initial };
        prop_assert_eq!(sequence.wrap(counter + 1), sequence.wrap(counter).wrapping_add(1));
    }

    #[test]
    fn a_packet_number_is_found_again(
        acknowledged in prop::option::of(counter()),
        ahead in prop_oneof![1u64..1 << 17, 1u64..(1 << 31) - 1],
        arrived in any::<prop::sample::Index>(),
        before in super::rarely(),
    ) {
        // RFC 9000 §17.1: more than twice the range from the largest acknowledged number on.
        let first = acknowledged.map_or(0, |acknowledged| acknowledged + 1);
        let number = first + ahead - 1;
        prop_assume!(number < 1 << 62);
        let truncated = Truncated::new(number, acknowledged);
        prop_assert!((1..=4).contains(&truncated.bytes));
        prop_assert!(u64::from(truncated.low) < 1u64 << (8 * truncated.bytes));
        // The receiver has all packets that it acknowledged. Of the others it has any that were
        // sent before, or a few sent later.
        let latest = first + arrived.index(ahead as usize + 1) as u64;
        let largest = if before { Some(number + 50) } else { latest.checked_sub(1) };
        prop_assert_eq!(truncated.expand(largest), number, "{:?} after {:?}", truncated, largest);
    }

    #[test]
    fn any_packet_number_can_be_read(low in any::<u32>(), bytes in 1u8..=4, largest in prop::option::of(0u64..1 << 62)) {
        let low = (u64::from(low) & ((1u64 << (8 * bytes)) - 1)) as u32;
        let number = Truncated { low, bytes }.expand(largest);
        prop_assert!(number < 1 << 62);
        prop_assert_eq!(number & ((1u64 << (8 * bytes)) - 1), u64::from(low));
    }
}
