"""Estimates from several runs: a value and its confidence interval.

Means have Student's interval, which is made for few runs; medians and ratios have bootstrap intervals (percentiles of
resampled data), which need no assumption about the distribution. Always the same numbers for the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
"""Share of such intervals that contain the true value."""
RESAMPLES = 4999
"""Resamples of a bootstrap."""
ROUNDING = 1e-12
"""Relative width of an interval that is nothing but rounding of binary fractions."""
MOST_RESAMPLED = 4_000_000
"""Values in memory at a time."""


Values = Sequence[float] | NDArray[np.float64]
"""Of several runs."""


@dataclass(frozen=True)
class Estimate:
    """A value, and its confidence interval if it comes from several runs that differ.

    Values that are all the same say nothing about chance: that is no interval, not one of zero width.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The confidence interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def negated(self) -> Estimate:
        """The same with the other sign."""
        low, high = self.interval or (None, None)
        return Estimate(-self.value, None if high is None else -high, None if low is None else -low)


def mean(values: Values) -> Estimate:
    """The mean with Student's interval."""
    data = np.asarray(values, dtype=np.float64)
    value = float(data.mean())
    if len(data) < 2 or np.ptp(data) == 0:
        return Estimate(value)
    half = float(student(len(data)) * stats.sem(data))
    return Estimate(value, value - half, value + half)


def bootstrap_mean(values: Values) -> Estimate:
    """The mean with a bootstrap interval, for values that are far from normally distributed."""
    data = np.asarray(values, dtype=np.float64)
    return _bootstrap(float(data.mean()), (data,), np.mean)


def student(count: Any) -> Any:
    """Half the width of a mean's interval in standard errors, for `count` ≥ 2 values; of an array, for each."""
    return stats.t.ppf((1 + CONFIDENCE) / 2, np.asarray(count) - 1)


def width_for_many(comparisons: int, count: int) -> float:
    """How many times wider than a bootstrap's 95 % intervals those are that hold for many comparisons at once.

    Bonferroni's correction, with Student's quantiles for `count` values, since a bootstrap of few is too narrow.
    """
    tail = (1 - CONFIDENCE) / 2
    return float(stats.t.ppf(1 - tail / max(comparisons, 1), max(count - 1, 1)) / stats.norm.ppf(1 - tail))


def surely_more_than(share: float, holds: int, count: int) -> bool:
    """Whether what holds in so many of `count` samples holds in more than a share of all: a one-sided binomial test."""
    return bool(stats.binomtest(holds, count, share, alternative="greater").pvalue <= 1 - CONFIDENCE)


def median(values: Values) -> Estimate:
    """The median with a bootstrap interval."""
    data = np.asarray(values, dtype=np.float64)
    return _bootstrap(float(np.median(data)), (data,), np.median)


def median_by_ranks(values: Values) -> Estimate:
    """The median with an interval between two of the values, by the binomial distribution: for samples of any size."""
    data = np.asarray(values, dtype=np.float64)
    value = float(np.median(data))
    if len(data) < 2:
        return Estimate(value)
    interval: Any = stats.quantile_test(data, q=value, p=0.5).confidence_interval(CONFIDENCE)
    # Too few values for such an interval, or all the same.
    if not (np.isfinite(interval.low) and np.isfinite(interval.high)) or np.ptp(data) == 0:
        return Estimate(value)
    return Estimate(value, float(interval.low), float(interval.high))


def change_of_mean(values: Values, base: Values) -> Estimate | None:
    """By how many percent the mean is above that of `base`; runs in the same place are pairs (same seed or point).

    None unless the base's mean is more than zero; without an interval if the base is zero in so many places that
    resamples of nothing but zeros, which are infinitely exceeded, reach into it.
    """
    above, below = np.asarray(values, dtype=np.float64), np.asarray(base, dtype=np.float64)
    if below.mean() <= 0:
        return None

    def percent(one: Any, other: Any, axis: int) -> Any:
        mean, base_mean = one.mean(axis=axis), other.mean(axis=axis)
        of_zero = np.where(mean > 0, np.inf, 0.0)  # of two samples of zeros neither exceeds the other
        ratio = np.divide(mean, base_mean, out=np.ones_like(mean), where=base_mean > 0) - 1
        return np.where(base_mean > 0, ratio * 100, of_zero)

    value = float(percent(above, below, -1))
    if np.count_nonzero(below) < len(below) / 2:
        return Estimate(value)
    return _bootstrap(value, (above, below), percent)


def change_of_pairs(values: Values, base: Values) -> Estimate:
    """By how many percent a value is above the one of `base` in the same place: the ratios' geometric mean.

    Every pair counts alike, whether its values are large or small; twice as much in one pair and half as much in
    another cancel out. All values have to be positive.
    """
    ratios = np.log(np.asarray(values, dtype=np.float64)) - np.log(np.asarray(base, dtype=np.float64))

    def percent(logarithm: float | None) -> float | None:
        return None if logarithm is None else float(np.expm1(logarithm)) * 100

    logarithms = _bootstrap(float(ratios.mean()), (ratios,), np.mean)
    return Estimate(
        float(np.expm1(logarithms.value)) * 100, percent(logarithms.low), percent(logarithms.high)
    )


def difference_of_median(values: Sequence[float], base: Sequence[float]) -> Estimate:
    """The median of the differences of pairs, with a bootstrap interval."""
    return median([one - other for one, other in zip(values, base, strict=True)])


def _batch(size: int) -> int | None:
    """Resamples to hold in memory at a time, of data of this size; None: all of them."""
    return None if size * RESAMPLES <= MOST_RESAMPLED else max(1, MOST_RESAMPLED // size)


def _bootstrap(value: float, data: tuple[Any, ...], statistic: Any) -> Estimate:
    if len(data[0]) < 2 or all(np.ptp(one) == 0 for one in data):
        return Estimate(value)
    # Not scipy's bootstrap: it takes an infinite resample for data without any interval, and warns of it.
    rng, size = np.random.default_rng(1), len(data[0])
    batch = _batch(size) or RESAMPLES
    found = []
    for start in range(0, RESAMPLES, batch):
        drawn = rng.integers(0, size, (min(batch, RESAMPLES - start), size))
        found.append(statistic(*(one[drawn] for one in data), axis=-1))
    tail = (1 - CONFIDENCE) / 2
    with np.errstate(invalid="ignore"):  # between two infinite resamples
        low, high = np.quantile(np.concatenate(found), [tail, 1 - tail])
    # Where one of two is always the same multiple of the other, resamples differ by rounding alone.
    varies = np.isfinite([low, high]).all() and high - low > ROUNDING * max(abs(low), abs(high), 1.0)
    return Estimate(value, float(low), float(high)) if varies else Estimate(value)
