"""The domain of a validation, and draws from it: scenarios with schedulers.

`space.toml` lists the factors. A draw is a scrambled Sobol sequence over all of them, with a path's
factors once for each of four paths. So every factor is spread evenly by itself, and impairments
occur in all combinations. The draw does not depend on any result of an engine.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, permutations
from pathlib import Path
from typing import Any

from plait._core import ScenarioError
from plait.statistics import axes
from plait.support.words import expected

Table = Mapping[str, Any]

HERE = Path(__file__).parent
MOST_PATHS = 4
DIGITS = 3
"""Significant digits of the drawn values."""
PACKET = 12e3
"""Bits of a full packet."""
LEAST_QUEUE = 10
"""Minimum queue length in packets."""
RETURN_QUEUE = 50
"""Packets in the queue of a limited return path."""

SCHEDULERS = (
    "lowest-rtt",
    "round-robin",
    "delivery-delay",
    "intelligent-delivery-delay",
    "daps",
    "daps-rounds",
    "dqs",
    "redundant",
)
"""Schedulers of the kernel that are drawn in pairs."""

LATER = ("blest", "ecf", "otias", "sttf", "cheapest-first", "weighted")
"""Schedulers added later: every second scenario has one of them, in turn. So the pairs of a draw do
not change."""

NEWEST = "plait"
"""The scheduler that was added last: every fourth scenario has it, one without another beside its
pair."""


@dataclass(frozen=True)
class Drawn:
    """A drawn scenario, in the form of a scenario file, and its schedulers."""

    id: str
    title: str
    table: Table
    schedulers: tuple[str, ...]


@dataclass(frozen=True)
class Length:
    """Seconds of a run, of its warm-up, and of the time in which outages and other flows begin."""

    duration: float
    warmup: float
    busy: float


@cache
def space() -> Table:
    """Return the description of the domain."""
    return tomllib.loads((HERE / "space.toml").read_text(encoding="utf-8"))


def seed_of(draw: str) -> int:
    """Return the seed of a draw, given by its name or in digits.

    Raises:
        ScenarioError: the text is neither a name nor digits.
    """
    named: dict[str, int] = space()["draws"]
    if draw in named:
        return named[draw]
    if draw.isdecimal():
        return int(draw)
    message = f"draw {draw!r}: unknown{expected(draw, list(named))}, or a whole number from 0 on"
    raise ScenarioError(message)


def draw(name: str, points: int | None = None, control: str | None = None) -> Iterator[Drawn]:
    """Yield the scenarios of a draw, the first `points` of its sequence.

    `control` replaces the drawn congestion control.

    Raises:
        ScenarioError: the draw has no such name, or there are fewer than two points.
    """
    axis = {
        "design": "sobol",
        "points": points or space()["size"]["points"],
        "seed": seed_of(name),
        "ranges": {key: _range(factor) for key, factor in _factors()},
    }
    for number, step in enumerate(axes.steps(axis, f"draw {name}"), start=1):
        values = {key: _value(factor, float(step[key])) for key, factor in _factors()}
        values["congestion_control"] = control or values["congestion_control"]
        yield _scenario(f"{name}-{number:03}", values, later=_later(number))


def _factors() -> Iterator[tuple[str, Table]]:
    """Yield every factor of a sequence, with the name of its dimension."""
    given = space()
    yield from given["case"].items()
    for number in range(1, MOST_PATHS + 1):
        for key, factor in (*given["path"].items(), *given["impairment"].items()):
            yield f"{key} {number}", factor


def _range(factor: Table) -> Any:
    """Return a factor's range for an axis: choices share a range by their weights."""
    return {"range": [0, sum(factor["choices"].values())]} if "choices" in factor else factor


def _value(factor: Table, share: float) -> Any:
    if "choices" not in factor:
        return float(f"{share:.{DIGITS}g}")
    ends = accumulate(factor["choices"].values())
    return next(name for name, end in zip(factor["choices"], ends, strict=True) if share <= end)


STOCK = "linux-default:buffer=16777216"
"""The kernel's default scheduler, in every fourth scenario. The simulated one is judged by the
shares that the kernel's gives to the paths.

It has the send buffers of the other schedulers: the simulator has none that grow during a
connection."""
STOCK_EVERY = 4


