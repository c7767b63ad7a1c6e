//! Building schedulers by name: every description is true, and errors name the bad input.

use plait_sched::registry::parameters;
use plait_sched::{Builtin, Capabilities, Duration, OPTIONS, RegistryError, SCHEDULERS, Scheduler, Value};

#[test]
fn descriptions_are_complete_and_true() {
    for (i, info) in SCHEDULERS.iter().enumerate() {
        assert!(SCHEDULERS[..i].iter().all(|other| other.name != info.name), "{} twice", info.name);
        assert!([info.title, info.summary, info.source].iter().all(|text| !text.is_empty()));
        let scheduler = Builtin::new(info.name, &[]).expect("defaults are valid");
        assert_eq!((scheduler.name(), scheduler.needs()), (info.name, info.needs));
        let own = |name| info.parameters.iter().any(|own| own.name == name);
        assert!(OPTIONS.iter().all(|option| !own(option.parameter.name)), "{}", info.name);
        for parameter in parameters(info) {
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
         intelligent-delivery-delay, dqs, redundant, blest, ecf, otias, sttf, linux-default, cheapest-first, weighted, srpt, sa-ecf, mp-dash, lamps, raven, musher, s-edpf, peekaboo, stms, xlink or plait (did you mean round-robin?)"
    );
    assert_eq!(
        message("round-robin", &[("segment", Value::Integer(1))]),
        "unknown parameter \"segment\" of scheduler round-robin: choose segments, cwnd_limited, \
         retransmission_penalization, penalization_interval, bufferbloat_mitigation, bufferbloat_lambda or rtt_error"
    );
    assert_eq!(
        message("lowest-rtt", &[("segments", Value::Integer(1))]),
        "unknown parameter \"segments\" of scheduler lowest-rtt: choose retransmission_penalization, \
         penalization_interval, bufferbloat_mitigation, bufferbloat_lambda or rtt_error"
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

/// A scheduler's state is per connection and may be large, but must allow a thousand connections.
/// The largest one, `plait`, remembers 1024 segments.
#[test]
fn a_scheduler_is_small() {
    assert!(size_of::<Builtin>() <= 24_576, "{} bytes", size_of::<Builtin>());
    assert_eq!(size_of::<Duration>(), 8);
}

const RP: &str = "retransmission_penalization";
const BM: &str = "bufferbloat_mitigation";

#[test]
fn suffixes_and_parameters_are_the_same_options() {
    const ON: Value<'_> = Value::Boolean(true);
    type Case = (&'static str, &'static [(&'static str, Value<'static>)], &'static str, Capabilities);
    let rp = Capabilities { reinject: true, penalize: true, ..Capabilities::NONE };
    let bm = Capabilities { limit: true, ..Capabilities::NONE };
    let both = Capabilities { limit: true, ..rp };
    let cases: [Case; 8] = [
        ("lowest-rtt", &[], "lowest-rtt", Capabilities::NONE),
        ("lowest-rtt", &[(RP, Value::Boolean(false))], "lowest-rtt", Capabilities::NONE),
        ("lowest-rtt+rp", &[], "lowest-rtt+rp", rp),
        ("lowest-rtt", &[(RP, ON)], "lowest-rtt+rp", rp),
        ("lowest-rtt+bm", &[("bufferbloat_lambda", Value::Integer(2))], "lowest-rtt+bm", bm),
        ("lowest-rtt", &[(BM, ON)], "lowest-rtt+bm", bm),
        ("lowest-rtt+bm+rp", &[], "lowest-rtt+rp+bm", both),
        ("lowest-rtt+bm", &[(RP, ON)], "lowest-rtt+rp+bm", both),
    ];
    for (name, given, shown, needs) in cases {
        let scheduler = Builtin::new(name, given).expect("valid");
        assert_eq!((scheduler.to_string().as_str(), scheduler.needs()), (shown, needs));
        assert_eq!(scheduler.name(), "lowest-rtt");
    }
}

#[test]
fn what_is_no_suffix_is_refused() {
    for (name, suffix) in
        [("daps+pr", "pr"), ("daps+", ""), ("daps+rp+", ""), ("daps++bm", ""), ("daps+RP", "RP")]
    {
        let expected = format!("unknown suffix \"+{suffix}\" of scheduler daps: choose rp or bm");
        assert_eq!(message(name, &[]), expected, "{name}");
    }
    let twice = "parameter retransmission_penalization of scheduler daps is given twice";
    assert_eq!(message("daps+rp+bm+rp", &[]), twice);
    assert_eq!(message("daps+rp", &[(RP, Value::Boolean(false))]), twice);
    assert!(message("dap+rp", &[]).starts_with("unknown scheduler \"dap+rp\": choose "));
    assert_eq!(
        message("daps", &[("bufferbloat_lambda", Value::Number(0.5))]),
        "parameter bufferbloat_lambda of scheduler daps is 0.5: it must be a number from 1 to 1000"
    );
}
