"""What makes runs: an engine takes scenarios and gives results, whose metrics mean the same whatever made them.

To add one: a module with a subclass of `Engine`, and in `registry` a line and a name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from plait import _core

Ability = Literal["python", "library", "pcap"]
"""What not every engine can do: run schedulers written in Python or from libraries, write captures for Wireshark."""


class Refused(_core.ScenarioError):
    """An engine cannot make a run: `why` names the place and the value, and says what the engine has."""

    def __init__(self, engine: str, scenario: str, what: str, reason: str) -> None:
        super().__init__(f"{scenario}: {what}: not with the {engine} engine: {reason}")
        self.why = f"{what}: {reason}"


@dataclass(frozen=True, kw_only=True)
class Order:
    """One run to be made, and what to record of it beside the metrics.

    series_ns: the interval of the time series in nanoseconds; None for none. decisions: whether to record decisions.
    """

    job: _core.Job
    series_ns: int | None = None
    decisions: bool = False


class Engine(ABC):
    """Makes runs.

    name: how users call it. lacks: what it cannot do, and why.
    """

    name: ClassVar[str]
    lacks: ClassVar[Mapping[Ability, str]] = {}

    def refusal(self, order: Order) -> str | None:  # noqa: ARG002 - for those that refuse
        """Why it cannot make a run; None if it can."""
        return None

    @abstractmethod
    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """Make the runs, `workers` at a time (0: one per core); results in the order of the orders.

        Raises:
            ScenarioError: it cannot do what a scenario asks for. RunError: a run failed. KeyboardInterrupt:
                interrupted; nothing is left running.
        """
