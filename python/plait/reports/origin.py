"""Origin of runs: commands, versions and machine, the scenario in words, the schedulers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from plait.advice import numbers
from plait.results.result import Result
from plait.scenarios.scheduler import schedulers
from plait.scenarios.units import duration_s, rate_bps

Table = dict[str, Any]
"""A table of a page: `headings`, `lines` of texts."""
WHAT = {
    "command": "command",
    "time": "when",
    "plait": "Plait",
    "python": "Python",
    "system": "system",
    "processor": "processor",
    "cores": "cores",
}
HIDDEN: tuple[Any, ...] = ("0s", "0%", [], None)
"""Values of a direction that carry no information."""


def origin_table(origins: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of commands and their environment, one column per command."""
    return {
        "headings": [],
        "lines": [
            (title, [str(one.get(key, "–")) for one in origins])
            for key, title in WHAT.items()
            if any(key in one for one in origins)
        ],
    }


def network_table(scenario: Mapping[str, Any]) -> Table:
    """Return a table of paths and shared links: rate, delay, queue and disturbances, each way."""
    lines = []
    for kind in ("path", "link"):
        for one in scenario.get(kind, []):
            for way in ("forward", "backward"):
                wire = one.get(way)
                if wire:
                    lines.append((f"{kind} {one['name']}", [way, *_wire(wire)]))
            if kind == "path" and one.get("links"):
                lines.append(
                    (f"path {one['name']}", ["over", "", "", "", f"links {', '.join(one['links'])}"])
                )
    return {"headings": ["", "direction", "rate", "delay", "queue", "and"], "lines": lines}


def settings(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the scenario without its network, in words."""
    transport, workload = scenario.get("transport", {}), scenario.get("workload", {})
    extent = f"{scenario.get('duration', '–')}, of which metrics leave out the first {scenario.get('warmup', '0s')}"
    shown = (
        "protocol",
        "profile",
        "congestion_control",
        "receive_buffer",
        "send_buffer",
        "packet",
        "ack_every",
    )
    return [
        ("duration", extent),
        ("workload", _words(workload, workload)),
        ("transport", _words(transport, [key for key in shown if key in transport])),
        *((f"flow {flow.get('name', '')}", _words(flow, [key for key in flow if key != "name"]))
          for flow in scenario.get("flow", [])),
    ]  # fmt: skip


def scenario_of(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return the scenario of runs that differ in their scheduler alone; None if it is unknown."""
    known = [result.scenario_json for result in results if result.scenario_json is not None]
    return dict(json.loads(known[0])) if known else None


def scheduler_notes(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Return summary and source of each scheduler; a user-defined one has only its label."""
    known = {one["name"]: one for one in schedulers()}
    notes = []
    for label in labels:
        one = known.get(label.split(":", maxsplit=1)[0].split("+", maxsplit=1)[0])
        notes.append(
            (label, f"{one['summary']} ({one['source']})" if one is not None else "not a built-in one")
        )
    return notes


def _wire(wire: Mapping[str, Any]) -> list[str]:
    known = ("rate", "delay", "queue")
    rest = {key: value for key, value in wire.items() if key not in known and value not in HIDDEN}
    trace = rest.pop("trace", None)
    rate = str(wire.get("rate", "–" if trace is None else "trace"))
    others = [f"trace {trace}"] if trace is not None else []
    others += [f"{key.replace('_', ' ')} {_plain(value)}" for key, value in rest.items()]
    if "rate" in wire:
        rate = numbers.rate(rate_bps(wire["rate"]))
    delay = numbers.time(duration_s(wire.get("delay", "0s")))
    return [rate, delay, _sized(wire.get("queue", "–")), ", ".join(others)]


def _words(table: Mapping[str, Any], keys: Any) -> str:
    return ", ".join(
        _plain(table[key]) if key in ("kind", "protocol") else f"{key.replace('_', ' ')} {_plain(table[key])}"
        for key in keys
        if table[key] not in HIDDEN
    )


def _sized(value: Any) -> str:
    """Format large byte counts for readers; other queue sizes, such as packets, are unchanged."""
    return numbers.size(int(value[:-1])) if re.fullmatch(r"\d{5,}B", str(value)) else str(value)


def _plain(value: Any) -> str:
    return _sized(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
