"""The place of a scenario in the domain: its properties, by which agreement is split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plait import _core
from plait.scenarios.units import duration_ns

Table = Mapping[str, Any]

NONE = "none"
FREE = "free"
ONE_PATH = "one path"
LIMITED = 10
"""A return path is limited if the forward path has at least this many times its rate."""


def facets(scenario: Table) -> dict[str, str]:
    """Return the properties of a scenario, given as its canonical document, by kind."""
    found = {
        "paths": str(len(scenario["path"])),
        "protocol": {"tcp": "TCP", "mptcp": "MPTCP"}.get(scenario["transport"]["protocol"], "other"),
        "loss": _named(_losses(scenario, "forward")),
        "jitter": _named(_jitters(scenario)),
        "largest jitter": _jitter(scenario),
        "outages": "yes" if any(_both(path, "outages") for path in scenario["path"]) else NONE,
        "return path": _return(scenario),
        "competing TCP": _named(
            flow["direction"] for flow in scenario.get("flow", ()) if flow["kind"] == "tcp"
        ),
        "receive buffer": _buffer(scenario),
        "ratio of round trips": _ratio(scenario),
        "workload": {"cbr": "blocks", "on-off": "blocks"}.get(
            scenario["workload"]["kind"], scenario["workload"]["kind"]
        ),
        "congestion control": scenario["transport"]["congestion_control"],
    }
    kinds = ("loss", "jitter", "outages", "competing TCP")
    count = sum(found[kind] != NONE for kind in kinds) + (found["return path"] != FREE)
    found["kinds of impairment"] = str(count) if count < 3 else "3 or more"
    return found


def has_chance(scenario: Table) -> bool:
    """Whether the network draws random numbers; the table may omit defaults."""
    wires = [*scenario["path"], *scenario.get("link", ())]
    return any(
        _is_random(wire.get(way, {}).get(key, wire.get(key) if way == "forward" else None), key)
        for wire in wires
        for way in ("forward", "backward")
        for key in ("loss", "jitter")
    )


def _is_random(value: Any, key: str) -> bool:
    if value is None:
        return False
    if isinstance(value, Mapping):
        return key == "loss" or duration_ns(value["amount"]) > 0
    return value != "0%" if key == "loss" else duration_ns(value) > 0


def order(value: str) -> tuple[float, str]:
    """Return the sort key of a facet's value: none first, intervals by ends, names by alphabet."""
    if value in (NONE, FREE, ONE_PATH):
        return -1.0, value
    number = re.search(r"\d[\d.]*", value)
    if number is None:
        return 0.0, value
    begins = 0.0 if value.startswith("up to") else float(number[0])
    return begins + (0.1 if value.startswith("more than") else 0.0), value


def _named(some: Iterator[str] | Sequence[str]) -> str:
    """Return one name for all occurring kinds."""
    kinds = sorted(set(some) - {NONE})
    return " and ".join(kinds) or NONE


def _losses(scenario: Table, way: str) -> Iterator[str]:
    for path in scenario["path"]:
        loss = path.get(way, {}).get("loss", "0%")
        yield (
            "burst" if isinstance(loss, Mapping) and "to_bad" in loss else NONE if loss == "0%" else "random"
        )


def _amount(path: Table) -> tuple[int, bool]:
    """Return the largest extra delay of a path's data (ns), and whether packets may overtake."""
    jitter = path.get("forward", {}).get("jitter", "0ms")
    if isinstance(jitter, Mapping):
        return duration_ns(jitter["amount"]), jitter["reorder"]
    return duration_ns(jitter), False


def _jitters(scenario: Table) -> Iterator[str]:
    for path in scenario["path"]:
        amount, reorder = _amount(path)
        if amount:
            yield "reordering" if reorder else "ordered"


def _jitter(scenario: Table) -> str:
    shares = [_amount(path)[0] / max(1, _round_trip(path)) for path in scenario["path"] if "forward" in path]
    return _within(max(shares, default=0.0) * 100, (0, 3, 10, 25), "of the round trip", "%")


def _both(path: Table, key: str) -> bool:
    return any(path.get(way, {}).get(key) for way in ("forward", "backward"))


def _return(scenario: Table) -> str:
    kinds = [kind for kind in _losses(scenario, "backward") if kind != NONE]
    found = ["lossy"] if kinds else []
    for path in scenario["path"]:
        if all("rate" in path.get(way, {}) for way in ("forward", "backward")):
            forward, backward = (_core.parse_rate(path[way]["rate"]) for way in ("forward", "backward"))
            if forward >= LIMITED * backward:
                found.append("limited")
    return " and ".join(sorted(set(found))) or FREE


def _round_trip(path: Table) -> int:
    return sum(duration_ns(path[way]["delay"]) for way in ("forward", "backward") if way in path)


def _buffer(scenario: Table) -> str:
    """Describe the receive buffer in bandwidth-delay products.

    A product is the sum of all rates times the longest round-trip time.
    """
    paths = [path for path in scenario["path"] if "rate" in path.get("forward", {})]
    rate = sum(_core.parse_rate(path["forward"]["rate"]) for path in paths)
    product = rate * max((_round_trip(path) for path in paths), default=0) / 8e9
    if not product:
        return "unknown"
    buffer = _core.parse_bytes(scenario["transport"]["receive_buffer"]) / product
    return _within(buffer, (0, 0.5, 1, 2, 8), "bandwidth-delay products")


def _ratio(scenario: Table) -> str:
    trips = [_round_trip(path) for path in scenario["path"] if "forward" in path]
    if len(trips) < 2 or min(trips) == 0:
        return ONE_PATH if len(scenario["path"]) == 1 else "unknown"
    return _within(max(trips) / min(trips), (1, 2, 5, 15), "")


def _within(value: float, bounds: Sequence[float], unit: str, sign: str = "") -> str:
    """Describe the interval that contains a value."""
    if value <= bounds[0]:
        return NONE if bounds[0] == 0 else f"{bounds[0]:g}"
    low = max(bound for bound in bounds if bound < value)
    high = next((bound for bound in bounds if bound >= value), None)
    space = " " if sign else ""
    words = f"more than {low:g}" if high is None else f"{low:g} to {high:g}" if low else f"up to {high:g}"
    return f"{words}{space}{sign} {unit}".rstrip()
