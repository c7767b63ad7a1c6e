"""How well two engines agree: differences of means, what is noise, and whether schedulers are ranked alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import stats

from plait.estimate import CONFIDENCE
from plait.validate.cases import Validation
from plait.validate.metrics import METRICS, Scale
from plait.validate.runs import SHAKEN

GOODPUT = "goodput_bps"
PLACES = ("case", "scheduler", "metric")


@dataclass(frozen=True)
class Side:
    """An engine's runs of a case with a scheduler: mean and spread of a metric over the seeds."""

    mean: float
    deviation: float
    runs: int

    @property
    def error(self) -> float:
        """The variance of the mean."""
        return self.deviation**2 / self.runs

    @property
    def between_two(self) -> float:
        """Half of the confidence interval of the difference of two runs."""
        if self.runs < 2:
            return 0.0
        return float(stats.t.ppf((1 + CONFIDENCE) / 2, self.runs - 1)) * math.sqrt(2) * self.deviation


@dataclass(frozen=True)
class Comparison:
    """A metric of a case with a scheduler on both engines.

    difference: simulator minus kernel, on the metric's scale; None where the kernel has nothing to relate it to.
    noise: half of the 95 % confidence interval of the difference: of means over seeds (Welch); where chance has no
    part, of two runs that differ as much as the simulator's do when delays are changed by next to nothing.
    """

    case: str
    scheduler: str
    metric: str
    kernel: Side
    simulator: Side
    difference: float | None
    noise: float

    @property
    def beyond_noise(self) -> bool:
        """Whether chance does not explain the difference."""
        return self.difference is not None and abs(self.difference) > self.noise


@dataclass(frozen=True)
class Pair:
    """Two schedulers of a case whose goodputs differ in the kernel.

    kernel, simulator: by how many percent of the lower one's. The kernel's difference is positive; the simulator's is,
    too, if it ranks them alike.
    """

    case: str
    better: str
    worse: str
    kernel: float
    simulator: float
    noise: float

    @property
    def alike(self) -> bool:
        """Whether the simulator ranks them as the kernel does."""
        return self.simulator > 0


@dataclass(frozen=True)
class Goal:
    """What the simulator has to reach, and what it reached; `most` is an upper bound, otherwise a lower one."""

    name: str
    value: float
    bound: float
    most: bool

    @property
    def reached(self) -> bool:
        """Whether it is; not if there was nothing to measure."""
        return self.value <= self.bound if self.most else self.value >= self.bound


