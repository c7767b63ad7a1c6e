"""Statistics of the league's runs: better and best schedulers, and harm against one path alone.

Every comparison is at one point, of means over the same repetitions. A positive value is always
better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from runs import ALONE, Domain

from plait.results.metrics import direction
from plait.statistics.estimate import Estimate, bootstrap_mean, change_of_pairs

BASE = "lowest-rtt"
"""The baseline of all comparisons, which most systems use."""
TIE = 2.0
"""Percent, or percentage points of a share, within which two values count as equal."""
SHARE = "in_time_share"
"""A metric with differences in percentage points, because it may be 0."""


@dataclass(frozen=True)
class Standing:
    """A scheduler in one domain.

    gains: by metric, the gain over `BASE` over all points, with a 95 % interval; a gain in percent
    is the geometric mean of the ratios. best: number of points in which no other scheduler is
    better by more than `TIE`. harmful: number of points in which the best path alone is better by
    more than `TIE`, by the domain's first metric. harm: the lowest gain over that path, negative
    for harm. lacking: points without a value of the metric, which count as harmful.
    """

    scheduler: str
    gains: Mapping[str, Estimate]
    best: int
    harmful: int
    harm: float
    lacking: int
    points: int

    @property
    def is_better(self) -> bool:
        """Whether the first metric is better than that of `BASE`, by more than chance and a tie."""
        return surely(next(iter(self.gains.values()))) > 0

    @property
    def is_worse(self) -> bool:
        """Whether the first metric is worse than that of `BASE`, by more than chance and a tie."""
        return surely(next(iter(self.gains.values()))) < 0


def surely(gain: Estimate) -> int:
    """Return 1 for a gain beyond chance and a tie, −1 for such a loss, otherwise 0."""
    low, high = gain.interval or (gain.value, gain.value)
    if abs(gain.value) < TIE or low <= 0 <= high:
        return 0
    return 1 if gain.value > 0 else -1


def standings(domain: Domain, rows: pl.DataFrame) -> list[Standing]:
    """Return every scheduler of a domain, in the plan's order."""
    wide = {name: _by_scheduler(rows, name) for name in domain.metrics}
    first = domain.metrics[0]
    labels = [one for one in wide[first] if not one.startswith(f"{ALONE}:")]
    paths = [wide[first][one] for one in wide[first] if one.startswith(f"{ALONE}:")]
    alone = [_best(first, values) for values in zip(*paths, strict=True)]
    top = [_best(first, values) for values in zip(*(wide[first][one] for one in labels), strict=True)]
    made = []
    for label in labels:
        own = wide[first][label]
        against = [_gain(first, value, other) for value, other in zip(own, alone, strict=True)]
        made.append(
            Standing(
                label,
                {name: _paired(name, wide[name][label], wide[name][BASE]) for name in domain.metrics},
                sum(_gain(first, value, other) >= -TIE for value, other in zip(own, top, strict=True)),
                sum(one < -TIE for one in against),
                min(against),
                sum(value is None for value in own),
                len(own),
            )
        )
    return made


Values = Sequence[float | None]


def _by_scheduler(rows: pl.DataFrame, name: str) -> dict[str, list[float | None]]:
    """Return a metric of every scheduler, by point."""
    grouped = rows.sort("point").group_by("scheduler", maintain_order=True).agg(pl.col(name))
    order = list(rows["scheduler"].unique(maintain_order=True))
    found = dict(zip(grouped["scheduler"].to_list(), grouped[name].to_list(), strict=True))
    return {one: found[one] for one in order}


def _best(name: str, values: Values) -> float | None:
    known = [one for one in values if one is not None]
    if not known:
        return None
    return max(known) if direction(name) > 0 else min(known)


def _gain(name: str, value: float | None, base: float | None) -> float:
    """Return the gain of a value: percent, or percentage points.

    A missing value is −∞; without a base the gain is 0.
    """
    if value is None or base is None:
        return 0.0 if base is None else -math.inf
    if name == SHARE:
        return 100 * (value - base)
    if base == 0:
        return math.copysign(math.inf, direction(name) * value) if value else 0.0
    return direction(name) * (value / base - 1) * 100


def _paired(name: str, values: Values, base: Values) -> Estimate:
    """Return the gain over all points where both have a positive value, or a share."""
    pairs = [
        (one, other)
        for one, other in zip(values, base, strict=True)
        if one is not None and other is not None and (name == SHARE or (one > 0 and other > 0))
    ]
    own, others = [one for one, _ in pairs], [other for _, other in pairs]
    if name == SHARE:
        return bootstrap_mean([100 * (one - other) for one, other in pairs])
    change = change_of_pairs(own, others)
    return change if direction(name) > 0 else change.negated()
