//! Amounts as text that [`plait_sched::units`] reads back exactly. The unit is the largest of which
//! the amount is a multiple.

use plait_sched::Duration;

pub(crate) fn duration(span: Duration) -> String {
    largest(span.as_nanos(), &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")])
}

pub(crate) fn rate(bits_per_second: u64) -> String {
    largest(bits_per_second, &[(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")])
}

pub(crate) fn bytes(bytes: u64) -> String {
    largest(bytes, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"), (1, "B")])
}

pub(crate) fn packets(packets: u64) -> String {
    format!("{packets}p")
}

/// Per cent, with as many decimals as necessary.
pub(crate) fn share(parts_per_billion: u32) -> String {
    const PER_CENT: u32 = 10_000_000;
    let (whole, fraction) = (parts_per_billion / PER_CENT, parts_per_billion % PER_CENT);
    let decimals = format!(".{fraction:07}");
    let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
    format!("{whole}{decimals}%")
}

fn largest(amount: u64, units: &[(u64, &str)]) -> String {
    let fits = |&&(worth, _): &&(u64, &str)| amount.is_multiple_of(worth) && amount >= worth;
    // Zero has the first unit, the most common one.
    let (worth, unit) = units.iter().find(fits).unwrap_or(&units[0]);
    format!("{}{unit}", amount / worth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_sched::units::{parse_bytes, parse_duration, parse_packets, parse_rate, parse_share};
    use proptest::prelude::*;

    #[test]
    fn amounts_read_as_people_write_them() {
        assert_eq!(duration(Duration::from_millis(1500)), "1500ms");
        assert_eq!(duration(Duration::ZERO), "0s");
        assert_eq!(rate(2_000_000), "2Mbit");
        assert_eq!(bytes(35_000), "35kB");
        assert_eq!(
            (share(2_000_000), share(1_000_000_000), share(0)),
            ("0.2%".into(), "100%".into(), "0%".into())
        );
    }

    proptest! {
        #[test]
        fn amounts_are_read_back_exactly(amount in any::<u64>(), shift in 0_u32..64, parts in 0_u32..=1_000_000_000) {
            let amount = amount >> shift;
            prop_assert_eq!(parse_duration(&duration(Duration::from_nanos(amount))), Ok(Duration::from_nanos(amount)));
            prop_assert_eq!(parse_rate(&rate(amount)), Ok(amount));
            prop_assert_eq!(parse_bytes(&bytes(amount)), Ok(amount));
            prop_assert_eq!(parse_packets(&packets(amount)), Ok(amount));
            prop_assert_eq!(parse_share(&share(parts)), Ok(parts));
        }
    }
}
