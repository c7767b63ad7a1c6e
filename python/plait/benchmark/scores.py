"""Scores: ratios to the best known value, to the bound, and to the best path alone.

The value of a point is the mean of its repetitions. A ratio is from 0 to 1 where the reference is
the best, so more is better for every metric: of delays and times it is the reference over the
value. A scheduler without a value at a point has the ratio 0 there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait.benchmark.runs import ALONE, BOUND, MEAN
from plait.benchmark.suite import Point
from plait.statistics.estimate import Estimate, bootstrap_mean, change_of_pairs

NEAR = 0.95
"""The least ratio that counts as near: within 5 %."""
ALL = "all"
"""The name of all domains together."""
Ratios = NDArray[np.float64]


@dataclass(frozen=True)
class Standing:
    """A scheduler in one domain, or in all.

    near_best, near_bound: shares of the points within 5 % of the best known value and of the
    bound. low, median: 5th percentile and median of the ratios to the best known value. harmless:
    share of the points at which the best path alone is not better by more than 5 %. gain: percent
    by which it is better than the baseline, as geometric mean over the points with both values.
    missing: points without a value. Estimates have 95 % intervals over points.
    """

    scheduler: str
    domain: str
    points: int
    near_best: Estimate
    low: float
    median: float
    near_bound: Estimate
    harmless: Estimate
    gain: Estimate | None
    missing: int


@dataclass(frozen=True)
class Case:
    """A scheduler at a point: its value, and the best known one with its scheduler."""

    scheduler: str
    point: Point
    ratio: float
    value: float | None
    best: float
    best_scheduler: str


class Scores:
    """The ratios of schedulers at points.

    Args:
        points: the points.
        rows: rows of runs, and of references; further schedulers in them count as known.
        schedulers: labels of the schedulers to judge.
        baseline: label of the scheduler to compare with.
    """

    def __init__(
        self, points: Sequence[Point], rows: pl.DataFrame, schedulers: Sequence[str], baseline: str
    ) -> None:
        self.points, self.schedulers, self.baseline = points, schedulers, baseline
        self._way = np.array([one.way for one in points])
        places = pl.DataFrame(
            {"domain": [one.domain for one in points], "point": [one.number for one in points]}
        )
        means = rows.group_by("domain", "point", "scheduler", maintain_order=True).agg(MEAN)
        wide = places.join(
            means.pivot(on="scheduler", index=["domain", "point"], values="value"),
            on=["domain", "point"],
            how="left",
            maintain_order="left",
        )
        self.values: Mapping[str, Ratios] = {
            name: wide[name].to_numpy().astype(np.float64) for name in wide.columns[2:]
        }
        self.known = [name for name in self.values if name not in (ALONE, BOUND)]
        signed = np.array(
            [
                np.where(np.isnan(own), -np.inf, self._way * own)
                for own in (self.values[name] for name in self.known)
            ]
        )
        self._first = signed.argmax(axis=0)
        self.best = self._way * signed.max(axis=0)

    def ratio(self, scheduler: str, reference: Ratios) -> Ratios:
        """Return the ratio of a scheduler's values to a reference at each point."""
        own = self.values[scheduler]
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(self._way > 0, own / reference, reference / own)
        return np.nan_to_num(found, nan=0.0, posinf=1.0, neginf=0.0)

    def of_best(self, scheduler: str) -> Ratios:
        """Return the ratio to the best known value at each point."""
        return self.ratio(scheduler, self.best)

    def standings(self) -> list[Standing]:
        """Return the schedulers in each domain and in all, by the share near the best."""
        names = list(dict.fromkeys(one.domain for one in self.points))
        found = []
        for domain in (*names, *([ALL] if len(names) > 1 else [])):
            here = np.array([domain in (ALL, one.domain) for one in self.points])
            own = [self._standing(name, domain, here) for name in self.schedulers]
            found += sorted(own, key=lambda one: (-one.near_best.value, -one.median))
        return found

    def _standing(self, name: str, domain: str, here: NDArray[np.bool_]) -> Standing:
        of_best = self.of_best(name)[here]
        return Standing(
            name,
            domain,
            int(here.sum()),
            _near(of_best),
            float(np.quantile(of_best, 0.05)),
            float(np.median(of_best)),
            _near(self.ratio(name, self.values[BOUND])[here]),
            _near(self.ratio(name, self.values[ALONE])[here]),
            self._gain(name, here),
            int(np.isnan(self.values[name][here]).sum()),
        )

    def _gain(self, name: str, here: NDArray[np.bool_]) -> Estimate | None:
        if name == self.baseline:
            return None
        ratio = self.ratio(name, self.values[self.baseline])
        both = here & (ratio > 0) & np.isfinite(self.values[self.baseline])
        return change_of_pairs(ratio[both], np.ones(both.sum())) if both.any() else None

    def worst(self, scheduler: str, number: int) -> list[Case]:
        """Return the points with the lowest ratios to the best known value, the lowest first."""
        ratios, own = self.of_best(scheduler), self.values[scheduler]
        return [
            Case(
                scheduler,
                self.points[at],
                float(ratios[at]),
                None if np.isnan(own[at]) else float(own[at]),
                float(self.best[at]),
                self.known[self._first[at]],
            )
            for at in np.argsort(ratios, kind="stable")[:number]
        ]


def _near(ratios: Ratios) -> Estimate:
    return bootstrap_mean((ratios >= NEAR).astype(np.float64))
