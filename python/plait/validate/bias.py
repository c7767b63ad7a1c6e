"""Bias of the simulator: mean signed differences and their errors, for all rows and by region.

Rows of a case share its links and its seeds, so they are not independent: the errors count cases,
not rows (Liang and Zeger, "Longitudinal data analysis using generalized linear models", 1986).
There are many overlapping regions, so some means are outside their errors by chance. Random draws
give their number: without bias, either sign of a case's differences is equally likely. So all signs
are drawn anew, and the regions are judged again (Westfall and Young, "Resampling-Based Multiple
Testing", 1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import stats

from plait.statistics.estimate import CONFIDENCE
from plait.validate.agreement import BothEngines

FloatArray = npt.NDArray[np.float64]

DRAWS = 2000
"""Number of draws of the signs."""
FEW = 10
"""Minimum number of cases of a judged region: with fewer, its error is hardly known."""


@dataclass(frozen=True)
class Bias:
    """A mean signed difference in percent, and half of its 95 % interval.

    The error is NaN with fewer than two cases.
    """

    mean: float
    error: float
    cases: int

    def outside(self, wide: float = 1.0) -> bool:
        """Whether the mean is more than `wide` errors from zero; False if the error is unknown."""
        return abs(self.mean) > wide * self.error


@dataclass(frozen=True)
class Judged:
    """The means of all regions, judged together.

    regions: number of regions with at least `FEW` cases. outside: regions with a mean outside its
    error; by_chance: average number of these without bias. wide: in 95 % of the draws without bias,
    all means are within this number of errors. biased: regions with a mean outside this number of
    errors.
    """

    regions: int
    outside: int
    by_chance: float
    wide: float
    biased: int


class Biases:
    """The signed differences of rows, summed by case.

    Args:
        rows: rows of one metric.
    """

    def __init__(self, rows: Sequence[BothEngines]) -> None:
        by_case: dict[str, list[float]] = {}
        for one in rows:
            if one.difference is not None:
                by_case.setdefault(one.case, []).append(one.balanced)
        self._cases = list(by_case)
        self._sums = np.array([sum(some) for some in by_case.values()], dtype=np.float64)
        self._rows = np.array([len(some) for some in by_case.values()], dtype=np.float64)

    @cached_property
    def overall(self) -> Bias:
        """The bias of all rows."""
        return self.of(self._cases)

    def of(self, cases: Sequence[str]) -> Bias:
        """Return the bias of the rows of these cases."""
        inside = self._inside([cases])
        means, errors = self._means(inside, self._sums[np.newaxis])
        return Bias(float(means[0, 0]), float(errors[0, 0]), int(inside.sum()))

    def judge(self, regions: Sequence[Sequence[str]]) -> Judged:
        """Judge regions, each given by the names of its cases."""
        inside = self._inside(regions)
        inside = inside[:, inside.sum(axis=0) >= FEW]
        signs = np.random.default_rng(1).choice((-1.0, 1.0), (DRAWS, len(self._sums)))
        drawn = self._sizes(inside, signs * self._sums)
        found = self._sizes(inside, self._sums[np.newaxis])[0]
        wide = max(1.0, float(np.quantile(drawn.max(axis=1, initial=0.0), CONFIDENCE)))
        return Judged(
            regions=inside.shape[1],
            outside=int(np.sum(found > 1)),
            by_chance=float(np.mean(np.sum(drawn > 1, axis=1))),
            wide=wide,
            biased=int(np.sum(found > wide)),
        )

    def _inside(self, regions: Sequence[Sequence[str]]) -> FloatArray:
        """Return a column per region, with 1 for each case in it."""
        columns = [np.isin(self._cases, list(region)) for region in regions]
        return np.array(columns, dtype=np.float64).reshape(len(regions), len(self._cases)).T

    def _sizes(self, inside: FloatArray, sums: FloatArray) -> FloatArray:
        """Return per draw and region the mean without sign in errors; 0 if the error is unknown."""
        means, errors = self._means(inside, sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(np.abs(means) / errors, nan=0.0, posinf=math.inf)

    def _means(self, inside: FloatArray, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean of the rows, and its error by cases, per draw and region.

        A draw is a line of sums by case.
        """
        rows, cases = self._rows @ inside, inside.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums @ inside / rows
            # The sum over cases of the square of (case's sum - its rows * mean), multiplied out.
            squares = (
                sums**2 @ inside
                - 2 * means * ((sums * self._rows) @ inside)
                + means**2 * (self._rows**2 @ inside)
            )
            variances = cases / (cases - 1) * np.maximum(squares, 0.0) / rows**2
            errors = stats.t.ppf((1 + CONFIDENCE) / 2, cases - 1) * np.sqrt(variances)
        return means, np.where(cases > 1, errors, np.nan)
