"""What competes: every scheduler over all paths, and each path alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from plait import _core
from plait.scenarios.own import is_own
from plait.scenarios.scenario import Path, Scenario
from plait.scenarios.scheduler import Choice, called, parse_choice, schedulers

DEFAULT = "lowest-rtt"
"""The rule that MPTCP began with in Linux; its options are candidates too."""
KERNELS_OWN = "linux-default"
"""Today's default scheduler of stock Linux."""
VARIANTS = ("+rp", "+bm")


@dataclass(frozen=True)
class Candidate:
    """A scheduler over some of the paths (their indices), or one path alone, where nothing is scheduled."""

    paths: tuple[int, ...]
    scheduler: str | None = None


def usual_schedulers(*, messages: bool) -> list[str]:
    """All built-in schedulers, and lowest RTT with the options.

    Those that go by messages only where the traffic has any: for one endless stream they are lowest RTT or ECF.
    """
    some = [one["name"] for one in schedulers() if messages or "messages" not in one["needs"]]
    return [*some, *(DEFAULT + variant for variant in VARIANTS)]


def checked(names: Sequence[str]) -> list[str]:
    """The names, each once.

    Raises:
        ScenarioError: none, or one is no built-in scheduler, or has no such option or parameter.
    """
    if not names:
        known = [one["name"] for one in schedulers()]
        message = f"schedulers: expected at least one of: {', '.join(known)}"
        raise _core.ScenarioError(message)
    for name in names:
        if is_own(name):
            message = (
                f"scheduler {name!r}: advice takes built-in schedulers only; plait compare takes this one"
            )
            raise _core.ScenarioError(message)
        called(base_name(name))
    for name in names:
        try:
            _ = Scenario(paths=[Path(rate="1Mbit", rtt="1ms")], scheduler=table_of(name)).json
        except _core.ScenarioError as error:
            message = f"scheduler {name!r}: {str(error).removeprefix('scenario: scheduler: ')}"
            raise _core.ScenarioError(message) from error
    return list(dict.fromkeys(names))


def candidates(paths: int, names: Sequence[str]) -> tuple[list[Candidate], list[Candidate]]:
    """Each path alone, and each scheduler over all paths; with one path there is nothing to schedule."""
    every = tuple(range(paths))
    return [Candidate((index,)) for index in every], [Candidate(every, name) for name in names if paths > 1]


def copying(scheduler: str | None) -> bool:
    """Whether a scheduler may send everything more than once."""
    return scheduler is not None and "reinject" in _needs()[base_name(scheduler)]


@cache
def _needs() -> dict[str, list[str]]:
    """What each scheduler needs from a transport."""
    return {one["name"]: one["needs"] for one in schedulers()}


@cache
def stock() -> str:
    """What stock Linux does: its default scheduler, or what stands for it where that is not simulated."""
    return KERNELS_OWN if KERNELS_OWN in _needs() else DEFAULT


def effort(name: str) -> int:
    """How much it takes to have a scheduler: 0 for stock Linux' own, 1 if it needs nothing special, else 2."""
    if name == stock():
        return 0
    return 1 if base_name(name) == name and not _needs()[name] else 2


def table_of(name: str) -> str | Mapping[str, Any]:
    """A built-in scheduler as scenario files have it."""
    choice: Choice = parse_choice(name)
    assert isinstance(choice, str | Mapping)
    return choice


def base_name(name: str) -> str:
    """The scheduler's name without options and parameters."""
    return name.split(":", maxsplit=1)[0].split("+", maxsplit=1)[0]
