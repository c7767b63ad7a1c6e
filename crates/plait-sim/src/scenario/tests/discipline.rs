//! The key `discipline`: short forms, precedence of tables, and errors.

use super::*;
use crate::link::discipline::{DISCIPLINES, Settings};

fn path(lines: &str) -> DuplexLink {
    let scenario = read(&format!("{SMALL}{lines}\n")).expect("a valid scenario");
    scenario.paths[0].wire.clone().expect("a wire")
}

fn shown(config: &LinkConfig) -> (Option<&'static str>, QueueLimit) {
    (config.discipline.map(|settings| settings.info().name), config.queue.first())
}

fn value(settings: &Settings, key: &str) -> u64 {
    settings.parameters().find(|(parameter, _)| parameter.key == key).expect("a parameter").1
}

#[test]
fn a_discipline_holds_for_both_directions_and_brings_its_limit() {
    let wire = path("");
    assert_eq!(shown(&wire.forward), (None, QueueLimit::Packets(10)));
    let wire = path("discipline = \"codel\"");
    assert_eq!(shown(&wire.forward), (Some("codel"), QueueLimit::Packets(1_000)));
    assert_eq!(shown(&wire.backward), (Some("codel"), QueueLimit::Packets(1_000)));
    let wire = path("discipline = \"fq-codel\"\nqueue = \"bdp\"\nbackward = { discipline = \"drop-tail\" }");
    assert_eq!(shown(&wire.forward), (Some("fq-codel"), QueueLimit::Packets(10)));
    assert_eq!(shown(&wire.backward), (None, QueueLimit::Packets(10)));
    let wire = path("forward = { discipline = \"codel\" }");
    assert_eq!(shown(&wire.forward), (Some("codel"), QueueLimit::Packets(1_000)));
    assert_eq!(shown(&wire.backward), (None, QueueLimit::Packets(10)));
}

#[test]
fn parameters_have_the_defaults_of_linux_and_take_others() {
    let wire = path("discipline = \"fq-codel\"");
    let settings = wire.forward.discipline.expect("active");
    for (key, expected) in [
        ("target", 5_000_000),
        ("interval", 100_000_000),
        ("quantum", 1_514),
        ("flows", 1_024),
        ("memory_limit", 32 << 20),
        ("drop_batch", 64),
        ("ecn", 1),
    ] {
        assert_eq!(value(&settings, key), expected, "{key}");
    }
    let given = "discipline = { name = \"codel\", target = \"20ms\", ecn = true }";
    let settings = path(given).forward.discipline.expect("active");
    let values = ["target", "interval", "ecn"].map(|key| value(&settings, key));
    assert_eq!(values, [20_000_000, 100_000_000, 1]);
}

#[test]
fn what_is_written_is_read_again() {
    for info in DISCIPLINES {
        let scenario = read(&format!("{SMALL}discipline = \"{}\"\n", info.name)).expect("valid");
        let written = scenario.to_json();
        assert_eq!(written["path"][0]["forward"]["discipline"]["name"], info.name);
        let again = Scenario::from_json(&written.to_string(), "s.json", Path::new("/nonexistent"));
        assert_eq!(again.as_ref(), Ok(&scenario));
    }
}

#[test]
fn errors_name_the_choices() {
    for (line, expected) in [
        (
            "discipline = \"fq_codel\"",
            "path[0].discipline = \"fq_codel\": unknown (did you mean fq-codel? valid: drop-tail, codel, fq-codel)",
        ),
        (
            "discipline = { name = \"coddle\" }",
            "path[0].discipline.name: \"coddle\": unknown (did you mean codel? valid: drop-tail, codel, fq-codel)",
        ),
        ("discipline = { target = \"5ms\" }", "path[0].discipline: name is missing"),
        (
            "discipline = { name = \"codel\", quantum = \"300B\" }",
            "path[0].discipline.quantum: unknown key (valid: name, target, interval, ecn)",
        ),
        (
            "discipline = { name = \"fq-codel\", target = \"5\" }",
            "path[0].discipline.target = \"5\": duration has no unit: write ns, us, µs, ms, s or min",
        ),
        (
            "discipline = { name = \"fq-codel\", flows = 0 }",
            "path[0].discipline.flows = 0: must be from 1 to 65536",
        ),
        (
            "discipline = { name = \"drop-tail\", ecn = true }",
            "path[0].discipline: drop-tail has no parameters",
        ),
        (
            "discipline = 5",
            "path[0].discipline = 5: expected a discipline's name such as \"codel\", or a table with name and parameters, \
             got an integer",
        ),
        (
            "discipline = \"codel\"\nqueue = \"100ms\"",
            "path[0].forward.queue: a longest wait limits no codel: give packets or a size",
        ),
    ] {
        assert_eq!(refused(&format!("{SMALL}{line}\n")), format!("s.toml: {expected}"));
    }
}
