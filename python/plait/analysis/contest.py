"""The winner of a region, or a tie: one definition for tables, maps and JSON.

Within a region, schedulers are compared over the pairs of point and seed in which all of them have
a value. Only schedulers with a value in the region count. So no scheduler gains by failing on hard
points. A tie is a region where the 95 % interval of the difference between the first two, over
points, contains zero. Without variation there is no interval; then, as with a single value, a tie
is a difference below `CLOSE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait.results.metrics import CLOSE
from plait.statistics.estimate import ROUNDING, student

Floats = NDArray[np.float64]
NOBODY = -1


@dataclass(frozen=True)
class Pairs:
    """The scenario and the seed of each row of values, as numbers."""

    scenarios: NDArray[np.int64]
    seeds: NDArray[np.int64]

    def __getitem__(self, rows: Any) -> Pairs:
        """Return some rows."""
        return Pairs(self.scenarios[rows], self.seeds[rows])


@dataclass(frozen=True)
class Contest:
    """The winner of each cell.

    winner: index of the scheduler, −1 for none. tie: whether the data cannot tell the winner from
    the runner-up. margin: the difference to the runner-up as a share of the larger of both, in
    percent. pairs: number of scenarios (or seeds of one) compared. means: by cell and scheduler.
    varies: whether the first or the second has different values; otherwise chance is unknown.
    """

    winner: NDArray[np.int64]
    tie: NDArray[np.bool_]
    margin: Floats
    pairs: NDArray[np.int64]
    means: Floats
    varies: NDArray[np.bool_]


def contest(
    values: Floats, place: NDArray[np.int64], cells: int, way: int, pairs: Pairs | None = None
) -> Contest:
    """Compare schedulers (columns of `values`, a row per pair) within cells.

    `way` is 1 if more is better, −1 if less is. The evidence is as in `evidence`; without `pairs`,
    every row is evidence.
    """
    inside = place >= 0
    values, place = values[inside], place[inside]
    finite = np.isfinite(values)
    present = np.array([np.bincount(place, one, cells) for one in finite.T]).T > 0
    complete = (finite | ~present[place]).all(axis=1) & finite.any(axis=1)
    values, place = values[complete], place[complete]
    if pairs is not None:
        values, place = evidence(values, place, cells, pairs[inside][complete])
    count = np.bincount(place, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.array([np.bincount(place, np.nan_to_num(one), cells) for one in values.T]).T
        means = np.where(present & (count > 0)[:, None], sums / count[:, None], np.nan)
    rank = np.argsort(np.where(np.isfinite(means), -way * means, np.inf), axis=1, kind="stable")
    first, second = rank[:, 0], rank[:, min(1, rank.shape[1] - 1)]
    rows = np.arange(cells)
    best, next_best = means[rows, first], means[rows, second]
    contested = np.isfinite(means).sum(axis=1) > 1
    gap = np.abs(best - next_best)
    larger = np.maximum(np.abs(best), np.abs(next_best))
    margin = np.where(contested & (larger > 0), 100 * gap / np.where(larger > 0, larger, 1), 0.0)
    chance, varies = _within_chance(values, place, first, second, count)
    tie = contested & (chance | (gap == 0) | (~varies & (margin < 100 * CLOSE)))
    return Contest(np.where(contested, first, NOBODY), tie, margin, count, means, varies)


def ahead(values: Floats, way: int) -> int | None:
    """Return the scheduler (column of `values`, a row per pair) that is best beyond chance.

    None if the data cannot tell it from the next one, also where several pairs have equal values.
    """
    if way == 0 or not len(values):
        return None
    held = contest(values, np.zeros(len(values), dtype=np.int64), 1, way)
    unknown = len(values) > 1 and not held.varies[0]
    return None if held.tie[0] or held.winner[0] == NOBODY or unknown else int(held.winner[0])


def evidence(
    values: Floats, place: NDArray[np.int64], cells: int, pairs: Pairs
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the independent evidence in each cell, with its cell.

    In a cell of several scenarios, it is the scenarios, each with the mean of its rows. In a cell
    of one scenario, it is the seeds.
    """
    both = np.stack([place, pairs.scenarios])
    different = np.unique(both, axis=1)
    several = np.bincount(different[0], minlength=cells) > 1
    apart = np.where(several[place], -1, pairs.seeds)
    keys, group = np.unique(np.vstack([both, apart]), axis=1, return_inverse=True)
    group = np.asarray(group).ravel()
    size = keys.shape[1]
    finite = np.isfinite(values)
    sums = np.array([np.bincount(group, one, size) for one in np.where(finite, values, 0.0).T]).T
    counts = np.array([np.bincount(group, one, size) for one in finite.T]).T
    with np.errstate(invalid="ignore"):
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means, keys[0]


def _within_chance(
    values: Floats, place: Any, first: Any, second: Any, pairs: Any
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Find ties, and cells with variation.

    In a tie, the interval of the paired difference between the first two contains zero.
    """
    count, rows = np.maximum(pairs, 1), np.arange(len(values))

    def spread(some: Floats) -> tuple[Any, Any]:
        average = np.bincount(place, some, len(pairs)) / count
        return average, np.bincount(place, (some - average[place]) ** 2, len(pairs))

    both = values[rows, first[place]], values[rows, second[place]]
    average, squares = spread(both[0] - both[1])
    varies = np.zeros(len(pairs), dtype=np.bool_)
    for mean, own in map(spread, both):
        varies |= (pairs > 1) & (own > count * (ROUNDING * mean) ** 2)
    error = np.sqrt(squares / np.maximum(pairs - 1, 1) / count)
    return varies & (np.abs(average) <= student(np.maximum(pairs, 2)) * error), varies
