"""The points of the suite: links, traffic and transports, drawn from streams of random numbers.

A point is a function of the suite's number, the part, the domain and the point's number. Its stream
is SHA-256, so no library and no machine changes it. A test holds a hash of all points. A change of
any point needs a new number of the suite.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from plait._core import ScenarioError
from plait.results.metrics import direction
from plait.scenarios.scenario import Scenario, from_table
from plait.scenarios.units import rate_bps
from plait.support.words import expected

SUITE = 1
"""The number of the suite, which papers cite."""
PARTS: Mapping[str, int] = {"tune": 32, "report": 64}
"""The fixed parts, and their points in each domain."""
REPETITIONS = 5
"""Runs of a scheduler at a point; their mean counts."""
DOMAINS: Mapping[str, str] = {
    "bulk": "endless data; the goodput counts",
    "blocks": "blocks at a constant rate, 5 to 90 % of the capacity; their mean delay counts",
    "files": "a file of 20 kB to 10 MB; its completion time counts",
    "wide": "one of these, on other transports and harder links",
}
"""The domains, each with its meaning."""
METRICS: Mapping[str, str] = {
    "bulk": "goodput_bps",
    "cbr": "block_delay_ms.mean",
    "file": "completion_time_s",
}
"""The metric that counts, by kind of workload."""
MEASURES = (*METRICS.values(), "undelivered_bytes", "measured_s")
"""The metrics of a run from which its value follows."""

PACKET = 12e3
"""Bits of a full packet."""
PACKETS = 40_000
"""Packets that the paths can carry in a run of endless data or blocks."""
SECONDS = 8.0, 30.0
"""The least and the most seconds of such a run; the numbers below may need more."""
ROUND_TRIPS = 40
"""Round trips of the slowest path that a run has at least."""
BLOCKS = 40
"""Blocks that a run has at least."""
WARMUP = 0.2
"""Share of such a run that does not count."""
PATIENCE = 4, 30.0
"""A file may take so many times its time at the paths' rates, and these seconds."""
Item = TypeVar("Item")


