"""Where a scheduler can be had: on stock Linux, with Plait's kernel, or in the simulator alone; and what each adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from plait.advice.candidates import base_name, stock
from plait.advice.judging import Choice, Standing, Verdict, choose, gain_of, verdict
from plait.advice.traffic import Traffic
from plait.advice.trial import Grid
from plait.linux.refusals import KERNEL_NAMES
from plait.statistics.estimate import Estimate

Place = Literal["stock", "kernel", "simulator"]
PLACES: tuple[Place, ...] = ("stock", "kernel", "simulator")
"""From the one that asks nothing of its user to the one that nobody can use."""
DEPLOYABLE: tuple[Place, ...] = ("stock", "kernel")


@dataclass(frozen=True)
class Answer:
    """The best choice of what a place has, all that easier places have included.

    best_new: the best of those that only this place has; adds: by how much it is better, in percent, than the choice
    of the place before, None if there is none.
    """

    place: Place
    choice: Choice
    verdict: Verdict
    best_new: Standing
    adds: Estimate | None


def place_of(scheduler: str, protocol: str) -> Place:
    """Where a scheduler can be had."""
    if protocol != "mptcp":
        return "simulator"
    if scheduler == stock():
        return "stock"
    return "kernel" if base_name(scheduler) in KERNEL_NAMES else "simulator"


def answers(grid: Grid, ranked: Sequence[Standing], traffic: Traffic, protocol: str) -> list[Answer]:
    """The best choice of each place, the easiest place first; places that have nothing new are left out."""
    places = {one.label: place_of(str(one.candidate.scheduler), protocol) for one in ranked}
    found: list[Answer] = []
    for number, place in enumerate(PLACES):
        new = [one for one in ranked if places[one.label] == place]
        if not new:
            continue
        here = [one for one in ranked if places[one.label] in PLACES[: number + 1]]
        choice = choose(grid, here, ranked, traffic)
        before = found[-1].choice.best if found else None
        best = _best_without_copies(new)
        adds = (
            None
            if before is None
            else gain_of(traffic, grid.scores(best.candidate), grid.scores(before.candidate))
        )
        found.append(Answer(place, choice, verdict(choice.best, grid.variations), best, adds))
    return found


def recommended(found: Sequence[Answer]) -> Answer | None:
    """The easiest that is worth it, else the easiest that may be, else the easiest; of what anyone can have, if any."""
    usable = [one for one in found if one.place in DEPLOYABLE] or list(found)
    for wanted in ("worth", "borderline"):
        for one in usable:
            if one.verdict == wanted:
                return one
    return usable[0] if usable else None


def _best_without_copies(ranked: Sequence[Standing]) -> Standing:
    """The best one; one that sends copies only if nothing else is there."""
    return next((one for one in ranked if not one.copies), ranked[0])
