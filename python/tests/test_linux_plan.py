import json
from pathlib import Path
from typing import Any

import pytest

from plait import _core
from plait.engines import Refused
from plait.linux import refusals, topology, transport, wire
from plait.linux.guest.content import CHUNK, Content
from plait.linux.guest.pace import moments
from plait.linux.guest.plan import NAMESPACES, Plan, Source
from plait.linux.plan import make_plan
from plait.linux.topology import Route

GOLDEN = Path(__file__).parent / "golden"
MS = 1_000_000


def scenario(**changes: Any) -> dict[str, Any]:
    """Builds a scenario: two paths, MPTCP as in the RFCs.

    A change replaces a whole table or adds to [transport].
    """
    given = changes.pop("transport", {})
    own = {} if "protocol" in given else {"protocol": "mptcp", "profile": "standard"}
    transport = {**own, **given}
    paths = [
        {"name": "fast", "rate": "10Mbit", "rtt": "20ms", "queue": "50p"},
        {"name": "slow", "rate": "5Mbit", "rtt": "100ms", "loss": "0.5%", "queue": "64kB"},
    ]
    return {
        "name": "two",
        "duration": "10s",
        "scheduler": "round-robin",
        "transport": transport,
        "path": paths,
    } | changes


def job(table: dict[str, Any]) -> _core.Job:
    return _core.Job(_core.Scenario(json.dumps(table), "two", ".", format="json"))


def plan(**changes: Any) -> Plan:
    return make_plan(job(scenario(**changes)))


def with_path(**keys: Any) -> dict[str, Any]:
    table = scenario()
    table["path"][1] |= keys
    return {"path": table["path"]}


