"""Engines make runs from scenarios; metrics of their results mean the same on every engine.

A new engine needs a module with a subclass of `Engine`, and a line and a name in `registry`.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

from plait import _core

Ability = Literal["python", "library", "workload", "controller", "pcap"]
"""Abilities that some engines lack: Python schedulers, library schedulers, workloads and congestion
controllers of the user, Wireshark captures."""


class Refused(_core.ScenarioError):
    """An engine cannot make a run; `why` has the place, the value and the reason."""

    def __init__(self, engine: str, scenario: str, what: str, reason: str) -> None:
        super().__init__(f"{scenario}: {what}: not with the {engine} engine: {reason}")
        self.why = f"{what}: {reason}"


@dataclass(frozen=True, kw_only=True)
class Order:
    """One run to be made, and the data to record beside the metrics.

    series_ns: the interval of the time series in nanoseconds; None for none. decisions: whether to
    record decisions.
    """

    job: _core.Job
    series_ns: int | None = None
    decisions: bool = False


@cache
def core_hash() -> str:
    """Return a hash of the extension: a local build changes results without a new version."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()


class Engine(ABC):
    """Makes runs.

    name: its name for users. lacks: the abilities that it lacks, and the reasons.
    """

    name: ClassVar[str]
    lacks: ClassVar[Mapping[Ability, str]] = {}

    def refusal(self, order: Order) -> str | None:  # noqa: ARG002 - for those that refuse
        """Return the reason why the engine cannot make a run; None if it can."""
        return None

    def key(self, order: Order) -> str:
        """Return a text that changes with everything on which the result of a run depends.

        Raises:
            Refused: the engine cannot make the run.
        """
        return f"{core_hash()} {order.job.scenario.json}"

    @abstractmethod
    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """Make the runs, `workers` at a time (0: one per core); return results in the given order.

        Raises:
            ScenarioError: the engine cannot simulate a scenario. RunError: a run failed.
                KeyboardInterrupt: interrupted; nothing is left running.
        """