class Agreement:
    """The comparison of both engines over all cases.

    Args:
        validation: the cases, and how close the simulator has to come.
        runs: a frame as `measure` gives it: case, scheduler, engine, seed, metric, value.
    """

    def __init__(self, validation: Validation, runs: pl.DataFrame) -> None:
        self.validation = validation
        self.runs = runs
        self.limited = {case.id for case in validation.cases if case.limited}

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every metric that both engines have, by case and scheduler, in the order of the description."""
        sides: dict[tuple[str, ...], dict[str, Side]] = {}
        for (*place, engine), rows in self.runs.group_by(*PLACES, "engine", maintain_order=True):
            side = _side(rows["value"].to_list())
            sides.setdefault(tuple(str(one) for one in place), {})[str(engine)] = side
        scales = {metric.name: metric.scale for metric in METRICS}
        found = []
        for case in self.validation.cases:
            for scheduler, metric in itertools.product(case.schedulers, METRICS):
                both = sides.get((case.id, scheduler, metric.name), {})
                if {"linux", "sim"} <= both.keys():
                    kernel, simulator = both["linux"], both["sim"]
                    noise = both[SHAKEN].between_two if SHAKEN in both else welch(kernel, simulator)
                    difference, noise = _difference(kernel, simulator, noise, scales[metric.name])
                    found.append(
                        Comparison(case.id, scheduler, metric.name, kernel, simulator, difference, noise)
                    )
        return found

    def of(self, metric: str) -> list[Comparison]:
        """The comparisons of a metric."""
        return [one for one in self.comparisons if one.metric == metric]

    @cached_property
    def goodput(self) -> list[Comparison]:
        """Those of goodput where the application does not limit it, the largest difference first."""
        found = [one for one in self.of(GOODPUT) if one.case not in self.limited]
        return sorted(found, key=lambda one: -abs(one.difference or 0.0))

    @cached_property
    def pairs(self) -> list[Pair]:
        """Pairs of schedulers of a case whose goodputs are at least `apart` percent apart in the kernel."""
        by_case: dict[str, list[Comparison]] = {}
        for one in self.of(GOODPUT):
            by_case.setdefault(one.case, []).append(one)
        return [
            pair for some in by_case.values() for pair in _pairs(some) if pair.kernel > self.validation.apart
        ]

    def median(self) -> float:
        """The median of the differences of goodput, without sign, in percent."""
        return self._percentile(50)

    def p90(self) -> float:
        """The 90th percentile of the differences of goodput, without sign, in percent."""
        return self._percentile(90)

    def ranking(self) -> float:
        """Percent of the pairs that are ranked alike; 100 if there are none."""
        pairs = self.pairs
        return 100 * sum(pair.alike for pair in pairs) / len(pairs) if pairs else 100.0

    def _percentile(self, share: float) -> float:
        sizes = [abs(one.difference) for one in self.goodput if one.difference is not None]
        return float(np.percentile(sizes, share)) if sizes else math.nan

    def goals(self) -> list[Goal]:
        """What had to be reached."""
        bounds = self.validation
        return [
            Goal("median difference of goodput (%)", self.median(), bounds.median, most=True),
            Goal("90th percentile (%)", self.p90(), bounds.p90, most=True),
            Goal("pairs of schedulers ranked alike (%)", self.ranking(), bounds.ranking, most=False),
        ]

    def mechanism(self, case: str, scheduler: str) -> str:
        """Why the engines differ there, as far as it is known."""
        found = [one.mechanism for one in self.validation.explanations if one.covers(case, scheduler)]
        return "; ".join(found)

    def table(self) -> pl.DataFrame:
        """One row per case, scheduler and metric."""
        limited = self.limited
        return pl.DataFrame(
            [
                {
                    "case": one.case,
                    "scheduler": one.scheduler,
                    "metric": one.metric,
                    "kernel": one.kernel.mean,
                    "simulator": one.simulator.mean,
                    "kernel_deviation": one.kernel.deviation,
                    "simulator_deviation": one.simulator.deviation,
                    "kernel_runs": one.kernel.runs,
                    "simulator_runs": one.simulator.runs,
                    "difference": one.difference,
                    "noise": one.noise,
                    "beyond_noise": one.beyond_noise,
                    "application_limited": one.case in limited,
                }
                for one in self.comparisons
            ],
            infer_schema_length=None,
        )


def _side(values: list[float]) -> Side:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Side(float(np.mean(values)), deviation, len(values))


def _difference(kernel: Side, simulator: Side, noise: float, scale: Scale) -> tuple[float | None, float]:
    """Simulator minus kernel on a scale, and its noise."""
    difference = simulator.mean - kernel.mean
    if scale != "percent":
        return difference, noise
    if kernel.mean == 0:
        return (0.0 if simulator.mean == 0 else None), 0.0
    return 100 * difference / kernel.mean, 100 * noise / kernel.mean


def welch(one: Side, other: Side) -> float:
    """Half of the confidence interval of a difference of two means whose spreads may differ."""
    variance = one.error + other.error
    if variance == 0:
        return 0.0
    parts = sum(side.error**2 / (side.runs - 1) for side in (one, other) if side.runs > 1)
    return float(stats.t.ppf((1 + CONFIDENCE) / 2, variance**2 / parts) * math.sqrt(variance))


def _pairs(some: list[Comparison]) -> Iterator[Pair]:
    for pair in itertools.combinations(some, 2):
        worse, better = sorted(pair, key=lambda one: one.kernel.mean)
        if worse.kernel.mean > 0:
            yield Pair(
                case=worse.case,
                better=better.scheduler,
                worse=worse.scheduler,
                kernel=100 * (better.kernel.mean / worse.kernel.mean - 1),
                simulator=_above(better.simulator.mean, worse.simulator.mean),
                noise=100 * welch(better.kernel, worse.kernel) / worse.kernel.mean,
            )


def _above(one: float, other: float) -> float:
    """By how many percent of the lower value the first is above the second."""
    lower = min(one, other)
    return 100 * (one - other) / lower if lower > 0 else math.copysign(math.inf, one - other)
