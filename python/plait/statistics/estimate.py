"""Estimates from several runs: a value and its confidence interval.

Means have Student's interval, which suits few runs. A ratio of two means has Fieller's interval,
which follows from Student's test: it contains 1 if and only if Student's interval of the difference
contains 0. Medians and means of ratios have bootstrap intervals (percentiles of resampled data),
which need no assumption about the distribution. The same data always gives the same numbers.
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
"""Relative width up to which an interval is only due to rounding of binary fractions."""
SAME_RATIO = 1e-6
"""Relative width up to which a ratio's interval is only rounding: its width is a square root."""
MOST_RESAMPLED = 4_000_000
"""Maximum number of resampled values in memory."""


Values = Sequence[float] | NDArray[np.float64]
"""Values of several runs."""


@dataclass(frozen=True)
class Estimate:
    """A value, with a confidence interval if it comes from several different runs.

    Equal values do not show the influence of chance, so they have no interval instead of one of
    zero width.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The confidence interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def negated(self) -> Estimate:
        """Return the estimate with the opposite sign."""
        low, high = self.interval or (None, None)
        return Estimate(-self.value, None if high is None else -high, None if low is None else -low)


def mean(values: Values) -> Estimate:
    """Return the mean with Student's interval."""
    data = np.asarray(values, dtype=np.float64)
    value = float(data.mean())
    if len(data) < 2 or np.ptp(data) == 0:
        return Estimate(value)
    half = float(student(len(data)) * stats.sem(data))
    return Estimate(value, value - half, value + half)


def bootstrap_mean(values: Values) -> Estimate:
    """Return the mean with a bootstrap interval, for values far from normally distributed."""
    data = np.asarray(values, dtype=np.float64)
    return _bootstrap(data, np.mean)


def student(count: Any) -> Any:
    """Return half the width of a mean's interval in standard errors, for `count` ≥ 2 values.

    An array of counts gives an array.
    """
    return stats.t.ppf((1 + CONFIDENCE) / 2, np.asarray(count) - 1)


def width_for_many(comparisons: int, count: int) -> float:
    """Return the factor that widens Student's 95 % intervals for many simultaneous comparisons.

    It is Bonferroni's correction for intervals of `count` values.
    """
    tail, freedom = (1 - CONFIDENCE) / 2, max(count - 1, 1)
    return float(stats.t.ppf(1 - tail / max(comparisons, 1), freedom) / stats.t.ppf(1 - tail, freedom))


def surely_more_than(share: float, holds: int, count: int) -> bool:
    """Whether a property holds in more than a share of all cases, by a one-sided binomial test.

    It holds in `holds` of `count` samples.
    """
    return bool(stats.binomtest(holds, count, share, alternative="greater").pvalue <= 1 - CONFIDENCE)


def median(values: Values) -> Estimate:
    """Return the median with a bootstrap interval."""
    data = np.asarray(values, dtype=np.float64)
    return _bootstrap(data, np.median)


def median_by_ranks(values: Values) -> Estimate:
    """Return the median with an interval between two of the values, for samples of any size.

    The interval follows from the binomial distribution.
    """
    data = np.asarray(values, dtype=np.float64)
    value = float(np.median(data))
    if len(data) < 2:
        return Estimate(value)
    interval: Any = stats.quantile_test(data, q=value, p=0.5).confidence_interval(CONFIDENCE)
    # Too few values for such an interval, or all are equal.
    if not (np.isfinite(interval.low) and np.isfinite(interval.high)) or np.ptp(data) == 0:
        return Estimate(value)
    return Estimate(value, float(interval.low), float(interval.high))


def change_of_mean(values: Values, base: Values) -> Estimate | None:
    """Return by how many percent the mean exceeds that of `base`; runs with one index are pairs.

    A pair has the same seed or point. None unless the base's mean is positive. The interval is
    Fieller's ("Some problems in interval estimation", J. R. Stat. Soc. B 16, 1954): the changes r
    for which Student's test does not reject that the mean of value − (1 + r) · base is zero. So it
    contains zero if and only if Student's interval of the differences does. There is no interval
    if Student's interval of the base's mean contains zero, because it would be unbounded.
    """
    above, below = np.asarray(values, dtype=np.float64), np.asarray(base, dtype=np.float64)
    middle = float(below.mean())
    if middle <= 0:
        return None
    gaps = above - below
    value = 100 * float(gaps.mean()) / middle
    if len(below) < 2 or np.ptp(gaps) == 0:
        return Estimate(value)
    (own, both), (_, other) = np.cov(gaps, below) * float(student(len(below))) ** 2 / len(below)
    square, linear, rest = (
        middle**2 - other,
        float(gaps.mean()) * middle - both,
        float(gaps.mean()) ** 2 - own,
    )
    if square <= 0:
        return Estimate(value)
    half = np.sqrt(max(linear**2 - square * rest, 0.0))
    low, high = 100 * (linear - half) / square, 100 * (linear + half) / square
    # If one is always the same multiple of the other, the ends differ only by rounding.
    varies = high - low > SAME_RATIO * max(abs(low), abs(high), 1.0)
    return Estimate(value, float(low), float(high)) if varies else Estimate(value)


def change_of_pairs(values: Values, base: Values) -> Estimate:
    """Return the percentage by which values exceed those of `base`, as geometric mean of ratios.

    Every pair has the same weight, for small and large values: a ratio of 2 in one pair and of 1/2
    in another cancel out. All values must be positive.
    """
    ratios = np.log(np.asarray(values, dtype=np.float64)) - np.log(np.asarray(base, dtype=np.float64))

    def percent(logarithm: float | None) -> float | None:
        return None if logarithm is None else float(np.expm1(logarithm)) * 100

    logarithms = _bootstrap(ratios, np.mean)
    return Estimate(
        float(np.expm1(logarithms.value)) * 100, percent(logarithms.low), percent(logarithms.high)
    )


def _batch(size: int) -> int | None:
    """Return the maximum number of resamples in memory for data of this size; None: all."""
    return None if size * RESAMPLES <= MOST_RESAMPLED else max(1, MOST_RESAMPLED // size)


def _bootstrap(data: NDArray[np.float64], statistic: Any) -> Estimate:
    value = float(statistic(data))
    if len(data) < 2 or np.ptp(data) == 0:
        return Estimate(value)
    found: Any = stats.bootstrap(
        (data,),
        statistic,
        n_resamples=RESAMPLES,
        batch=_batch(len(data)),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    low, high = float(found.low), float(found.high)
    # If all values are equal but for rounding, so are the resamples.
    varies = high - low > ROUNDING * max(abs(low), abs(high), 1.0)
    return Estimate(value, low, high) if varies else Estimate(value)
