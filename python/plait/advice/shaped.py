"""A shaped queue beside a transfer: one path alone with FQ-CoDel, against the recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from plait.advice.budget import SEARCHED
from plait.advice.candidates import Candidate
from plait.advice.judging import WORTH_PERCENT, gain_of
from plait.advice.links import KnownPath
from plait.advice.outcome import Outcome
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.statistics.estimate import Estimate

SHAPED = 0.9
"""Share of a link's rate to which its router shapes. Only below the rate, packets wait in the
router's own queue."""


@dataclass(frozen=True)
class Shaped:
    """The best path alone with FQ-CoDel, compared with the recommendation without it.

    `gain` is in percent, over the recommendation. `score` is the median in the unit of scores.
    `beside_bps` is the median goodput of the transfer beside the traffic.
    """

    path: str
    gain: Estimate
    score: float
    beside_bps: float
    variations: int

    @property
    def better(self) -> bool:
        """Whether it is better beyond chance, by enough to be worth it."""
        low = self.gain.value if self.gain.low is None else self.gain.low
        return low >= WORTH_PERCENT


def search(
    runner: TrialRunner, setting: Setting, grid: Grid, advised: Candidate, events: float
) -> Shaped | None:
    """Run every path alone with FQ-CoDel, and return the best one.

    None without a transfer beside the traffic, without a path that can be shaped, or if two
    variations cost too many events. Recordings are left out: a router cannot shape to a rate that
    changes.
    """
    able = [index for index, path in enumerate(setting.paths) if can_be_shaped(path)]
    if not setting.traffic.beside or not able:
        return None
    singles = [Candidate((index,)) for index in able]
    each = sum(outcome.events for one in singles for outcome in grid.outcomes[one]) / grid.variations
    count = min(SEARCHED, grid.variations, int(events / max(each, 1.0)))
    if count < 2:
        return None
    queued = shaped(setting)
    chosen = runner.variations[:count]
    base = grid.scores(advised)[:count]

    def found(one: Candidate) -> Shaped:
        outcomes = runner.run(Cell(queued, one, variation, grid.duration_ns) for variation in chosen)
        return _compared(setting, one, outcomes, base)

    return max(map(found, singles), key=lambda one: one.gain.value)


def shaped(setting: Setting) -> Setting:
    """Return the setting with FQ-CoDel at every path that can have it."""
    return replace(setting, paths=tuple(map(_shaped, setting.paths)))


def _compared(setting: Setting, one: Candidate, outcomes: Sequence[Outcome], base: Sequence[float]) -> Shaped:
    scores = [outcome.score for outcome in outcomes]
    return Shaped(
        path=setting.paths[one.paths[0]].name,
        gain=gain_of(setting.traffic, scores, base),
        score=median(scores),
        beside_bps=median(outcome.beside_bps for outcome in outcomes),
        variations=len(outcomes),
    )


def can_be_shaped(path: KnownPath) -> bool:
    """Return whether a router can shape the path: it has a rate, and no such queue yet."""
    return path.discipline is None and path.trace is None and path.back_trace is None


def _shaped(path: KnownPath) -> KnownPath:
    """Return a path with FQ-CoDel in both directions, below its rates."""
    if path.rate_bps is None or not can_be_shaped(path):
        return path
    back = None if path.back_bps is None else round(path.back_bps * SHAPED)
    return replace(path, queue="fq_codel", rate_bps=round(path.rate_bps * SHAPED), back_bps=back)
