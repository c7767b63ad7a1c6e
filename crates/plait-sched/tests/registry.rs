//! Building schedulers by name: every description is true, and bad input is refused by name.

use plait_sched::{Builtin, Duration, RegistryError, SCHEDULERS, Scheduler, Value};

#[test]
fn descriptions_are_complete_and_true() {
    for (i, info) in SCHEDULERS.iter().enumerate() {
        assert!(SCHEDULERS[..i].iter().all(|other| other.name != info.name), "{} twice", info.name);
        assert!([info.title, info.summary, info.source].iter().all(|text| !text.is_empty()));
        let scheduler = Builtin::new(info.name, &[]).expect("defaults are valid");
        assert_eq!((scheduler.name(), scheduler.needs()), (info.name, info.needs));
        for parameter in info.parameters {
            assert!(parameter.domain.contains(&parameter.default), "{}.{}", info.name, parameter.name);
            let given = [(parameter.name, parameter.default)];
            assert!(Builtin::new(info.name, &given).is_ok());
        }
    }
}

fn message(name: &str, given: &[(&str, Value<'_>)]) -> String {
    Builtin::new(name, given).expect_err("bad input").to_string()
}

#[test]
fn errors_name_the_value_and_the_choices() {
    assert_eq!(
        message("rr", &[]),
        "unknown scheduler \"rr\": choose round-robin, lowest-rtt, daps, daps-rounds, delivery-delay, \
         intelligent-delivery-delay, dqs or redundant"
    );
    assert_eq!(
        message("round-robin", &[("segment", Value::Integer(1))]),
        "unknown parameter \"segment\" of scheduler round-robin: choose segments or cwnd_limited"
    );
    assert_eq!(
        message("lowest-rtt", &[("segments", Value::Integer(1))]),
        "unknown parameter \"segments\" of scheduler lowest-rtt: it has none"
    );
    assert_eq!(
        message("round-robin", &[("segments", Value::Integer(0))]),
        "parameter segments of scheduler round-robin is 0: it must be a whole number from 1 to 1000000"
    );
    assert_eq!(
        message("daps", &[("fast_limit", Value::Text("literally"))]),
        "parameter fast_limit of scheduler daps is \"literally\": it must be \"reserved\" or \"outstanding\" or \"literal\""
    );
    assert_eq!(
        message("daps", &[("guard", Value::Boolean(true)), ("guard", Value::Boolean(true))]),
        "parameter guard of scheduler daps is given twice"
    );
}

#[test]
fn types_are_checked_before_sizes() {
    let error = |value| Builtin::new("daps", &[("guard_asymmetry", value)]).err();
    assert!(error(Value::Integer(3)).is_none(), "a whole number is a number");
    for (value, expected) in [
        (Value::Number(0.5), false),
        (Value::Number(f64::NAN), false),
        (Value::Number(f64::INFINITY), false),
        (Value::Text("2"), true),
        (Value::Boolean(true), true),
    ] {
        assert!(
            matches!(error(value), Some(RegistryError::BadValue { wrong_type, .. }) if wrong_type == expected)
        );
    }
    assert!(Builtin::new("round-robin", &[("segments", Value::Number(2.0))]).is_err());
}

/// A scheduler's state is per connection and may be large, but not so large that nobody can have a thousand.
#[test]
fn a_scheduler_is_small() {
    assert!(size_of::<Builtin>() <= 2_048, "{} bytes", size_of::<Builtin>());
    assert_eq!(size_of::<Duration>(), 8);
}