@dataclass(frozen=True)
class Point:
    """A point of a domain: its scenario as the table of a scenario file, and the metric that counts."""

    domain: str
    number: int
    table: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The name of the point within its part."""
        return str(self.table["name"])

    @property
    def metric(self) -> str:
        """The metric that counts."""
        return METRICS[self.table["workload"]["kind"]]

    @property
    def way(self) -> int:
        """1 if more of the metric is better, −1 if less is."""
        return direction(self.metric)

    def value(self, measures: Mapping[str, float | None]) -> float | None:
        """Return the value of a run with these measures; None without one.

        It is the metric. Only of blocks, which count in a run's metric when they are delivered, the
        others count too: with half of the time of their backlog, which is their mean age at the
        end, if that is more than the mean delay. Otherwise a scheduler would gain by a stall.
        """
        found, workload = measures[self.metric], self.table["workload"]
        if found is None or workload["kind"] != "cbr":
            return found
        backlog = (measures["undelivered_bytes"] or 0) * 8 / rate_bps(workload["rate"])
        share = min(1.0, backlog / (measures["measured_s"] or 1))
        return found + share * max(0.0, backlog / 2 * 1e3 - found)

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of the repetitions; the first one runs the scenario as written."""
        return range(self.table["seed"], self.table["seed"] + REPETITIONS)

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario."""
        return from_table(self.table, self.id)


def points(part: str, number: int | None = None, domains: Sequence[str] = ()) -> list[Point]:
    """Return the first points of each domain in a part, or of some domains.

    Args:
        part: a part of the suite, or any other text for a fresh draw.
        number: points of each domain; by default all of the part.
        domains: names; empty: all.

    Raises:
        ScenarioError: a domain is unknown, or the part has fewer points.
    """
    for one in domains:
        if one not in DOMAINS:
            message = f"domain {one!r}: unknown{expected(one, list(DOMAINS))}"
            raise ScenarioError(message)
    most = PARTS.get(part)
    if number is not None and most is not None and number > most:
        message = f"points: part {part} has {most} in each domain, got {number}"
        raise ScenarioError(message)
    count = number or most or PARTS["report"]
    return [_point(part, name, index) for name in domains or DOMAINS for index in range(count)]


def amounts(point: Point) -> dict[str, float]:
    """Return quantities of a point that figures show."""
    rates = [_number(path["rate"]) / 1e3 for path in point.table["path"]]
    rtts = [_number(path["rtt"]) / 1e3 for path in point.table["path"]]
    return {
        "paths": len(rates),
        "capacity (Mbit/s)": sum(rates),
        "longest round trip (ms)": max(rtts),
        "longest / shortest round trip": max(rtts) / min(rtts),
        "receive buffer (kB)": _number(point.table["transport"]["receive_buffer"]),
    }


def digest(given: Sequence[Point]) -> str:
    """Return a hash of points."""
    return hashlib.sha256(json.dumps([one.table for one in given]).encode()).hexdigest()


class Draw:
    """Random values of one point: each name has its own, whichever others are drawn.

    most_loss: the highest loss, in percent. most_load: the highest load of blocks.
    """

    most_loss = 2.0
    most_load = 0.9

    def __init__(self, stream: str) -> None:
        self._stream = stream

    def share(self, name: str) -> float:
        """Return a number from 0 to 1."""
        drawn = hashlib.sha256(f"{self._stream} {name}".encode()).digest()
        return int.from_bytes(drawn[:6], "big") / 2**48

    def between(self, name: str, low: float, high: float) -> float:
        """Return a number of three digits, uniform in a range."""
        return float(f"{low + self.share(name) * (high - low):.3g}")

    def log(self, name: str, low: float, high: float) -> float:
        """Return a number of three digits, whose logarithm is uniform in a range."""
        return float(f"{low * math.exp(self.share(name) * math.log(high / low)):.3g}")

    def of(self, name: str, *choices: Item) -> Item:
        """Return one of equally likely choices."""
        return choices[int(self.share(name) * len(choices))]


def _point(part: str, domain: str, number: int) -> Point:
    draw = Draw(f"plait bench {SUITE}, {part}, {domain}, {number}")
    paths = [drawn_path(draw, f"p{index}") for index in range(1, 1 + draw.of("paths", 2, 3, 4))]
    capacity = sum(_number(path["rate"]) for path in paths) * 1e3
    longest = max(_number(path["rtt"]) for path in paths) / 1e6
    kind = draw.of("workload", "bulk", "blocks", "files") if domain == "wide" else domain
    workload, length, warmup = TRAFFIC[kind](draw, capacity, longest)
    transport: dict[str, Any] = {"protocol": "mptcp", "profile": "linux", "congestion_control": "cubic"}
    if domain == "wide":
        transport = dict(draw.of("transport", *TRANSPORTS))
        busy = length if kind != "files" else _number(workload["size"]) * 8e3 / capacity + longest
        for path in paths:
            _harden(draw, path, busy)
    table = {
        "name": f"{domain}-{number:03}",
        "seed": 1 + int(draw.share("seed") * 1e9),
        "duration": _milliseconds(length),
        "warmup": _milliseconds(warmup),
        "transport": {**transport, "receive_buffer": f"{draw.log('receive buffer', 64, 8000):g}kB"},
        "workload": workload,
        "path": paths,
    }
    return Point(domain, number, table)


def drawn_path(draw: Draw, name: str) -> dict[str, Any]:
    """Return a path; half of the paths have losses or jitter."""
    rtt = draw.log(f"rtt {name}", 8, 300)
    path: dict[str, Any] = {
        "name": name,
        "rate": f"{round(draw.log(f'rate {name}', 1, 80) * 1e3)}kbit",
        "rtt": f"{round(rtt * 1e3)}us",
        "queue": f"{draw.of(f'queue {name}', 20, 60, 200)}p",
    }
    impairment = draw.of(f"impairment {name}", "none", "none", "loss", "jitter")
    if impairment == "loss":
        path["forward"] = {"loss": f"{draw.log(f'loss {name}', 0.01, draw.most_loss):g}%"}
    elif impairment == "jitter":
        amount = draw.log(f"jitter {name}", 0.01, 0.5) * rtt
        path["forward"] = {"jitter": {"amount": f"{round(amount * 1e3)}us", "reorder": False}}
    return path


TRANSPORTS: Sequence[Mapping[str, Any]] = (
    {"protocol": "mptcp", "profile": "standard", "congestion_control": "newreno"},
    {"protocol": "mptcp", "profile": "linux", "congestion_control": "bbr"},
    {"protocol": "mpquic", "congestion_control": "cubic"},
    {"protocol": "mpquic", "congestion_control": "bbr"},
    {"protocol": "cmt-sctp"},
)
"""The transports of the domain `wide`."""


def _harden(draw: Draw, path: dict[str, Any], busy: float) -> None:
    """Add an outage, a deep queue or steps of the rate, each to a quarter of the paths."""
    name = path["name"]
    kind = draw.of(f"hard {name}", "none", "outage", "queue", "steps")
    if kind == "outage":
        begin = draw.between(f"begin {name}", 0.1, 0.7) * busy
        end = begin + draw.log(f"outage {name}", 0.1, 3)
        path["outages"] = [{"from": _milliseconds(begin), "to": _milliseconds(end)}]
    elif kind == "queue":
        path["queue"] = "1000p"
    elif kind == "steps":
        rate = _number(path["rate"])
        path["rate_steps"] = [
            {
                "at": _milliseconds(share * busy),
                "rate": f"{round(rate * draw.log(f'step {share} {name}', 0.25, 4))}kbit",
            }
            for share in (0.3, 0.6)
        ]


Traffic = tuple[dict[str, Any], float, float]
"""A workload, and the seconds of the run and of its warm-up."""


def _bulk(_draw: Draw, capacity: float, longest: float) -> Traffic:
    seconds = _seconds(capacity, ROUND_TRIPS * longest)
    return {"kind": "bulk"}, seconds, WARMUP * seconds


def _blocks(draw: Draw, capacity: float, longest: float) -> Traffic:
    rate = draw.between("load", 0.05, draw.most_load) * capacity
    size = draw.log("block", 1, 64)
    seconds = _seconds(capacity, max(ROUND_TRIPS * longest, BLOCKS * size * 8e3 / rate))
    workload = {"kind": "cbr", "rate": f"{round(rate / 1e3)}kbit", "block": f"{round(size * 1e3)}B"}
    return workload, seconds, WARMUP * seconds


def _file(draw: Draw, capacity: float, longest: float) -> Traffic:
    size = draw.log("size", 20, 10_000)
    times, more = PATIENCE
    return {"kind": "file", "size": f"{size:g}kB"}, times * (size * 8e3 / capacity + longest) + more, 0.0


TRAFFIC: Mapping[str, Callable[[Draw, float, float], Traffic]] = {
    "bulk": _bulk,
    "blocks": _blocks,
    "files": _file,
}
"""The workloads at a capacity in bit/s and with a longest round-trip time in seconds."""


def _seconds(capacity: float, least: float) -> float:
    low, high = SECONDS
    return max(low, least, min(high, PACKETS * PACKET / capacity))


def _number(text: str) -> float:
    """Return the number of an amount in the unit in which it was drawn."""
    return float(text.rstrip("kbitusBp"))


def _milliseconds(seconds: float) -> str:
    return f"{round(seconds * 1e3)}ms"
