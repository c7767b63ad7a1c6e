//! Errors and their texts: the place, the value and the choices.

use super::*;

/// An error without the name of the entry, for tests of the place.
pub(super) fn nameless(error: &str) -> String {
    let names = [" (fast)", " (slow)", " (shared)", " (radio)", " (core)", " (download)"];
    names.iter().fold(error.to_owned(), |text, name| text.replacen(name, "", 1))
}

#[test]
fn errors_name_the_entry_behind_its_place() {
    for (from, to, expected) in [
        ("\"2Mbit\"", "\"0bit\"", "path[1].rate (slow) = \"0bit\": must be from 1bit to 1000Gbit"),
        ("rtt = \"20ms\"", "", "path[0] (fast): rtt or delay is missing"),
        ("cost = 3", "costs = 3", "path[1].costs (slow): unknown key (did you mean cost? valid: "),
        ("stop = \"50s\"", "stop = \"2s\"", "flow[0].stop (download) = \"2s\": must be later than start, 2s"),
        (
            "name = \"core\"",
            "name = \"radio\"",
            "link[1] (radio): its name, \"radio\", is that of link[0] already",
        ),
        // An invalid name is not repeated.
        ("name = \"core\"", "name = \"\"", "link[1].name = \"\": a name has 1 to 200 characters"),
    ] {
        assert!(FULL.contains(from), "{from}");
        let error = refused(&FULL.replacen(from, to, 1));
        assert!(error.starts_with(&format!("s.toml: {expected}")), "{error}");
    }
}

#[test]
fn a_number_that_is_too_large_for_toml_is_said_to_be() {
    let error = refused(&format!("seed = 99999999999999999999999\n{SMALL}"));
    let expected = "expected a whole number up to 9223372036854775807: 99999999999999999999999";
    assert_eq!(error, format!("s.toml: line 1, column 8: {expected}"));
}

#[test]
fn a_name_of_another_system_leads_to_the_one_here() {
    for (name, meant) in [
        ("minrtt", "lowest-rtt"),
        ("minRTT", "lowest-rtt"),
        ("rr", "round-robin"),
        ("default", "linux-default"),
    ] {
        let error = refused(&format!("scheduler = \"{name}\"\n{SMALL}"));
        assert!(error.ends_with(&format!("(did you mean {meant}?)")), "{error}");
        assert_eq!(error.matches("did you mean").count(), 1);
    }
}

