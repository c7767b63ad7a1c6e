"""A paper on another engine than the simulator: what runs there, with which changes, and what is said of it.

`papers/<paper>/<engine>.toml`, beside the paper's own files:

    [set]                              # changes of every scenario, by dotted key
    "transport.receive_buffer" = "6MiB"

    [[skip]]                           # not run, and why; what the engine refuses by itself need not be listed
    scenarios = ["pooling-queue-*"]
    schedulers = ["redundant"]         # all without it
    reason = "each takes minutes"

    [[expected]]                       # as in expected.toml: replaces what is said there, reasons always
    scenarios = ["H_6-*"]
    schedulers = ["delivery-delay"]
    metric = "change.goodput_bps"
    reason = "…"
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Skip:
    """Runs that are not made: those of the scenarios with the schedulers, of which none means all."""

    scenarios: tuple[str, ...]
    reason: str
    schedulers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Adaptation:
    """What an engine needs otherwise; the simulator needs nothing."""

    set: Mapping[str, Any] = field(default_factory=dict)
    skip: Sequence[Skip] = ()

    def skipped(self, scenario: str, scheduler: str) -> str | None:
        """Why a run is not made; None if it is."""
        for one in self.skip:
            if scenario in one.scenarios and (not one.schedulers or scheduler in one.schedulers):
                return one.reason
        return None
