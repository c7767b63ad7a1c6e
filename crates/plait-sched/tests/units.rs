//! Amounts with units: a hand-worked table, and exactness for all.

use plait_sched::units::{
    UnitErrorKind, WHOLE_PPB, parse_bytes, parse_duration, parse_packets, parse_rate, parse_share,
};
use plait_sched::{Duration, UnitError};
use proptest::prelude::*;

fn kind<T>(result: Result<T, UnitError>) -> Option<UnitErrorKind> {
    result.err().map(|error| error.kind)
}

#[test]
fn amounts_by_hand() {
    assert_eq!(parse_duration("20ms"), Ok(Duration::from_millis(20)));
    assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1_500)));
    assert_eq!(parse_duration("200us"), parse_duration("200µs"));
    assert_eq!(parse_duration("5ns"), Ok(Duration::from_nanos(5)));
    assert_eq!(parse_duration("2min"), Ok(Duration::from_secs(120)));
    assert_eq!(parse_duration("0.000000001s"), Ok(Duration::from_nanos(1)));
    assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
    assert_eq!(parse_rate("1Mbit"), Ok(1_000_000));
    assert_eq!(parse_rate("1.5Mbit"), Ok(1_500_000));
    assert_eq!(parse_rate("500kbit"), Ok(500_000));
    assert_eq!(parse_rate("10Gbit"), Ok(10_000_000_000));
    assert_eq!(parse_rate("800bit"), Ok(800));
    assert_eq!(parse_bytes("1500B"), Ok(1_500));
    assert_eq!(parse_bytes("35kB"), Ok(35_000));
    assert_eq!(parse_bytes("64KiB"), Ok(65_536));
    assert_eq!(parse_bytes("1.5MB"), Ok(1_500_000));
    assert_eq!(parse_bytes("4MiB"), Ok(4 << 20));
    assert_eq!(parse_bytes("1GB"), Ok(1_000_000_000));
    assert_eq!(parse_bytes("0.5KiB"), Ok(512));
    assert_eq!(parse_share("0.2%"), Ok(2_000_000));
    assert_eq!(parse_share("0.002"), Ok(2_000_000));
    assert_eq!(parse_share("100%"), Ok(WHOLE_PPB));
    assert_eq!(parse_share("0"), Ok(0));
    assert_eq!(parse_packets("50p"), Ok(50));
}

#[test]
fn what_is_wrong_is_said() {
    use UnitErrorKind::{Empty, MissingUnit, Negative, NotANumber, NotWhole, TooLarge, UnknownUnit};
    for (text, expected) in [
        ("", Empty),
        ("-5ms", Negative),
        ("−5ms", Negative),
        ("ms", NotANumber),
        (".5s", NotANumber),
        ("5.s", NotANumber),
        (" 5s", NotANumber),
        ("+5s", NotANumber),
        ("20", MissingUnit),
        ("20 ms", UnknownUnit),
        ("20MS", UnknownUnit),
        ("1e3s", UnknownUnit),
        ("1.2.3s", UnknownUnit),
        ("0.5ns", NotWhole),
        ("0.00000000000000000000000000000000000000000000000001s", NotWhole),
        ("18446744074s", TooLarge),
        ("99999999999999999999999999999999999999999999999999s", TooLarge),
    ] {
        assert_eq!(kind(parse_duration(text)), Some(expected), "{text:?}");
    }
    assert_eq!(kind(parse_share("1.5")), Some(TooLarge));
    assert_eq!(kind(parse_share("100.1%")), Some(TooLarge));
    assert_eq!(kind(parse_share("0.0000000001")), Some(NotWhole));
    assert_eq!(kind(parse_packets("1.5p")), Some(NotWhole));
    assert_eq!(parse_duration("18446744073709551615ns"), Ok(Duration::MAX));
    assert_eq!(kind(parse_duration("18446744073709551616ns")), Some(TooLarge));
}

#[test]
fn messages_name_the_value_and_the_units() {
    let message = |error: UnitError| error.to_string();
    assert_eq!(
        message(parse_rate("5Mb").unwrap_err()),
        "rate \"5Mb\" has an unknown unit: write bit, kbit, Mbit, Gbit or Tbit"
    );
    assert_eq!(
        message(parse_packets("1.5p").unwrap_err()),
        "number of packets \"1.5p\" is not a multiple of 1p"
    );
    assert_eq!(message(parse_share("2").unwrap_err()), "share \"2\" is too large");
    assert_eq!(
        message(parse_share("5no unit").unwrap_err()),
        "share \"5no unit\" has an unknown unit: write % or no unit"
    );
    let long = "9".repeat(60);
    assert!(message(parse_bytes(&long).unwrap_err()).contains("9…\" has no unit"));
}

/// `n` thousandths as a decimal number.
fn thousandths(n: u64) -> String {
    format!("{}.{:03}", n / 1_000, n % 1_000)
}

proptest! {
    #[test]
    fn decimal_fractions_are_exact(n in 0_u64..=u64::MAX / 1_000_000) {
        prop_assert_eq!(parse_duration(&format!("{}ms", thousandths(n))), Ok(Duration::from_micros(n)));
        prop_assert_eq!(parse_rate(&format!("{}Mbit", thousandths(n))), Ok(n * 1_000));
        prop_assert_eq!(parse_bytes(&format!("{}kB", thousandths(n))), Ok(n));
    }

    #[test]
    fn whole_amounts_fit_or_are_too_large(n in any::<u64>()) {
        let expected = n.checked_mul(1 << 10);
        prop_assert_eq!(parse_bytes(&format!("{n}KiB")).ok(), expected);
        prop_assert_eq!(parse_bytes(&format!("{n}B")), Ok(n));
    }

    #[test]
    fn a_share_is_the_same_in_both_notations(ppb in 0_u32..=WHOLE_PPB) {
        let (whole, part) = (ppb / WHOLE_PPB, ppb % WHOLE_PPB);
        prop_assert_eq!(parse_share(&format!("{whole}.{part:09}")), Ok(ppb));
        prop_assert_eq!(parse_share(&format!("{}.{:07}%", ppb / 10_000_000, ppb % 10_000_000)), Ok(ppb));
    }

    #[test]
    fn nothing_panics(text in ".{0,60}", number in "[0-9]{0,40}(\\.[0-9]{0,45})?(s|ms|%|p|kB|Gbit)?") {
        for text in [&text, &number] {
            for error in [
                parse_duration(text).err(),
                parse_rate(text).err(),
                parse_bytes(text).err(),
                parse_share(text).err(),
                parse_packets(text).err(),
            ].into_iter().flatten() {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