/// Each entry: a text of the full example, its replacement, and the whole error without its file.
#[test]
fn errors_name_the_place_the_value_and_the_choices() {
    let wrong = |from: &str, to: &str| {
        assert!(FULL.contains(from), "{from}");
        refused(&FULL.replacen(from, to, 1))
    };
    for (from, to, expected) in [
        (
            r#""2Mbit""#,
            r#""2Mbitt""#,
            r#"path[1].rate = "2Mbitt": rate has an unknown unit: write bit, kbit, Mbit, Gbit or Tbit"#,
        ),
        (
            r#""2Mbit""#,
            "2000000",
            "path[1].rate = 2000000: expected a rate such as \"10Mbit\", got an integer",
        ),
        (r#""2Mbit""#, r#""0bit""#, r#"path[1].rate = "0bit": must be from 1bit to 1000Gbit"#),
        (
            r#""2Mbit""#,
            r#""-2Mbit""#,
            r#"path[1].rate = "-2Mbit": rate is negative: write a number from 0 and one of bit, kbit, Mbit, Gbit or Tbit"#,
        ),
        (r#""2Mbit""#, r#""2Tbit""#, r#"path[1].rate = "2Tbit": must be from 1bit to 1000Gbit"#),
        (
            r#""2Mbit""#,
            r#""99999999999999999999999Gbit""#,
            r#"path[1].rate = "99999999999999999999999Gbit": rate is too large"#,
        ),
        (
            "rtt = \"20ms\"",
            "rtt = 20",
            "path[0].rtt = 20: expected a duration such as \"20ms\", got an integer",
        ),
        (
            "rtt = \"20ms\"",
            "rtt = nan",
            "path[0].rtt = nan: expected a duration such as \"20ms\", got a float",
        ),
        (
            "rtt = \"20ms\"",
            "rtt = \"20ms\"\ndelay = \"10ms\"",
            "path[0].rtt = \"20ms\": rtt and delay exclude each other: give one of them",
        ),
        (
            "rtt = \"20ms\"",
            "rtt = \"20ms\"\nbackward = { delay = \"10ms\" }",
            "path[0].rtt = \"20ms\": rtt and backward.delay exclude each other: give one of them",
        ),
        ("rtt = \"20ms\"", "", "path[0]: rtt or delay is missing"),
        ("rtt = \"20ms\"", "forward = { delay = \"1ms\" }", "path[0].backward: delay is missing"),
        (
            "rtt = \"20ms\"",
            "rtt = \"0ms\"",
            "path[0]: the delays of both directions are zero; one must be more",
        ),
        ("rtt = \"20ms\"", "rtt = \"1000001s\"", "path[0].rtt = \"1000001s\": must be from 0s to 1000000s"),
        ("rate = \"1Mbit\"", "", "path[0].forward: rate or trace is missing"),
        (
            "rate = \"1Mbit\"",
            "links = []",
            "path[0].links = [list of 0]: name at least one link, or leave the key out",
        ),
        (
            "rate = \"1Mbit\"",
            "bandwith = \"1Mbit\"",
            "path[0].bandwith: unknown key (valid: name, rate, rate_steps, delay_steps, loss_steps, queue_steps, repeat, rtt, delay, queue, discipline, loss, duplicate, jitter, reorder, outages, trace, forward, backward, links, backup, cost, weight)",
        ),
        ("name = \"slow\"", "name = \"fast\"", "path[1]: its name, \"fast\", is that of path[0] already"),
        (
            "name = \"slow\"",
            "name = \"\"",
            "path[1].name = \"\": a name has 1 to 200 characters, and no control characters",
        ),
        ("cost = 3", "cost = -3", "path[1].cost = -3: must be from 0 to 4294967295"),
        ("cost = 3", "weight = 0", "path[1].weight = 0: must be from 1 to 65535"),
        (
            "backup = true",
            "backup = \"yes\"",
            "path[1].backup = \"yes\": expected true or false, got a string",
        ),
        ("loss = \"0.2%\"", "loss = \"101%\"", "path[1].forward.loss = \"101%\": must be from 0% to 100%"),
        (
            "loss = \"0.2%\"",
            "loss = 0.002",
            "path[1].forward.loss = 0.002: expected a share such as \"0.2%\", or a table with a model, got a float",
        ),
        (
            "to_good = \"25%\"",
            "to_good = \"0%\"",
            "path[0].loss.to_good = \"0%\": must be more than 0%, or the bad state would last for ever",
        ),
        (
            "to_good = \"25%\"",
            "r = 1",
            "path[0].loss.r: unknown key (valid: model, to_bad, to_good, good_loss, bad_loss)",
        ),
        (
            "\"gilbert-elliott\"",
            "\"gilbert-eliott\"",
            "path[0].loss.model = \"gilbert-eliott\": unknown (did you mean gilbert-elliott? valid: bernoulli, gilbert-elliott)",
        ),
        ("model = \"gilbert-elliott\", ", "", "path[0].loss: model is missing"),
        ("to = \"12s\"", "to = \"10s\"", "path[0].outages[0].to = \"10s\": must be later than from"),
        (
            "from = \"20s\"",
            "from = \"11s\"",
            "path[0].outages[1].from = \"11s\": begins before the previous outage ends: list them in order, apart",
        ),
        (
            "length = \"100ms\"",
            "length = \"30s\"",
            "path[1].outages.length = \"30s\": must be less than every, 30s",
        ),
        (
            "\"bdp\"",
            "\"big\"",
            "path[1].queue = \"big\": expected packets such as \"50p\", a size such as \"64kB\", a longest wait such as \"100ms\", \"bdp\" or \"infinite\"",
        ),
        ("\"bdp\"", "\"1.5p\"", "path[1].queue = \"1.5p\": number of packets is not a multiple of 1p"),
        ("\"bdp\"", "\"0p\"", "path[1].queue = \"0p\": must be from 1p to 1000000000000p"),
        ("\"bdp\"", "\"1499B\"", "path[1].queue = \"1499B\": must be from 1500B, one packet, to 1000000GB"),
        ("\"bdp\"", "\"0ms\"", "path[1].queue = \"0ms\": must be from 1ns to 1000000s"),
        ("amount = \"1ms\", ", "", "path[1].backward.jitter: amount is missing"),
        (
            "protocol =",
            "protocl =",
            "transport.protocl: unknown key (did you mean protocol? valid: protocol, profile, congestion_control, initial_window, receive_buffer, send_buffer, packet, ack_every, ack_delay, initial_ssthresh, grow_in_recovery, max_burst, rto_initial, rto_min, rto_max, path_max_retransmissions, association_max_retransmissions, potentially_failed, hystart, handshake, initial_path, timestamp_granularity, clock_offset, ecn)",
        ),
        (
            "\"cmt-sctp\"",
            "\"sctp\"",
            "transport.protocol = \"sctp\": unknown (valid: cmt-sctp, mptcp, tcp, mpquic)",
        ),
        (
            "\"newreno\"",
            "\"cubic\"",
            "transport.congestion_control = \"cubic\": cmt-sctp has newreno only (the others: mptcp, tcp and mpquic)",
        ),
        (
            "\"newreno\"",
            "\"reno\"",
            "transport.congestion_control = \"reno\": unknown (valid: newreno, cubic, lia, olia, balia, bbr)",
        ),
        ("\"35kB\"", "\"1499B\"", "transport.receive_buffer = \"1499B\": must be from 1500B to 1000000GB"),
        (
            "\"64KiB\"",
            "\"none\"",
            "transport.send_buffer = \"none\": size is not a decimal number with a unit, one of B, kB, MB, GB, KiB, MiB or GiB",
        ),
        ("\"1500B\"", "\"48B\"", "transport.packet = \"48B\": must be from 53B to 65535B"),
        ("ack_every = 2", "ack_every = 0", "transport.ack_every = 0: must be from 1 to 255"),
        (
            "ack_every = 2",
            "rto_initial = \"100ms\"",
            "transport.rto_initial = \"100ms\": must be from rto_min 1s to rto_max 60s",
        ),
        ("kind = \"cbr\"", "kind = \"on-off\"", "workload: on is missing"),
        ("kind = \"cbr\"", "kind = \"bulk\"", "workload.block: unknown key (valid: kind, start)"),
        ("kind = \"cbr\"\n", "", "workload: kind is missing"),
        ("block = \"8kB\"\n", "", "workload: block is missing"),
        ("block = \"8kB\"", "block = \"0B\"", "workload.block = \"0B\": must be from 1B to 1000000GB"),
        (
            "block = \"8kB\"",
            "block = \"8kB\"\ndeadline = \"0s\"",
            "workload.deadline = \"0s\": must be from 1ns to 1000000s",
        ),
        (
            "rate = \"500kbit\"\nblock = \"8kB\"",
            "rate = \"1Tbit\"\nblock = \"1B\"",
            "workload.rate = \"1Tbit\": blocks must be at least 1ns apart: larger blocks or a lower rate",
        ),
        ("warmup = \"10s\"", "warmup = \"100s\"", "warmup = \"100s\": must be less than the duration, 100s"),
        (
            "duration = \"100s\"",
            "duration = \"20000min\"",
            "duration = \"20000min\": must be from 1ns to 1000000s",
        ),
        (
            "duration = \"100s\"",
            "duration = 1979-05-27",
            "duration = 1979-05-27: expected a duration such as \"20ms\", got a datetime",
        ),
        ("seed = 7", "seed = -1", "seed = -1: must be from 0 to 9223372036854775807"),
        (
            "seed = 7",
            "flows = []",
            "flows: unknown key (did you mean flow? valid: name, seed, duration, warmup, scheduler, transport, workload, path, link, flow)",
        ),
        (
            "seed = 7",
            "\"\\n\" = 1",
            "\"\\n\": unknown key (valid: name, seed, duration, warmup, scheduler, transport, workload, path, link, flow)",
        ),
        (
            "segments = 10",
            "segments = []",
            "scheduler: parameter \"segments\" is [list of 0]: no parameter takes that",
        ),
        ("name = \"round-robin\", ", "", "scheduler: name is missing"),
        (
            "{ name = \"round-robin\", segments = 10 }",
            "5",
            "scheduler = 5: expected a scheduler's name, or a table with name and parameters, got an integer",
        ),
        ("[transport]", "[transport", "line 8, column 11: unclosed table, expected `]`"),
    ] {
        assert_eq!(nameless(&wrong(from, to)), format!("s.toml: {expected}"));
    }
}

#[test]
fn json_is_refused_like_toml() {
    let refused =
        |text: &str| Scenario::from_json(text, "s.json", Path::new(".")).expect_err(text).to_string();
    assert_eq!(refused("[]"), "s.json: expected an object, got array");
    assert_eq!(refused("{"), "s.json: line 1, column 1: EOF while parsing an object");
    assert_eq!(refused(r#"{"seed": 1, "seed": 2}"#), "s.json: line 1, column 18: duplicate key: `seed`");
    assert_eq!(
        refused(r#"{"seeed": 1}"#),
        "s.json: seeed: unknown key (did you mean seed? valid: name, seed, duration, warmup, scheduler, transport, workload, path, link, flow)"
    );
    for text in [r#"{"seed": null}"#, r#"{"seed": 18446744073709551615}"#, r#"{"seed": 1e400}"#] {
        assert!(refused(text).starts_with("s.json: line 1, column "), "{}", refused(text));
    }
}

#[test]
fn absurdly_deep_or_large_texts_are_refused() {
    let deep = |count: usize| {
        [
            format!("a = {}", "[".repeat(count)),
            format!("a = {}", "{ a = ".repeat(count)),
            format!("[{}a]", "a.".repeat(count)),
            format!("{}a = 1", "a.".repeat(count)),
            format!("seed = {}", "9".repeat(count)),
            format!("path = [{}]", "{},".repeat(count)),
            "[[path]]\n".repeat(count),
        ]
    };
    for text in deep(100).iter().chain(&deep(100_000)) {
        let error = refused(text);
        assert!(error.chars().count() < 600, "{error}");
    }
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let text = format!(r#"{{"path": {}1{}}}"#, open.repeat(100_000), close.repeat(100_000));
        assert!(Scenario::from_json(&text, "s.json", Path::new(".")).is_err());
    }
}
