//! Amounts with units: a hand-worked table, and exact results for all values.

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
    assert_eq!(parse_share("100%"), Ok(WHOLE_PPB));
    assert_eq!(parse_share("0%"), Ok(0));
    assert_eq!(parse_packets("50p"), Ok(50));
}

/// Numbers that a program computed have more digits than the smallest unit.
#[test]
fn what_is_finer_than_the_smallest_unit_is_rounded() {
    assert_eq!(parse_duration("198.007536456ms"), Ok(Duration::from_nanos(198_007_536)));
    assert_eq!(parse_rate("6.90624207817Mbit"), Ok(6_906_242));
    assert_eq!(parse_duration("0.5ns"), Ok(Duration::from_nanos(1)));
    assert_eq!(parse_duration("1.4999999999999999999999999999ns"), Ok(Duration::from_nanos(1)));
    assert_eq!(parse_duration("1.5ns"), Ok(Duration::from_nanos(2)));
    assert_eq!(parse_bytes("35.12345678kB"), Ok(35_123));
    assert_eq!(parse_share("0.01234567891%"), Ok(123_457));
    assert_eq!(
        parse_duration("0.333333333333333333333333333333333333333333s"),
        parse_duration("333333333ns")
    );
    assert_eq!(parse_packets("50.000p"), Ok(50));
}

#[test]
fn what_is_wrong_is_said() {
    use UnitErrorKind::{
        Empty, Exponent, MissingUnit, Negative, NotANumber, NotWhole, TooLarge, TooSmall, UnknownUnit,
    };
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
        ("1e3s", Exponent),
        ("1E-3ms", Exponent),
        ("1es", UnknownUnit),
        ("1.2.3s", UnknownUnit),
        ("0.4ns", TooSmall),
        ("0.00000000000000000000000000000000000000000000000001s", TooSmall),
        ("18446744074s", TooLarge),
        ("99999999999999999999999999999999999999999999999999s", TooLarge),
    ] {
        assert_eq!(kind(parse_duration(text)), Some(expected), "{text:?}");
    }
    assert_eq!(kind(parse_share("0.5")), Some(MissingUnit));
    assert_eq!(kind(parse_share("0")), Some(MissingUnit));
    assert_eq!(kind(parse_share("100.1%")), Some(TooLarge));
    assert_eq!(kind(parse_share("0.00000001%")), Some(TooSmall));
    assert_eq!(kind(parse_packets("0.3p")), Some(NotWhole));
    assert_eq!(kind(parse_packets("1.0000000000000000000000001p")), Some(NotWhole));
    assert_eq!(kind(parse_packets("1.5p")), Some(NotWhole));
    assert_eq!(parse_duration("18446744073709551615ns"), Ok(Duration::MAX));
    assert_eq!(kind(parse_duration("18446744073709551616ns")), Some(TooLarge));
}

#[test]
fn messages_name_the_value_and_the_units() {
    let message = |error: UnitError| error.to_string();
    assert_eq!(
        message(parse_rate("5MBps").unwrap_err()),
        "rate \"5MBps\" has an unknown unit: write bit, kbit, Mbit, Gbit or Tbit"
    );
    assert_eq!(
        message(parse_packets("1.5p").unwrap_err()),
        "number of packets \"1.5p\" is not a multiple of 1p"
    );
    assert_eq!(message(parse_share("200%").unwrap_err()), "share \"200%\" is too large");
    assert_eq!(
        message(parse_share("5promille").unwrap_err()),
        "share \"5promille\" has an unknown unit: write %"
    );
    let long = "9".repeat(60);
    assert!(message(parse_bytes(&long).unwrap_err()).contains("9…\" has no unit"));
}

#[test]
fn what_was_meant_is_said() {
    let rate = |text| parse_rate(text).unwrap_err().to_string();
    for text in ["50Mbps", "50M", "50Mb", "50mbit", "50MBit", "50Mbit/s", "50Mb/s", "50 Mbit", "50Mbits/s"] {
        assert_eq!(rate(text), format!("rate \"{text}\" has an unknown unit: write 50Mbit"));
    }
    assert!(rate("1.5gbps").ends_with("write 1.5Gbit"));
    assert!(rate("800bps").ends_with("write 800bit"));
    assert!(
        rate("50/10Mbit").ends_with("write 50Mbit, and 10Mbit as the rate of the other direction"),
        "{}",
        rate("50/10Mbit")
    );
    // Without a unit, or in bytes, the meaning is unknown.
    for text in ["50", "50MB", "50MB/s", "50/", "50/10", "50µ", "50/Mbit"] {
        assert!(rate(text).ends_with("write bit, kbit, Mbit, Gbit or Tbit"), "{}", rate(text));
    }

    let duration = |text| parse_duration(text).unwrap_err().to_string();
    for (text, meant) in
        [("20msec", "20ms"), ("20 ms", "20ms"), ("1.5sec", "1.5s"), ("5\u{3bc}s", "5us"), ("2m", "2min")]
    {
        assert!(duration(text).ends_with(&format!("unit: write {meant}")), "{}", duration(text));
    }
    let size = |text| parse_bytes(text).unwrap_err().to_string();
    for (text, meant) in [("64KB", "64kB"), ("6M", "6MB"), ("6mib", "6MiB"), ("1500bytes", "1500B")] {
        assert!(size(text).ends_with(&format!("unit: write {meant}")), "{}", size(text));
    }
    assert!(parse_packets("50packets").unwrap_err().to_string().ends_with("write 50p"));
    assert_eq!(parse_packets("50").unwrap_err().to_string(), "number of packets \"50\" has no unit: write p");

    let share = |text| parse_share(text).unwrap_err().to_string();
    for (text, percent) in [
        ("0.5", "50"),
        ("0.05", "5"),
        ("0.002", "0.2"),
        ("0.0125", "1.25"),
        ("0.125", "12.5"),
        ("0.10", "10"),
        ("1", "100"),
    ] {
        let meant = format!("write {text}%, or {percent}% for that part of the whole");
        assert_eq!(share(text), format!("share \"{text}\" has no unit: {meant}"));
    }
    assert!(share("0").ends_with("write 0%"));
    assert!(share("1.5").ends_with("write 1.5%"));
    assert!(share("2 %").ends_with("write 2%"));
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
    fn shares_are_exact(ppb in 0_u32..=WHOLE_PPB) {
        prop_assert_eq!(parse_share(&format!("{}.{:07}%", ppb / 10_000_000, ppb % 10_000_000)), Ok(ppb));
    }

    /// The proposals in an error about a share can be parsed, and one of the two means the number
    /// itself.
    #[test]
    fn the_proposed_share_is_the_part_of_the_whole(ppb in 1_u32..WHOLE_PPB) {
        let error = parse_share(&format!("0.{ppb:09}")).unwrap_err().to_string();
        let meant = error.split(", or ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        prop_assert_eq!(parse_share(meant), Ok(ppb));
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
