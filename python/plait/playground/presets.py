"""Scenarios to begin with: common links, and cases of papers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from plait.scenarios.presets import preset
from plait.support.papers import DATA

Entry = Mapping[str, Any]
"""A title, its group, a scenario as the table of a scenario file, and two schedulers."""

COMMON: Mapping[str, Any] = {
    "duration": "6s",
    "warmup": "2s",
    "transport": {"protocol": "mptcp", "receive_buffer": "1MB"},
    "workload": {"kind": "bulk"},
}
FIRST_PATHS = (
    {"name": "dsl", "rate": "16Mbit", "rtt": "25ms"},
    {"name": "lte", "rate": "30Mbit", "rtt": "60ms", "loss": "0.01%"},
)
"""The links of the README's example."""
LINKS = (("vdsl", "lte"), ("dsl", "starlink"), ("vdsl", "5g"), ("wifi", "lte"), ("dsl", "geo"))
CASES = (
    ("daps-icc14", "table2-1-200-45kB", "round-robin", "daps", "20s"),
    ("daps-slides", "case1", "round-robin", "daps", "20s"),
    ("schedulers-csws14", "two-paths", "round-robin", "lowest-rtt", "10s"),
    ("dqs", "four-paths", "round-robin", "dqs", "10s"),
)
"""Paper, scenario, two schedulers, and the part of the run that a page repeats quickly."""


def presets() -> Iterator[Entry]:
    """Yield the entries in the order of the page's list."""
    yield _entry("DSL and LTE, a small buffer", "links", FIRST_PATHS, "256kB", ("round-robin", "lowest-rtt"))
    for names in LINKS:
        paths = [preset(name).table() for name in names]
        title = " and ".join(preset(name).title.partition(",")[0] for name in names)
        yield _entry(title, "links", paths, "6MiB", ("lowest-rtt", "blest"))
    for paper, case, first, second, duration in CASES:
        text = (DATA / paper / "scenarios" / f"{case}.toml").read_text(encoding="utf-8")
        table = {**tomllib.loads(text), "duration": duration, "warmup": "5s"}
        yield {
            "title": f"{paper}: {table.get('name', case)}",
            "group": "papers",
            "scenario": table,
            "schedulers": [first, second],
        }


def _entry(title: str, group: str, paths: Any, receive_buffer: str, schedulers: tuple[str, str]) -> Entry:
    transport = {**COMMON["transport"], "receive_buffer": receive_buffer}
    scenario = {**COMMON, "transport": transport, "path": [*paths]}
    return {"title": title, "group": group, "scenario": scenario, "schedulers": list(schedulers)}
