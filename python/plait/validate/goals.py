"""The goals of a validation: measured value, value of a perfect simulator, bound.

A perfect simulator reaches each goal in nearly all draws. Its share of rows beyond noise is at most
5 % by the definition of noise, and its mean signed difference is zero. For percentiles, chance
alone should stay below `HALF` of the goal; a goal with more is marked. Bias is not judged with
fewer than `plait.validate.bias.FEW` cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from plait.statistics.estimate import CONFIDENCE
from plait.validate import chance
from plait.validate.agreement import Agreement, BothEngines, percentile
from plait.validate.bias import FEW, Biases

HALF = 0.5
"""Share of a percentile's goal that chance alone must stay below, or the goal means nothing."""


@dataclass(frozen=True)
class Goal:
    """A bound and the measured value.

    sense: an upper bound, a lower bound, or a bound of the size of a signed value. chance: the
    value of two identical engines with the same numbers of runs; NaN if unknown. blurred: whether
    chance is too large a part of the bound for a meaningful goal.
    """

    name: str
    value: float
    bound: float
    chance: float
    sense: Literal["≤", "≥", "±"] = "≤"
    blurred: bool = False

    @property
    def reached(self) -> bool:
        """Whether the goal is reached; False without a measured value."""
        if self.sense == "≥":
            return self.value >= self.bound
        return (abs(self.value) if self.sense == "±" else self.value) <= self.bound


def goals(found: Agreement) -> list[Goal]:
    """Return all goals of a validation, in the order of the table."""
    bounds = found.validation.goals
    apart = found.told_apart
    alike = 100 * float(np.mean([pair.alike for pair in apart])) if apart else 100.0
    return [
        *_of_metric(found, "goodput", found.goodput, bounds.goodput),
        *_of_metric(found, "application delay", found.delay, bounds.delay),
        Goal(
            "pairs of schedulers ranked alike (%)",
            alike,
            bounds.ranking,
            chance.ranking(found.rivals, bounds.apart),
            "≥",
        ),
    ]


def _of_metric(
    found: Agreement, what: str, rows: Sequence[BothEngines], limits: Mapping[int, float]
) -> Iterator[Goal]:
    known = [one for one in rows if one.difference is not None]
    share = 100 * float(np.mean([one.beyond_noise for one in known])) if known else math.nan
    yield Goal(
        f"{what}: rows beyond noise (%)", share, found.validation.goals.beyond, chance.beyond_noise(rows)
    )
    biases = Biases(rows)
    overall = biases.overall
    if overall.cases >= FEW:
        yield Goal(
            f"{what}: mean signed difference (%)",
            overall.mean,
            overall.error,
            chance.mean_difference(rows),
            "±",
        )
        judged = biases.judge(found.by_region)
        yield Goal(f"{what}: biased regions of {judged.regions}", judged.biased, 0, 1 - CONFIDENCE)
    alone = chance.percentiles(rows, list(limits))
    for (at, bound), by_chance in zip(limits.items(), alone, strict=True):
        name = "median" if at == 50 else f"{at}th percentile"
        yield Goal(
            f"{what}: {name} of the differences (%)",
            percentile(rows, at),
            bound,
            by_chance,
            blurred=by_chance >= HALF * bound,
        )