CROSSING: dict[str, Any] = {
    "transport": {
        "ack_every": 2,
        "congestion_control": "cubic",
        "send_buffer": "200kB",
        "initial_path": "two",
    },
    "scheduler": {"name": "daps+rp", "guard_asymmetry": 1.5, "guard": True},
    "workload": {"kind": "cbr", "rate": "4Mbit", "block": "5000B", "start": "1s", "stop": "9s"},
    "path": [
        {
            "name": "one",
            "rate": "20Mbit",
            "rtt": "20ms",
            "queue": "50p",
            "jitter": "3ms",
            "outages": [{"from": "3s", "to": "5s"}],
            "links": ["middle"],
            "backup": True,
        },
        {"name": "two", "links": ["middle", "last"]},
    ],
    "link": [
        {"name": "middle", "rate": "12Mbit", "delay": "5ms", "queue": "100ms"},
        {
            "name": "last",
            "forward": {
                "rate": "8Mbit",
                "rate_steps": [{"at": "2s", "rate": "3Mbit"}],
                "repeat": "4s",
                "delay": "5ms",
                "queue": "50p",
            },
            "backward": {"rate": "1Mbit", "queue": "infinite", "jitter": {"amount": "2ms", "reorder": True}},
        },
    ],
    "flow": [
        {"kind": "tcp", "links": ["middle"], "size": "1MB", "start": "500ms"},
        {"kind": "on-off", "path": "two", "rate": "2Mbit", "on": "2s", "off": "1s", "direction": "backward"},
    ],
}
CHANGING: dict[str, Any] = {
    "path": [
        {
            "name": "satellite",
            "rate": "20Mbit",
            "delay": "30ms",
            "queue": "50p",
            "loss": "1%",
            "jitter": {"amount": "3ms", "distribution": "normal"},
            "delay_steps": [{"at": "2s", "delay": "50ms"}, {"at": "4s", "delay": "20ms"}],
            "loss_steps": [{"at": "2s", "loss": "0%"}, {"at": "3s", "loss": "2%"}],
            "queue_steps": [{"at": "1s", "queue": "20p"}],
            "rate_steps": [{"at": "2s", "rate": "10Mbit"}],
            "outages": [{"from": "3500ms", "to": "4500ms"}],
            "forward": {"duplicate": "1%"},
            "repeat": "6s",
        },
        {
            "name": "handover",
            "rate": "8Mbit",
            "delay": "0ms",
            "backward": {"delay": "10ms"},
            "delay_steps": [{"at": "5s", "delay": "40ms"}, {"at": "7s", "delay": "0ms"}],
            "reorder": True,
        },
        {
            "name": "codel",
            "rate": "8Mbit",
            "delay": "10ms",
            "discipline": "codel",
            "rate_steps": [{"at": "3s", "rate": "4Mbit"}],
            "outages": [{"from": "3s", "to": "5s"}],
        },
    ],
}
PLANS: dict[str, dict[str, Any]] = {"two-paths": {}, "crossing": CROSSING, "changing": CHANGING}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_what_it_was(name: str) -> None:
    """Compares a plan with its golden file.

    After an intended change: delete the file, run the test twice, and check the difference.
    """
    found, file = plan(**PLANS[name]), GOLDEN / f"plan-{name}.json"
    if not file.exists():
        file.write_text(found.to_json() + "\n", encoding="utf-8")
        pytest.fail(f"{file.name} was not there and has been written")
    assert json.loads(found.to_json()) == json.loads(file.read_text(encoding="utf-8"))
    assert Plan.from_json(found.to_json()) == found


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "cmt-sctp": ({"transport": {"protocol": "cmt-sctp"}}, 'transport.protocol = "cmt-sctp"'),
    "mpquic": ({"transport": {"protocol": "mpquic"}}, 'transport.protocol = "mpquic"'),
    "lia": ({"transport": {"congestion_control": "lia"}}, 'transport.congestion_control = "lia"'),
    "olia": ({"transport": {"congestion_control": "olia"}}, "newreno, cubic"),
    "balia": ({"transport": {"congestion_control": "balia"}}, "uncoupled"),
    "hystart": ({"transport": {"hystart": True}}, "transport.hystart = true"),
    "ack-every": ({"transport": {"ack_every": 3}}, "transport.ack_every = 3"),
    "ack-delay": ({"transport": {"ack_delay": "100ms"}}, 'transport.ack_delay = "100ms"'),
    "ssthresh": ({"transport": {"initial_ssthresh": "64kB"}}, "transport.initial_ssthresh"),
    "grow": ({"transport": {"grow_in_recovery": True}}, "transport.grow_in_recovery = true"),
    "burst": ({"transport": {"max_burst": 4}}, "transport.max_burst = 4"),
    "rto-initial": ({"transport": {"rto_initial": "3s"}}, "transport.rto_initial"),
    "rto-max": ({"transport": {"rto_max": "10s"}}, "transport.rto_max"),
    "path-retries": (
        {"transport": {"path_max_retransmissions": 2}},
        "transport.path_max_retransmissions = 2",
    ),
    "retries": (
        {"transport": {"association_max_retransmissions": 2}},
        "transport.association_max_retransmissions = 2",
    ),
    "failed": ({"transport": {"potentially_failed": True}}, "transport.potentially_failed = true"),
    "handshake": ({"transport": {"handshake": False}}, "transport.handshake = false"),
    "granularity": ({"transport": {"timestamp_granularity": "1us"}}, "transport.timestamp_granularity"),
    "offset": ({"transport": {"clock_offset": "-20ms"}}, "transport.clock_offset"),
    "rtt-error": ({"scheduler": {"name": "daps", "rtt_error": 0.1}}, "scheduler.rtt_error = 0.1"),
    "backup": ({**with_path(backup=True), "transport": {"initial_path": "slow"}}, "path[1].backup = true"),
    "paths": ({"path": [{"rate": "1Mbit", "rtt": "20ms"}] * 9}, "path = 9"),
    "multipath": ({"flow": [{"kind": "multipath"}]}, 'flow[0].kind = "multipath"'),
    "datagram": (
        {"flow": [{"kind": "cbr", "path": "fast", "rate": "1Mbit", "packet": "9kB"}]},
        'flow[0].packet = "9kB"',
    ),
    "correlated-jitter": (
        with_path(jitter={"amount": "1ms", "correlation": "20%"}),
        'path[1].forward.jitter.correlation = "20%"',
    ),
    "correlated-copies": (
        with_path(duplicate={"share": "1%", "correlation": "20%"}),
        'path[1].forward.duplicate.correlation = "20%"',
    ),
    "reorder": (
        with_path(discipline="codel", queue="50p", reorder=True),
        "path[1].forward.reorder = true",
    ),
    "many-steps": (with_path(rate_steps=[{"at": "1us", "rate": "1Mbit"}], repeat="2us"), "100000 changes"),
    "many-outages": (with_path(outages={"every": "2us", "length": "1us"}), "50000"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_the_kernel_cannot_do_is_refused_by_name(case: tuple[dict[str, Any], str]) -> None:
    changes, words = case
    table = scenario(**changes)
    with pytest.raises(_core.ScenarioError, match="linux engine") as error:
        make_plan(job(table))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_flow_has_the_congestion_control_that_it_names() -> None:
    flows = [{"kind": "tcp", "path": "fast"}, {"kind": "tcp", "path": "fast", "congestion_control": "cubic"}]
    made = plan(flow=flows)
    assert [flow.congestion_control for flow in made.flows] == [None, "cubic"]
    hystart = [one for one in made.settings if one.file.endswith("tcp_cubic/parameters/hystart")]
    assert [one.value for one in hystart] == ["0"]
    read = json.loads(job(scenario(flow=flows)).scenario.json)
    read["flow"][1]["congestion_control"] = "olia"
    with pytest.raises(Refused, match=r'flow\[1\].congestion_control = "olia": .*newreno, cubic'):
        refusals.check(read)


def test_a_trace_of_writes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "writes.csv").write_text("time_s,bytes\n0,1\n")
    table = scenario(workload={"kind": "trace", "file": str(tmp_path / "writes.csv")})
    with pytest.raises(_core.ScenarioError, match=r'workload.kind = "trace"'):
        make_plan(job(table))


