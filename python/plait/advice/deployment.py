"""Places where a scheduler is available (stock Linux, Plait's kernel, simulator) and their gain."""

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
"""Places in order of effort, from no requirements to simulation only."""
DEPLOYABLE: tuple[Place, ...] = ("stock", "kernel")

UNCONFIRMED = frozenset({"plait"})
"""Schedulers of the kernel that the tables of docs/validation.md do not have yet."""


@dataclass(frozen=True)
class Answer:
    """The best choice at a place; schedulers of easier places are included.

    best_new: the best scheduler that only this place adds. adds: gain of `best_new` over the choice
    of the place before, in percent; None at the first place.
    """

    place: Place
    choice: Choice
    verdict: Verdict
    best_new: Standing
    adds: Estimate | None


def place_of(scheduler: str, protocol: str) -> Place:
    """Return the easiest place where a scheduler is available."""
    if protocol != "mptcp":
        return "simulator"
    if scheduler == stock():
        return "stock"
    name = base_name(scheduler)
    return "kernel" if name in KERNEL_NAMES and name not in UNCONFIRMED else "simulator"


def answers(grid: Grid, ranked: Sequence[Standing], traffic: Traffic, protocol: str) -> list[Answer]:
    """Return the best choice of each place, the easiest first; skip places that add nothing."""
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
    """Return the easiest deployable answer that is worth it, else borderline, else the easiest."""
    usable = [one for one in found if one.place in DEPLOYABLE] or list(found)
    for wanted in ("worth", "borderline"):
        for one in usable:
            if one.verdict == wanted:
                return one
    return usable[0] if usable else None


def _best_without_copies(ranked: Sequence[Standing]) -> Standing:
    """Return the best scheduler without copies; with copies only if there is no other."""
    return next((one for one in ranked if not one.copies), ranked[0])
