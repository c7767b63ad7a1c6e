"""Adaptation of a paper to an engine: scenario changes, skipped runs, expected values.

`papers/<paper>/<engine>.toml`, beside the paper's own files:

    [set]                              # changes of every scenario, by dotted key
    "transport.receive_buffer" = "6MiB"

    [[skip]]                           # skipped runs; runs that the engine refuses are implicit
    scenarios = ["pooling-queue-*"]
    schedulers = ["redundant"]         # default: all
    reason = "each takes minutes"

    [[expected]]                       # as in expected.toml: replaces the entry there
    scenarios = ["H_6-*"]
    schedulers = ["delivery-delay"]
    metric = "change.goodput_bps"
    reason = "…"                       # reasons of expected.toml never apply here
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Skip:
    """Skipped runs: those of the scenarios with the schedulers; no schedulers means all."""

    scenarios: tuple[str, ...]
    reason: str
    schedulers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adaptation:
    """Changes for an engine; the simulator needs none."""

    set: Mapping[str, Any] = field(default_factory=dict)
    skip: Sequence[Skip] = ()

    def skipped(self, scenario: str, scheduler: str) -> str | None:
        """Return the reason why a run is skipped; None if it is made."""
        for one in self.skip:
            if scenario in one.scenarios and (not one.schedulers or scheduler in one.schedulers):
                return one.reason
        return None
