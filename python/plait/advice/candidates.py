"""Candidates: every scheduler over all paths, and each path alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from plait import _core
from plait.scenarios.own import is_own
from plait.scenarios.scenario import Scenario
from plait.scenarios.scheduler import Choice, called, parse_choice, schedulers
from plait.scenarios.topology import Path

DEFAULT = "lowest-rtt"
"""The first scheduling rule of MPTCP in Linux. Its options are candidates too."""
KERNELS_OWN = "linux-default"
"""The present default scheduler of stock Linux."""
SPARING = "cheapest-first"
"""The scheduler for metered paths."""
VARIANTS = ("+rp", "+bm")


@dataclass(frozen=True)
class Candidate:
    """A scheduler over some of the paths (by index), or a single path without a scheduler."""

    paths: tuple[int, ...]
    scheduler: str | None = None


def usual_schedulers(*, messages: bool) -> list[str]:
    """Return all built-in schedulers, and lowest RTT with each option.

    Schedulers that use message boundaries are included only if the traffic has messages: for one
    endless stream they behave as lowest RTT or ECF.
    """
    some = [one["name"] for one in schedulers() if messages or "messages" not in one["needs"]]
    return [*some, *(DEFAULT + variant for variant in VARIANTS)]


def checked(names: Sequence[str]) -> list[str]:
    """Return the names without duplicates.

    Raises:
        ScenarioError: there is no name, a name is no built-in scheduler, or the scheduler has no
            such option or parameter.
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
            Scenario(paths=[Path(rate="1Mbit", rtt="1ms")], scheduler=table_of(name))
        except _core.ScenarioError as error:
            message = f"scheduler {name!r}: {str(error).removeprefix('scenario: scheduler: ')}"
            raise _core.ScenarioError(message) from error
    return list(dict.fromkeys(names))


def candidates(paths: int, names: Sequence[str]) -> tuple[list[Candidate], list[Candidate]]:
    """Return each path alone, and each scheduler over all paths (none if there is one path)."""
    every = tuple(range(paths))
    return [Candidate((index,)) for index in every], [Candidate(every, name) for name in names if paths > 1]


def copying(scheduler: str | None) -> bool:
    """Return whether a scheduler may send all data more than once."""
    return scheduler is not None and "reinject" in _needs()[base_name(scheduler)]


@cache
def _needs() -> dict[str, list[str]]:
    """Return the transport features that each scheduler needs."""
    return {one["name"]: one["needs"] for one in schedulers()}


@cache
def stock() -> str:
    """Return the default scheduler of stock Linux, or its stand-in where it is not simulated."""
    return KERNELS_OWN if KERNELS_OWN in _needs() else DEFAULT


def effort(name: str) -> int:
    """Rank the effort to deploy a scheduler: 0 stock Linux, 1 no special needs, 2 otherwise."""
    if name == stock():
        return 0
    return 1 if base_name(name) == name and not _needs()[name] else 2


def table_of(name: str) -> str | Mapping[str, Any]:
    """Return a built-in scheduler in the form of scenario files."""
    choice: Choice = parse_choice(name)
    assert isinstance(choice, str | Mapping)
    return choice


def base_name(name: str) -> str:
    """Return the scheduler's name without options and parameters."""
    return name.split(":", maxsplit=1)[0].split("+", maxsplit=1)[0]
