//! Errors of links, flows and steps.

use super::errors::nameless;
use super::*;

/// The tests of [`errors_name_the_place_the_value_and_the_choices`] for links, flows and steps.
#[test]
fn errors_of_links_and_flows_name_the_choices() {
    for (from, to, expected) in [
        (
            "links = [\"radio\", \"core\"]",
            "links = [\"radio\", \"cor\"]",
            "path[2].links[1] = \"cor\": unknown link (did you mean core? valid: radio, core)",
        ),
        (
            "links = [\"radio\", \"core\"]",
            "links = [\"radio\", \"radio\"]",
            "path[2].links[1] = \"radio\": it is in the list already",
        ),
        (
            "links = [\"radio\", \"core\"]",
            "links = \"radio\"",
            "path[2].links = \"radio\": expected a list of links' names, got a string",
        ),
        (
            "links = [\"radio\", \"core\"]",
            "links = [\"radio\", \"core\"]\nqueue = \"5p\"",
            "path[2]: rtt or delay is missing",
        ),
        (
            "links = [\"radio\", \"core\"]",
            "links = [\"core\"]",
            "path[2]: none of its links has a backward direction, and it has no wire of its own",
        ),
        ("name = \"core\"", "name = \"radio\"", "link[1]: its name, \"radio\", is that of link[0] already"),
        ("name = \"core\"\n", "", "link[1]: name is missing"),
        (
            "name = \"core\"\nforward = {",
            "name = \"core\"\nfroward = {",
            "link[1].froward: unknown key (did you mean forward? valid: name, rate, rate_steps, delay_steps, loss_steps, queue_steps, repeat, delay, queue, discipline, loss, duplicate, jitter, reorder, outages, trace, forward, backward)",
        ),
        (
            "forward = { rate = \"10Mbit\", delay = \"6ms\", queue = \"bdp\" }",
            "",
            "link[1]: rate, trace, or a table forward or backward is missing",
        ),
        ("{ rate = \"10Mbit\", ", "{ ", "link[1].forward: rate or trace is missing"),
        (
            "{ at = \"10s\", rate = \"500kbit\" }",
            "{ at = \"12s\", rate = \"500kbit\" }",
            "link[0].rate_steps[1].at = \"12s\": is not later than the step before it: list them in order",
        ),
        (
            "{ at = \"10s\", rate = \"500kbit\" }",
            "{ at = \"0s\", rate = \"500kbit\" }",
            "link[0].rate_steps[0].at = \"0s\": must be from 1ns to 1000000s",
        ),
        (
            "{ at = \"10s\", rate = \"500kbit\" }",
            "{ at = \"10s\" }",
            "link[0].rate_steps[0]: rate is missing",
        ),
        (
            "repeat = \"30s\"",
            "repeat = \"12s\"",
            "link[0].repeat = \"12s\": must be later than the last step, at 12s",
        ),
        (
            "rate_steps = [{ at = \"10s\", rate = \"500kbit\" }, { at = \"12s\", rate = \"8Mbit\" }]",
            "",
            "link[0].repeat = \"30s\": there are no steps to repeat",
        ),
        (
            "[{ at = \"10s\", rate = \"500kbit\" }, { at = \"12s\", rate = \"8Mbit\" }]",
            "[]",
            "link[0].rate_steps = [list of 0]: a list has 1 to 100000 steps",
        ),
        (
            "rate = \"4Mbit\"\n",
            "",
            "link[0].rate_steps = [list of 2]: there is no rate to begin with: give the rate before the first step too",
        ),
        ("kind = \"tcp\"\n", "", "flow[0]: kind is missing"),
        (
            "kind = \"tcp\"",
            "kind = \"udp\"",
            "flow[0].kind = \"udp\": unknown (valid: tcp, multipath, cbr, on-off)",
        ),
        (
            "size = \"10MB\"",
            "rate = \"10Mbit\"",
            "flow[0].rate: unknown key (valid: name, kind, path, links, direction, start, stop, size, congestion_control)",
        ),
        (
            "congestion_control = \"cubic\"",
            "congestion_control = \"lia\"",
            "flow[0].congestion_control = \"lia\": it couples paths, and this flow has one (valid: newreno, cubic, bbr)",
        ),
        (
            "congestion_control = \"cubic\"",
            "congestion_control = \"cubicc\"",
            "flow[0].congestion_control = \"cubicc\": unknown (did you mean cubic? valid: newreno, cubic, bbr)",
        ),
        (
            "kind = \"multipath\"",
            "kind = \"multipath\"\ncongestion_control = \"cubic\"",
            "flow[1].congestion_control = \"cubic\": cmt-sctp has newreno only (the others: mptcp, tcp and mpquic)",
        ),
        ("links = [\"radio\"]\n", "", "flow[0]: path or links is missing"),
        (
            "links = [\"radio\"]\n",
            "links = [\"radio\"]\npath = \"fast\"\n",
            "flow[0].path = \"fast\": path and links exclude each other: give one of them",
        ),
        (
            "path = \"fast\"",
            "path = \"fsat\"",
            "flow[2].path = \"fsat\": unknown path (valid: fast, slow, shared)",
        ),
        (
            "path = \"fast\"",
            "links = [\"core\"]\ndirection = \"backward\"",
            "flow[2]: none of its links has a backward direction, and it has no wire of its own",
        ),
        (
            "paths = [\"slow\", \"shared\"]",
            "paths = []",
            "flow[1].paths = [list of 0]: name at least one path, or leave the key out",
        ),
        (
            "name = \"download\"",
            "name = \"flow2\"",
            "flow[1]: its name, \"flow2\", is that of flow[0] already",
        ),
        ("stop = \"50s\"", "stop = \"2s\"", "flow[0].stop = \"2s\": must be later than start, 2s"),
        (
            "start = \"2s\"",
            "start = \"100s\"",
            "flow[0].start = \"100s\": must be before the end of the run, 100s",
        ),
        (
            "direction = \"backward\"",
            "direction = \"back\"",
            "flow[1].direction = \"back\": unknown (valid: forward, backward)",
        ),
        (
            "rate = \"64kbit\"\npacket = \"200B\"",
            "rate = \"1Tbit\"\npacket = \"1B\"",
            "flow[2].rate = \"1Tbit\": packets must be at least 1ns apart: larger packets or a lower rate",
        ),
        ("on = \"300ms\"", "on = \"999ns\"", "flow[3].on = \"999ns\": must be from 1us to 1000000s"),
        (
            "shape = 1.9",
            "shape = 1",
            "flow[3].shape = 1: must be more than 1, or there is no mean, and at most 1000",
        ),
        (
            "shape = 1.9",
            "shape = nan",
            "flow[3].shape = nan: must be more than 1, or there is no mean, and at most 1000",
        ),
        (
            "distribution = \"pareto\"\n",
            "",
            "flow[3].shape = 1.9: only distribution = \"pareto\" has a shape",
        ),
    ] {
        assert!(FULL.contains(from), "{from}");
        let error = refused(&FULL.replacen(from, to, 1));
        assert_eq!(nameless(&error), format!("s.toml: {expected}"));
    }
    let unused = format!("{SMALL}[[link]]\nname = \"core\"\nrate = \"1Mbit\"\n");
    assert_eq!(
        refused(&unused),
        "s.toml: link[0] (core): no path or flow names the link \"core\": name it or remove it"
    );
    let instant = format!("[[path]]\nlinks = [\"core\"]\n{}", &unused[SMALL.len()..]);
    assert_eq!(
        refused(&instant),
        "s.toml: path[0]: the delays of both directions, those of its links included, are zero; one must be more"
    );
    let looped = format!("{unused}[[flow]]\nkind = \"tcp\"\nlinks = [\"core\"]\n");
    assert_eq!(refused(&looped), "s.toml: flow[0]: the delays of its links are zero; one must be more");
    let none = format!("{SMALL}links = [\"core\"]\n");
    assert_eq!(refused(&none), "s.toml: path[0].links[0] = \"core\": unknown link (there is no [[link]])");
}
