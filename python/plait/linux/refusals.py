"""Scenario features that the linux engine refuses, with place and value.

Some options have only one value in the kernel. Their defaults in scenarios are accepted and mean
the kernel's behaviour; `KERNEL_HABITS` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from plait import _core
from plait.engines import Refused
from plait.linux.guest.flows import DATAGRAM_HEADERS
from plait.scenarios.scheduler import schedulers
from plait.scenarios.units import duration_ns

Table = Mapping[str, Any]

Demands = Sequence[Sequence[tuple[int, int, int]]]
MOST_REQUESTS = 100_000
"""Maximum number of requests of a client. Each takes at least a round trip."""
LEAST_LATENCY_NS = 10_000
MOST_PATHS = 8
"""Maximum number of subflows of a connection in Linux."""

KERNEL_NAMES = {
    "round-robin": "round-robin",
    "lowest-rtt": "lowest-rtt",
    "delivery-delay": "delivery-delay",
    "intelligent-delivery-delay": "intelligent-dd",
    "daps": "daps",
    "daps-rounds": "daps-rounds",
    "dqs": "dqs",
    "redundant": "redundant",
    "blest": "blest",
    "ecf": "ecf",
    "otias": "otias",
    "sttf": "sttf",
    "cheapest-first": "cheapest-first",
    "weighted": "weighted",
    "plait": "plait",
}
"""Scheduler names in Plait and in the kernel, where they have at most 15 characters."""

STOCK, STOCK_NAME = "linux-default", "default"
"""The scheduler of every kernel, by its name in Plait and in the kernel."""
STOCK_BUFFER = "buffer"
"""Its only parameter that the kernel has too: the send buffer of a subflow, in bytes."""

CONGESTION_CONTROLS = {"newreno": "reno", "cubic": "cubic", "bbr": "bbr"}

KERNEL_HABITS: dict[str, tuple[tuple[Any, ...], str]] = {
    "ack_delay": (
        ("200ms", "40ms"),
        "the kernel holds acknowledgements back for 40 to 200 ms, as it sees fit",
    ),
    "initial_ssthresh": (("unlimited",), "the kernel's threshold is unlimited at the start"),
    "grow_in_recovery": ((False,), "the kernel repairs losses by proportional rate reduction (RFC 6937)"),
    "max_burst": ((0,), "the kernel limits bursts by its own rules"),
    "rto_initial": (("1s",), "the kernel's first timeout is 1 s"),
    "rto_max": (("60s", "120s"), "the kernel's longest timeout is 120 s"),
    "path_max_retransmissions": ((5,), "the kernel calls a subflow stale by its own rules"),
    "association_max_retransmissions": ((10,), "the kernel gives up after 15 timeouts"),
    "potentially_failed": ((False,), "the kernel calls a subflow stale by its own rules"),
    "handshake": ((True,), "the kernel opens subflows by handshakes"),
    "timestamp_granularity": (("1ms",), "the kernel's timestamps tick once a millisecond"),
    "clock_offset": (("0s",), "both hosts run on one kernel's clock"),
}
"""Transport options that the kernel lacks: accepted values (the profiles' defaults), and the
kernel's behaviour."""


def check(scenario: Table) -> None:
    """Raise Refused for the first feature that the linux engine lacks."""
    _check_scheduler(scenario, "scheduler", scenario["scheduler"])
    _check_transport(scenario)
    if scenario["workload"]["kind"] == "trace":
        refuse(scenario, "workload.kind", "trace", "it replays no trace of writes; sim, quic and usrsctp do")
    for place, direction in directions(scenario):
        if "trace" in direction:
            refuse(scenario, f"{place}.trace", direction["trace"], "netem has rates, no traces")
        _check_random(scenario, place, direction)
        if "discipline" in direction:
            _check_active(scenario, place, direction)
    paths = scenario["path"]
    if len(paths) > MOST_PATHS:
        refuse(scenario, "path", len(paths), f"a connection of the kernel has at most {MOST_PATHS} subflows")
    for index, path in enumerate(paths):
        if path["backup"] and path["name"] == first_path(scenario):
            refuse(
                scenario, f"path[{index}].backup", True, "the path that is opened first cannot be a backup"
            )
    for index, flow in enumerate(scenario.get("flow", ())):
        _check_flow(scenario, index, flow)


def demands(scenario: Table, job: _core.Job) -> Demands:
    """Return the clients' demands, up to the possible number of requests; Refused if too many."""
    if scenario["workload"]["kind"] != "request-response":
        return ()
    delays = [
        sum(
            _least_delay_ns(one[way])
            for one in _wires(scenario, path)
            for way in ("forward", "backward")
            if way in one
        )
        for path in scenario["path"]
    ]
    asked = job.demands(max(min(delays), LEAST_LATENCY_NS), MOST_REQUESTS)
    if asked is None:
        reason = f"a client's requests are written down in advance; here they may be more than {MOST_REQUESTS} requests"
        refuse(scenario, "duration", scenario["duration"], reason)
    return asked


def _least_delay_ns(direction: Table) -> int:
    """Return the shortest delay of a direction at any time; 0 with a jitter distribution."""
    jitter = direction["jitter"]
    if isinstance(jitter, Mapping) and "distribution" in jitter:
        return 0
    return min(duration_ns(one["delay"]) for one in (direction, *direction.get("delay_steps", ())))


def _wires(scenario: Table, path: Table) -> Iterator[Table]:
    """Return a path's own wire and its links."""
    yield path
    shared = {link["name"]: link for link in scenario.get("link", ())}
    yield from (shared[name] for name in path.get("links", ()))


def first_path(scenario: Table) -> str:
    """Return the name of the path whose subflow opens first."""
    return str(scenario["transport"].get("initial_path", scenario["path"][0]["name"]))


def directions(scenario: Table) -> Iterator[tuple[str, Table]]:
    """Return every direction of every wire and link, with its place in the scenario."""
    for kind in ("path", "link"):
        for index, one in enumerate(scenario.get(kind, ())):
            for way in ("forward", "backward"):
                if way in one:
                    yield f"{kind}[{index}].{way}", one[way]


def refuse(scenario: Table, place: str, value: Any, reason: str) -> NoReturn:
    """Raise Refused."""
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    raise Refused("linux", scenario["name"], f"{place} = {shown}", reason)


def _check_random(scenario: Table, place: str, direction: Table) -> None:
    """Refuse correlations that differ in netem."""
    jitter, duplicate = direction["jitter"], direction.get("duplicate", {"correlation": "0%"})
    if isinstance(jitter, Mapping) and "correlation" in jitter:
        # `tabledist` takes the correlated number modulo the table size, or modulo twice the jitter.
        reason = "netem's correlation has no effect on its jitter"
        refuse(scenario, f"{place}.jitter.correlation", jitter["correlation"], reason)
    if duplicate["correlation"] != "0%":
        reason = "netem's correlation makes copies rarer than their share"
        refuse(scenario, f"{place}.duplicate.correlation", duplicate["correlation"], reason)


def _check_active(scenario: Table, place: str, direction: Table) -> None:
    """Refuse features that a bottleneck with an active queue lacks."""
    jitter = direction["jitter"]
    reason = "behind an active queue the delay is that of a queue too, which keeps the order"
    if isinstance(jitter, Mapping) and jitter["reorder"]:
        refuse(scenario, f"{place}.jitter.reorder", True, reason)
    if direction.get("reorder"):
        refuse(scenario, f"{place}.reorder", True, reason)


def _check_scheduler(scenario: Table, place: str, choice: Table) -> None:
    name = choice["name"]
    base = name.split("+")[0]
    if base == STOCK:
        _check_stock(scenario, place, choice)
        return
    if base not in KERNEL_NAMES:
        refuse(scenario, place, name, f"the kernel has {_list([*KERNEL_NAMES, STOCK])}")
    info = next(one for one in schedulers() if one["name"] == base)
    error = next((one["name"] for one in info["options"] if "rtt_error" in one["name"]), None)
    if error is not None and error in choice:
        refuse(
            scenario,
            f"{place}.{error}",
            choice[error],
            "the kernel shows schedulers no wrong round-trip times",
        )


def _check_stock(scenario: Table, place: str, choice: Table) -> None:
    if choice["name"] != STOCK:
        refuse(scenario, place, choice["name"], "the kernel's own scheduler has no options")
    info = next(one for one in schedulers() if one["name"] == STOCK)
    for parameter in info["parameters"]:
        name, default = parameter["name"], parameter["default"]
        if name != STOCK_BUFFER and choice.get(name, default) != default:
            refuse(scenario, f"{place}.{name}", choice[name], "the kernel's is as it was compiled")


def check_decisions(scenario: Table) -> None:
    """Raise Refused if the scheduler has no log of its decisions."""
    if scenario["scheduler"]["name"] == STOCK:
        refuse(scenario, "scheduler", STOCK, "the kernel's own scheduler tells nothing of its decisions")


_SPOKEN = ("mptcp", "tcp")
"""Protocols that the lab's kernels support."""

_WRITTEN = {"cmt-sctp": "CMT-SCTP", "mpquic": "Multipath QUIC"}
"""Names of other protocols in a sentence, if they differ from the scenario's."""


def _check_transport(scenario: Table) -> None:
    transport = scenario["transport"]

    def wrong(key: str, reason: str) -> None:
        refuse(scenario, f"transport.{key}", transport[key], reason)

    if transport["protocol"] not in _SPOKEN:
        name = _WRITTEN.get(transport["protocol"], transport["protocol"])
        wrong("protocol", f'the kernel has no {name}; expected "mptcp" or "tcp"')
    if transport["congestion_control"] not in CONGESTION_CONTROLS:
        wrong("congestion_control", f"Linux' MPTCP is uncoupled; expected {_list(CONGESTION_CONTROLS)}")
    if transport["ack_every"] > 2:
        wrong("ack_every", "the kernel acknowledges every packet or every second one")
    # The linux profile sets it by default, also without CUBIC.
    asked = transport["hystart"] and transport["profile"] != "linux"
    if asked and transport["congestion_control"] != "cubic":
        wrong("hystart", 'the kernel has it for congestion_control = "cubic" only')
    for key, (only, habit) in KERNEL_HABITS.items():
        if transport[key] not in only:
            wrong(key, habit)


def _check_flow(scenario: Table, index: int, flow: Table) -> None:
    place = f"flow[{index}]"
    if flow["kind"] == "multipath":
        refuse(scenario, f"{place}.kind", flow["kind"], "it has one connection over several paths")
    control = flow.get("congestion_control")
    if control is not None and control not in CONGESTION_CONTROLS:
        reason = f"the lab's kernel has {_list(CONGESTION_CONTROLS)}"
        refuse(scenario, f"{place}.congestion_control", control, reason)
    if flow["kind"] in ("cbr", "on-off"):
        packet, most = _core.parse_bytes(flow["packet"]), _core.parse_bytes(scenario["transport"]["packet"])
        if not DATAGRAM_HEADERS <= packet <= most:
            reason = f"a datagram has {DATAGRAM_HEADERS} bytes of headers, and devices carry {most} bytes"
            refuse(scenario, f"{place}.packet", flow["packet"], reason)


def _list(names: Mapping[str, str] | Sequence[str]) -> str:
    return ", ".join(names)
