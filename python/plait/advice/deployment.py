"""Places where a scheduler is available (stock Linux, Plait's kernel, simulator) and their gain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from plait.advice.budget import CONFIRMED
from plait.advice.candidates import Candidate, base_name, stock
from plait.advice.judging import (
    Choice,
    Standing,
    Verdict,
    choose,
    compared,
    gain_of,
    is_better,
    is_wasteful,
    verdict,
)
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


@dataclass(frozen=True)
class Pick:
    """The choice of the first stage at a place: the scheduler, and the best of its own ones."""

    place: Place
    best: Candidate
    best_new: Candidate


def picks(grid: Grid, ranked: Sequence[Standing], traffic: Traffic, protocol: str) -> list[Pick]:
    """Choose a scheduler for each place, the easiest place first; skip places that add nothing."""
    places = {one.label: place_of(one.label, protocol) for one in ranked}
    found: list[Pick] = []
    for number, place in enumerate(PLACES):
        new = [one for one in ranked if places[one.label] == place]
        if not new:
            continue
        here = [one for one in ranked if places[one.label] in PLACES[: number + 1]]
        best = choose(grid, here, traffic)
        found.append(Pick(place, best.candidate, _best_without_copies(new).candidate))
    return found


def confirmed(
    picked: Sequence[Pick], grid: Grid, ranked: Sequence[Standing], named: Collection[str]
) -> list[Candidate]:
    """Return the schedulers of the second stage: the choices, the named ones, and the best ones.

    Schedulers with the results of another one come last.
    """
    wanted = [one for pick in picked for one in (pick.best, pick.best_new)]
    plain = [one.candidate for one in ranked if not one.copies][:1]
    others = [one.candidate for one in ranked if one.label in named]
    rest = [one.candidate for one in ranked]
    results = {tuple(grid.scores(one)): one for one in (*reversed(rest), *reversed(wanted))}
    distinct = [one for one in rest if one in results.values()]
    order = list(dict.fromkeys([*wanted, *plain, *others, *distinct, *rest]))[:CONFIRMED]
    return [one.candidate for one in ranked if one.candidate in order]


def answers(
    picked: Sequence[Pick], grid: Grid, ranked: Sequence[Standing], traffic: Traffic, protocol: str
) -> list[Answer]:
    """Judge the choices of the first stage by the runs of the second one.

    If these show that another scheduler of the place is better, beyond chance, it replaces the
    choice, unless its packet delay is too long for so little more goodput.
    """
    rows = {one.candidate: one for one in ranked}
    found: list[Answer] = []
    for pick in picked:
        choice = compared(grid, rows[pick.best], ranked, traffic)
        number = PLACES.index(pick.place)
        better = (
            one
            for one in ranked
            if one.label in choice.better
            and place_of(one.label, protocol) in PLACES[: number + 1]
            and not is_wasteful(grid, one, choice.best, traffic)
        )
        instead = next(better, None)
        if instead is not None:
            choice = compared(grid, instead, ranked, traffic)
        before = found[-1].choice.best if found else None
        best = rows[pick.best_new]
        adds = (
            None
            if before is None
            else gain_of(traffic, grid.scores(best.candidate), grid.scores(before.candidate))
        )
        found.append(Answer(pick.place, choice, verdict(choice.best, grid.variations), best, adds))
    return found


def recommended(found: Sequence[Answer], traffic: Traffic) -> Answer | None:
    """Return the easiest deployable answer that is worth it, else a borderline one.

    A borderline answer gives way to a better one, and to one with a gain if it has none. Without
    either, the easiest answer is returned.
    """
    usable = [one for one in found if one.place in DEPLOYABLE] or list(found)
    worth = [one for one in usable if one.verdict == "worth"]
    if worth:
        return worth[0]
    best: Answer | None = None
    for one in (one for one in usable if one.verdict == "borderline"):
        if best is None or surely_better(one, best, traffic) is not None:
            best = one
        best = one if _gains(one, traffic) and not _gains(best, traffic) else best
    return best or (usable[0] if usable else None)


def _gains(one: Answer, traffic: Traffic) -> bool:
    gain = one.choice.best.gain
    return gain is not None and gain.value > traffic.alike_percent


def surely_better(one: Answer, other: Answer, traffic: Traffic) -> Estimate | None:
    """Return the gain of an answer over another one, if it is beyond chance."""
    lag = other.choice.lags.get(one.choice.best.label)
    return lag if lag is not None and is_better(lag, traffic, other.choice.width) else None


def _best_without_copies(ranked: Sequence[Standing]) -> Standing:
    """Return the best scheduler without copies; with copies only if there is no other."""
    return next((one for one in ranked if not one.copies), ranked[0])
