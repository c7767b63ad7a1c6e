"""Both directions of a call beside a transfer: one path for both, or a path for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from plait.advice.budget import SEARCHED
from plait.advice.candidates import Candidate
from plait.advice.choices import Direction
from plait.advice.judging import gain_of
from plait.advice.shaped import can_be_shaped, shaped
from plait.advice.trial import Cell, Grid, Setting, TrialRunner
from plait.advice.variations import Variation
from plait.statistics.estimate import Estimate


@dataclass(frozen=True)
class OnePath:
    """One path alone for both directions, with its queue as stated or with FQ-CoDel.

    `down` and `up` are median scores. `worse` is the median of the larger one of each variation.
    """

    path: str
    shaped: bool
    down: float
    up: float
    worse: float

    @property
    def label(self) -> str:
        """Its name in sentences."""
        return f"{self.path} alone{' with FQ-CoDel' if self.shaped else ''}"


@dataclass(frozen=True)
class Directions:
    """Paths alone by the worse direction, the best first, and the best path of each direction.

    `gain` is that of `down` and `up` over the first of `paths`, in the worse direction.
    """

    paths: tuple[OnePath, ...]
    down: OnePath
    up: OnePath
    gain: Estimate
    variations: int


def search(runner: TrialRunner, setting: Setting, grid: Grid, events: float) -> Directions | None:
    """Run each path alone in the other direction, too, and with FQ-CoDel in both.

    None for other traffic, for a single path, or if two variations cost too many events.
    """
    traffic, count = setting.traffic, len(setting.paths)
    if traffic.kind != "blocks" or not traffic.beside or count < 2:
        return None
    singles = [Candidate((index,)) for index in range(count)]
    each = sum(outcome.events for one in singles for outcome in grid.outcomes[one]) / grid.variations
    chosen = runner.variations[: min(SEARCHED, grid.variations, int(events / max(each, 1.0)))]
    if len(chosen) < 2:
        return None
    other = _turned(setting)

    def scores(here: Setting, one: Candidate) -> Sequence[float]:
        if here is setting:
            return grid.scores(one)[: len(chosen)]
        varied = chosen if here.direction == setting.direction else list(map(_exchanged, chosen))
        return [
            outcome.score
            for outcome in runner.run(Cell(here, one, variation, grid.duration_ns) for variation in varied)
        ]

    ways: dict[tuple[int, bool], tuple[Sequence[float], Sequence[float]]] = {}
    for index, one in enumerate(singles):
        for queued in (False, True)[: 1 + can_be_shaped(setting.paths[index])]:
            both = [scores(shaped(here) if queued else here, one) for here in (setting, other)]
            down, up = both if setting.direction == "down" else both[::-1]
            ways[index, queued] = down, up
    worse = {key: list(map(max, *both)) for key, both in ways.items()}
    order = sorted(ways, key=lambda key: median(worse[key]))
    best = order[0]
    first, second = (min(ways, key=lambda key: median(ways[key][way])) for way in (0, 1))
    apart = list(map(max, ways[first][0], ways[second][1]))
    rows = {
        (index, queued): OnePath(
            setting.paths[index].name,
            queued,
            median(ways[index, queued][0]),
            median(ways[index, queued][1]),
            median(worse[index, queued]),
        )
        for index, queued in order
    }
    return Directions(
        paths=tuple(rows.values()),
        down=rows[first],
        up=rows[second],
        gain=gain_of(traffic, apart, worse[best]),
        variations=len(chosen),
    )


def _turned(setting: Setting) -> Setting:
    """Return the setting with the blocks in the other direction; the transfer keeps its own."""
    turned: Direction = "up" if setting.direction == "down" else "down"
    return replace(setting, paths=tuple(path.turned() for path in setting.paths), direction=turned)


def _exchanged(variation: Variation) -> Variation:
    """Return the variation of the turned paths: each direction keeps its rate."""
    factors = tuple(replace(one, rate=one.back, back=one.rate) for one in variation.factors)
    return replace(variation, factors=factors)
