"""Transitions, of which rewards are computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plait.gym.facts import Facts
from plait.results.result import Result


@dataclass(frozen=True, slots=True)
class Transition:
    """A step of the environment.

    before: the facts of the action. after: those of the next one. At the end of the run there is no
    next one: they are those of `before`, with the time of the end and all data delivered by then.
    result: the result of the run, at its end only.
    """

    before: Facts
    action: Any
    after: Facts
    result: Result | None


def megabits(transition: Transition) -> float:
    """Return the Mbit that were acknowledged in order during the step.

    The sum over an episode is the data delivered, warm-up included, in whole segments; goodput
    leaves the warm-up out.
    """
    before, after = transition.before, transition.after
    return (after.acknowledged - before.acknowledged) * 8e-6 * after.paths[0].mss