def _later(number: int) -> tuple[str, ...]:
    """Return the later scheduler that the scenario of this number has beside its pair."""
    if number % 2:
        return (STOCK,) if number % STOCK_EVERY == 1 else (NEWEST,)
    return (LATER[number // 2 % len(LATER)],)


def _scenario(name: str, values: Mapping[str, Any], later: tuple[str, ...]) -> Drawn:
    count = int(values["paths"])
    protocol = values["single"] if count == 1 else "mptcp"
    some = [
        {key.removesuffix(f" {one}"): value for key, value in values.items() if key.endswith(f" {one}")}
        for one in range(1, count + 1)
    ]
    if values["weather"] == "clean":
        none = {"loss": "none", "jitter": "none", "outage": "none", "return": "free", "flow": "none"}
        some = [{**path, **none} for path in some]
    capacity = sum(path["rate"] for path in some)
    workload, length = _traffic(values, capacity, max(path["rtt"] for path in some))
    table: dict[str, Any] = {
        "name": name,
        "seed": 1,
        "duration": _seconds(length.duration),
        "warmup": _seconds(length.warmup),
        "transport": {
            "protocol": protocol,
            "profile": "linux",
            "receive_buffer": f"{values['receive_buffer']:.0f}kB",
            "congestion_control": values["congestion_control"],
        },
        "workload": workload,
        "path": [_path(index, path, length.busy) for index, path in enumerate(some, start=1)],
    }
    # BBR's share beside other connections is judged beside CUBIC.
    other = {"congestion_control": "cubic"} if values["congestion_control"] == "bbr" else {}
    flows = [
        _flow(index, path, length.busy) | other
        for index, path in enumerate(some, start=1)
        if path["flow"] != "none"
    ]
    if flows:
        table["flow"] = flows
    return Drawn(
        id=name,
        title=_title(protocol, values, workload, some),
        table=table,
        schedulers=(*schedulers(values["pair"], values["option"]), *later) if count > 1 else ("lowest-rtt",),
    )


def schedulers(pair: float, option: str) -> tuple[str, ...]:
    """Return two schedulers, and the first of them with an option.

    `pair`, from 0 to 1, chooses among all pairs in either order.
    """
    pairs = list(permutations(SCHEDULERS, 2))
    first, second = pairs[min(int(pair * len(pairs)), len(pairs) - 1)]
    return (first, second, first + option)


def _traffic(values: Mapping[str, Any], capacity: float, rtt: float) -> tuple[dict[str, Any], Length]:
    """Return the workload and its length at a capacity in Mbit/s.

    The longest round-trip time `rtt` is in ms.
    """
    given = space()["length"]
    if values["workload"] == "file":
        # A file that would take longer than the longest run is cut.
        size = min(values["size"], given["most"] * capacity * 1e3 / 8)
        ideal = size * 8e3 / (capacity * 1e6) + rtt / 1e3
        patience = given["patience"] * ideal + given["while"]
        return {"kind": "file", "size": f"{size:.0f}kB"}, Length(patience, 0.0, ideal)
    least = max(given["least"], given["round_trips"] * rtt / 1e3)
    seconds = max(least, min(given["most"], given["packets"] * PACKET / (capacity * 1e6)))
    length = Length(seconds, given["warmup"] * seconds, seconds)
    if values["workload"] == "blocks":
        rate = _rate(values["load"] * capacity)
        return {"kind": "cbr", "rate": rate, "block": f"{round(values['block'] * 1e3)}B"}, length
    return {"kind": "bulk"}, length


def _path(number: int, drawn: Mapping[str, Any], busy: float) -> dict[str, Any]:
    """Return a path in the form of a scenario file."""
    rate, rtt = drawn["rate"], drawn["rtt"]
    ahead = round(rtt * drawn["forward"], 3)
    forward: dict[str, Any] = {"delay": _milliseconds(ahead)}
    backward: dict[str, Any] = {"delay": _milliseconds(rtt - ahead)}
    queue = max(LEAST_QUEUE, math.ceil(drawn["queue"] * rate * rtt * 1e3 / PACKET))
    path: dict[str, Any] = {"name": f"p{number}", "rate": _rate(rate), "queue": f"{queue}p"}
    share = drawn["loss_share"]
    if drawn["loss"] == "random":
        forward["loss"] = f"{share:g}%"
    elif drawn["loss"] == "burst":
        to_good = 100 / drawn["burst"]
        to_bad = share * to_good / (100 - share)
        forward["loss"] = {
            "model": "gilbert-elliott",
            "to_bad": f"{to_bad:.4g}%",
            "to_good": f"{to_good:.4g}%",
        }
    if drawn["jitter"] != "none":
        amount = _milliseconds(drawn["jitter_share"] * rtt)
        forward["jitter"] = {"amount": amount, "reorder": drawn["jitter"] == "reordering"}
    if drawn["outage"] == "one":
        begin = drawn["outage_begin"] * busy
        path["outages"] = [{"from": _seconds(begin), "to": _seconds(begin + drawn["outage_length"] / 1e3)}]
    if drawn["return"] == "limited":
        backward |= {"rate": _rate(rate / drawn["return_ratio"]), "queue": f"{RETURN_QUEUE}p"}
    elif drawn["return"] == "lossy":
        backward["loss"] = f"{drawn['return_loss']:g}%"
    return {**path, "forward": forward, "backward": backward}


def _flow(number: int, drawn: Mapping[str, Any], busy: float) -> dict[str, Any]:
    return {
        "name": f"f{number}",
        "kind": "tcp",
        "path": f"p{number}",
        "direction": drawn["flow"],
        "start": _seconds(drawn["flow_begin"] * busy),
    }


def _title(
    protocol: str, values: Mapping[str, Any], workload: Mapping[str, Any], some: list[dict[str, Any]]
) -> str:
    traffic = {"file": f"file of {workload.get('size')}", "cbr": f"blocks at {workload.get('rate')}"}
    kind = traffic.get(workload["kind"], "bulk")
    paths = " + ".join(_words(path) for path in some)
    control = values["congestion_control"]
    return f"{protocol}, {control}, {values['receive_buffer']:g} kB, {kind}: {paths}"


def _words(path: Mapping[str, Any]) -> str:
    """Describe a path in a few words."""
    words = [f"{path['rate']:g} Mbit/s {path['rtt']:g} ms {path['queue']:g} BDP"]
    if path["loss"] != "none":
        words.append(f"{path['loss']} loss {path['loss_share']:g} %")
    if path["jitter"] != "none":
        words.append(f"{path['jitter']} jitter {100 * path['jitter_share']:.2g} %")
    if path["outage"] != "none":
        words.append(f"outage {path['outage_length']:g} ms")
    if path["return"] != "free":
        words.append(f"return path {path['return']}")
    if path["flow"] != "none":
        words.append(f"TCP {path['flow']}")
    return ", ".join(words)


def _rate(mbit: float) -> str:
    return f"{round(mbit * 1e3)}kbit"


def _milliseconds(value: float) -> str:
    return f"{round(value * 1e3)}us"


def _seconds(value: float) -> str:
    return f"{round(value * 1e3)}ms"
