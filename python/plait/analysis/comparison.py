"""A scheduler against a baseline, on pairs of runs with equal scenario and randomness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from plait.statistics import estimate
from plait.statistics.estimate import Estimate
from plait.sweep.dataset import SCENARIO

UNIT = {True: "points", False: "seeds"}
"""The unit of comparison: points with different scenarios, each with the means of its runs, if
there are at least two; otherwise seeds."""


@dataclass(frozen=True)
class Units:
    """The values of each scheduler, a row per unit of comparison; runs of a row are pairs.

    The seeds of one scenario are no independent evidence about other scenarios, nor are the values
    of a scheduler's parameter. With several scenarios, a unit is therefore a scenario, with the
    mean of its runs.
    """

    kind: str
    schedulers: tuple[str, ...]
    values: NDArray[np.float64]
    pairs: int
    """Pairs of runs: scenarios times seeds at which every scheduler has a value."""
    left_out: int
    """Scenarios times seeds at which a run of a scheduler failed, or has no value."""

    def of(self, scheduler: str) -> NDArray[np.float64]:
        """Return the values of a scheduler."""
        return self.values[:, self.schedulers.index(scheduler)]


@dataclass(frozen=True)
class AgainstBaseline:
    """A scheduler's metric against the baseline's.

    mean, baseline: in the metric's unit. difference: mean of the differences of pairs, in the
    metric's unit, with Student's interval. change: the same in percent of the baseline's mean, with
    Fieller's interval; None if that mean is zero. Both intervals contain zero, or neither.
    effect_size: mean of the differences over their standard deviation (Cohen's d_z); None where all
    differences are equal. wins, ties, losses: number of units in which the metric is better, equal,
    worse. p: p-value of Student's test of the differences, corrected for the number of schedulers
    (Holm); None where all differences are equal.
    """

    scheduler: str
    units: int
    mean: float
    baseline: float
    difference: Estimate
    change: Estimate | None
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    p: float | None

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval of the difference excludes zero: Student's test, not corrected."""
        held = self.difference.interval
        return held is not None and not held[0] <= 0 <= held[1]

    def turned(self, way: int) -> AgainstBaseline:
        """Return the comparison with the signs of gains: more than zero is better.

        `way` is −1 where less of the metric is better.
        """
        if way > 0:
            return self
        return replace(
            self,
            difference=self.difference.negated(),
            change=None if self.change is None else self.change.negated(),
            effect_size=None if self.effect_size is None else -self.effect_size,
        )


def units(frame: pl.DataFrame, metric: str, schedulers: Sequence[str]) -> Units:
    """Return the values of a metric.

    `frame` has columns point, `SCENARIO`, seed, scheduler and the metric. Rows of one scenario and
    seed differ in parameters of schedulers: their mean is one value.
    """
    place = [SCENARIO, "seed"]
    wide = frame.select("point", *place, "scheduler", metric).pivot(
        on="scheduler", index=["point", *place], values=metric
    )
    missing = [pl.lit(None, pl.Float64).alias(name) for name in schedulers if name not in wide.columns]
    wide = wide.with_columns(missing)
    whole = wide.drop_nulls(list(schedulers))
    several = whole[SCENARIO].n_unique() > 1
    means = pl.col(list(schedulers)).cast(pl.Float64).mean()
    values = whole.group_by(place[not several], maintain_order=True).agg(means).drop(place[not several])
    left_out = wide.join(whole, on=["point", "seed"], how="anti")
    pairs, lost = (one.n_unique(place) if len(one) else 0 for one in (whole, left_out))
    return Units(UNIT[several], tuple(schedulers), values.to_numpy(), pairs, lost)


def compare(found: Units, baseline: str, *, higher: bool, tie: float) -> list[AgainstBaseline]:
    """Compare every other scheduler with the baseline.

    Args:
        found: see `units`.
        baseline: one of its schedulers.
        higher: whether more of the metric is better.
        tie: share of the larger value within which two values count as equal.
    """
    base = found.of(baseline)
    others = [name for name in found.schedulers if name != baseline]
    p_values = holm([_student(found.of(name) - base) for name in others])
    return [
        _comparison(name, found.of(name), base, p, higher=higher, tie=tie)
        for name, p in zip(others, p_values, strict=True)
    ]


def _comparison(
    name: str,
    values: NDArray[np.float64],
    base: NDArray[np.float64],
    p: float | None,
    *,
    higher: bool,
    tie: float,
) -> AgainstBaseline:
    differences = values - base
    better = outcome(values, base, higher=higher, tie=tie)
    deviation = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return AgainstBaseline(
        scheduler=name,
        units=len(values),
        mean=float(values.mean()),
        baseline=float(base.mean()),
        difference=estimate.mean(differences),
        change=estimate.change_of_mean(values, base),
        effect_size=float(differences.mean()) / deviation if deviation > 0 else None,
        wins=int(np.sum(better > 0)),
        ties=int(np.sum(better == 0)),
        losses=int(np.sum(better < 0)),
        p=p,
    )


def outcome(
    values: NDArray[np.float64], base: NDArray[np.float64], *, higher: bool, tie: float
) -> NDArray[np.int8]:
    """Return 1 where a value wins, −1 where it loses, 0 where both are equal.

    Equal values differ by at most the share `tie` of the larger one.
    """
    difference = values - base if higher else base - values
    equal = np.abs(difference) <= tie * np.maximum(np.abs(values), np.abs(base))
    return np.where(equal, 0, np.sign(difference)).astype(np.int8)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Correct p-values for their number (Holm's step-down method)."""
    given = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, at) in enumerate(given):
        largest = max(largest, min(1.0, p * (len(given) - rank)))
        corrected[at] = largest
    return corrected


def _student(differences: NDArray[np.float64]) -> float | None:
    """Return the p-value of Student's test of paired differences; None if all are equal."""
    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    return float(stats.ttest_1samp(differences, 0.0).pvalue)
