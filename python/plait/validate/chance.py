"""The figures of a perfect simulator: of two identical engines with the same numbers of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from plait.validate.agreement import BothEngines, Side, pair_noise

FloatArray = npt.NDArray[np.float64]

DRAWS = 2000
"""Number of draws of the differences."""


def percentiles(rows: Sequence[BothEngines], shares: Sequence[float]) -> list[float]:
    """Return percentiles of the differences without sign; NaN without rows."""
    deviations = _deviations(rows)
    if not len(deviations):
        return [math.nan for _ in shares]
    rng = np.random.default_rng(1)
    drawn = np.abs(rng.standard_normal((DRAWS, len(deviations)))) * deviations
    return [float(np.mean(np.percentile(drawn, share, axis=1))) for share in shares]


def beyond_noise(rows: Sequence[BothEngines]) -> float:
    """Return the percentage of rows beyond noise: 5, or less if noise is below `SMALL`.

    NaN without rows.
    """
    known = [one for one in rows if one.difference is not None]
    if not known:
        return math.nan
    found = [
        2 * stats.t.sf(one.limit / one.chance.deviation, one.chance.freedom)
        for one in known
        if one.chance.deviation > 0
    ]
    return 100 * sum(map(float, found)) / len(known)


def mean_difference(rows: Sequence[BothEngines]) -> float:
    """Return the mean signed difference, without its sign; NaN without rows."""
    squares = [one.balanced_deviation**2 for one in rows if one.difference is not None]
    # The mean size of a normal variable is the root of 2/pi of its deviation.
    return math.sqrt(2 / math.pi * sum(squares)) / len(squares) if squares else math.nan


def ranking(rivals: Sequence[tuple[BothEngines, BothEngines]], apart: float) -> float:
    """Return the percentage of pairs that would be ranked alike.

    Each scheduler's true mean is that of all runs, and both engines' means are drawn around it. A
    pair counts if the kernel's drawn means are more than `apart` percent and more than noise apart,
    like true pairs. Two schedulers with the same results in both engines count as one.
    """
    rng = np.random.default_rng(1)
    alike = counted = 0.0
    for pair in rivals:
        if pair[0].kernel == pair[1].kernel and pair[0].simulator == pair[1].simulator:
            continue
        kernel, simulator = (
            np.array([_drawn(one, side, rng) for one, side in zip(pair, sides, strict=True)])
            for sides in ([one.kernel for one in pair], [one.simulator for one in pair])
        )
        least = np.maximum(apart / 100 * np.abs(kernel).min(axis=0), pair_noise(*pair))
        counts = np.abs(kernel[0] - kernel[1]) > least
        counted += float(np.sum(counts))
        alike += float(np.sum(counts & ((kernel[0] > kernel[1]) == (simulator[0] > simulator[1]))))
    return 100 * alike / counted if counted else math.nan


def _deviations(rows: Sequence[BothEngines]) -> FloatArray:
    return np.array([one.chance.deviation for one in rows if one.difference is not None])


def _drawn(one: BothEngines, side: Side, rng: np.random.Generator) -> FloatArray:
    """Draw means of a side's number of runs, if the engines are the same."""
    sides = (one.kernel, one.simulator)
    runs = sum(each.runs for each in sides)
    middle = sum(each.mean * each.runs for each in sides) / runs
    freedom = runs - len(sides)
    deviation = math.sqrt(sum(each.squares for each in sides) / freedom) if freedom else 0.0
    return middle + deviation / math.sqrt(side.runs) * rng.standard_normal(DRAWS)