def test_a_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.trace").write_text("1\n2\n3\n")
    table = scenario(**with_path(trace=str(tmp_path / "one.trace")))
    with pytest.raises(_core.ScenarioError, match=r"path\[1\].forward.trace"):
        make_plan(job(table))


@pytest.mark.parametrize(
    ("queue", "packets"),
    [("50p", 50), ("64kB", 42), ("1500B", 1), ("100ms", 84), ("1us", 1), ("infinite", wire.ENDLESS)],
)
def test_queues_are_counted_in_packets(queue: str, packets: int) -> None:
    assert wire.queue_packets(queue, 10_000_000, 1500) == packets


def test_outages_that_touch_are_one() -> None:
    given = [{"from": "1s", "to": "2s"}, {"from": "2s", "to": "3s"}, {"from": "9s", "to": "10s"}]
    assert wire.outages(given, 5_000 * MS) == [(1_000 * MS, 3_000 * MS)]
    periodic = {"every": "2s", "length": "500ms", "first": "0s"}
    assert wire.outages(periodic, 3_000 * MS) == [(0, 500 * MS), (2_000 * MS, 2_500 * MS)]


def test_an_outage_from_the_start_is_there_before_the_first_packet() -> None:
    found = plan(**with_path(outages=[{"from": "0s", "to": "1s"}]))
    lines = [line for batch in found.tc for line in batch.lines]
    assert sum("loss random 100%" in line for line in lines) == 2
    assert {change.at_ns for change in found.changes} == {1_000 * MS}


def test_where_routes_part_a_router_lies_between() -> None:
    routes = [Route("10.1.1.1", ("w1", "l1")), Route("10.1.2.1", ("w2", "l1")), Route("10.3.1.1", ("l1",))]
    built = topology.build(routes, 1500, "")
    assert built.outlets["w1", True] == ("w1b", "l1c")
    assert built.outlets["l1", True] == ("l1b", "rcv")
    assert built.outlets["l1", False] == ("l1a", "l1c")
    assert "l1d" not in built.namespaces
    # Every device of a routing line exists.
    cables = {
        (line.split()[8].removeprefix(f"{NAMESPACES}/"), line.split()[2]) for line in built.batches[0].lines
    }
    ends = {(here, there) for one in cables for here, there in (one, one[::-1])}
    for batch in built.batches[1:]:
        for line in batch.lines:
            words = line.split()
            device = words[words.index("dev") + 1] if "dev" in words else "lo"
            assert device == "lo" or (batch.namespace, device) in ends, line


def test_parameters_of_schedulers_become_those_of_the_module() -> None:
    choice = {"name": "daps+rp", "guard": True, "guard_asymmetry": 1.5, "schedule": "to-end"}
    assert transport.scheduler_parameters(choice) == {
        "/sys/module/plait/parameters/retransmission_penalization": "1",
        "/sys/module/plait/parameters/daps_guard": "1",
        "/sys/module/plait/parameters/daps_guard_asymmetry_milli": "1500",
        "/sys/module/plait/parameters/daps_schedule": "to-end",
    }


@pytest.mark.parametrize(("key", "unsaid"), [("cost", 0), ("weight", 1)])
def test_costs_and_weights_are_told_in_the_order_of_addresses(key: str, unsaid: int) -> None:
    table = scenario(**with_path(**{key: 7}))
    file = f"/sys/module/plait/parameters/path_{key}s"

    def told(table: dict[str, Any]) -> list[str]:
        return [one.value for one in make_plan(job(table)).settings if one.file == file]

    assert told(scenario()) == []
    assert told(table) == [f"{unsaid},7"]
    table["transport"] = {**table.get("transport", {}), "initial_path": "slow"}
    assert told(table) == [f"7,{unsaid}"]


def test_the_names_of_schedulers_fit_the_kernel() -> None:
    from plait.linux.refusals import KERNEL_NAMES

    assert all(len(name) <= 15 for name in KERNEL_NAMES.values())


def test_blocks_are_due_when_the_simulator_writes_them() -> None:
    constant = Source(kind="blocks", start_ns=5, stop_ns=12, block=1, rate_bps=3_000_000_000)
    assert list(moments(constant)) == [5, 7, 10]
    periods = [[100, 10], [200, 10]]
    on_off = Source(kind="blocks", start_ns=100, block=1, rate_bps=2_000_000_000, periods=periods)
    assert list(moments(on_off)) == [100, 104, 108, 202, 206]


def test_any_part_of_the_stream_is_the_same_everywhere() -> None:
    content = Content(7)
    whole = b"".join(content.chunk(number) for number in range(3))
    assert len(whole) == 3 * CHUNK
    assert content.part(CHUNK - 5, 10) == whole[CHUNK - 5 : CHUNK + 5]
    assert content.part(10, 0) == b""
    assert len({content.sha256(size) for size in (0, 1, CHUNK - 1, CHUNK, CHUNK + 1)}) == 5
    assert Content(8).sha256(CHUNK) != content.sha256(CHUNK)
