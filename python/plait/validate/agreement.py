"""Agreement of two engines: differences of means, their noise, and the ranking of schedulers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import stats

from plait.statistics.estimate import CONFIDENCE
from plait.validate.cases import Case, Validation
from plait.validate.metrics import COMPLETION, DELAY, GOODPUT, METRICS, Scale
from plait.validate.regions import order
from plait.validate.runs import Measured

CARRIED = 0.98
"""Share of the blocks' rate from which on the application, not the engine, limits goodput."""
SMALL = 1.0
"""Percent (or one unit of the metric's scale): a smaller difference never counts as beyond
noise."""
ENDLESS = 1e6
"""Percent: the difference if the kernel delivered nothing and the simulator something."""


@dataclass(frozen=True)
class Side:
    """An engine's runs of a case with a scheduler: mean and spread of a metric over the seeds."""

    mean: float
    deviation: float
    runs: int

    @property
    def squares(self) -> float:
        """The sum of the squares of deviations from the mean."""
        return self.deviation**2 * (self.runs - 1)


@dataclass(frozen=True)
class Noise:
    """The random difference between two identical engines.

    deviation: its standard deviation. freedom: the degrees of freedom of this estimate.
    """

    deviation: float = 0.0
    freedom: int = 0

    @property
    def bound(self) -> float:
        """The bound that 95 % of the differences do not exceed."""
        if self.freedom == 0:
            return 0.0
        return float(stats.t.ppf((1 + CONFIDENCE) / 2, self.freedom)) * self.deviation


@dataclass(frozen=True)
class BothEngines:
    """A metric of a case with a scheduler on both engines.

    difference: simulator minus kernel, on the metric's scale; None if the kernel's value does not
    allow a relative one. chance: the random part of the difference, on the same scale.
    """

    case: str
    scheduler: str
    metric: str
    kernel: Side
    simulator: Side
    difference: float | None
    chance: Noise

    @property
    def noise(self) -> float:
        """Half of the 95 % confidence interval of the difference."""
        return self.chance.bound

    @property
    def limit(self) -> float:
        """The bound above which a difference is beyond noise."""
        return max(SMALL, self.noise)

    @property
    def beyond_noise(self) -> bool:
        """Whether the difference is larger than `SMALL` and than chance explains."""
        return self.difference is not None and abs(self.difference) > self.limit

    @property
    def balanced(self) -> float:
        """Simulator minus kernel in percent of the mean of all runs; negated for completion times.

        If the engines are the same, its expected value is zero, for any number of runs and any
        distribution: each division of the runs into two groups is then equally likely. In percent
        of the kernel's mean it would be positive, because the mean of few runs varies and is the
        divisor.
        """
        percent = self._percent_of_both(self.simulator.mean - self.kernel.mean)
        return -percent if self.metric == COMPLETION else percent

    @property
    def balanced_deviation(self) -> float:
        """The standard deviation of `balanced` by chance."""
        return self._percent_of_both(pooled(self.kernel, self.simulator).deviation)

    def _percent_of_both(self, value: float) -> float:
        both = (self.kernel, self.simulator)
        middle = sum(side.mean * side.runs for side in both) / sum(side.runs for side in both)
        return 100 * value / middle if middle else 0.0


@dataclass(frozen=True)
class Pair:
    """Two schedulers of a case with different goodputs in the kernel.

    kernel, simulator: difference in percent of the lower goodput. The kernel's is positive; the
    simulator's is positive if it ranks them alike. noise: the random part of the kernel's.
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


class Agreement:
    """The comparison of both engines over all cases.

    Args:
        validation: the cases, and the goals of the simulator.
        measured: the runs, from `measure`.
    """

    def __init__(self, validation: Validation, measured: Measured) -> None:
        self.validation = validation
        self.measured = measured
        self.cases = {case.id: case for case in validation.cases}

    @cached_property
    def _sides(self) -> Mapping[tuple[str, str, str], Mapping[str, Side]]:
        """The sides of the engines, by case, scheduler and metric."""
        sides: dict[tuple[str, str, str], dict[str, Side]] = {}
        grouped = self.measured.runs.group_by("case", "scheduler", "metric", "engine", maintain_order=True)
        for case, scheduler, metric, engine, found in grouped.agg("value").iter_rows():
            sides.setdefault((case, scheduler, metric), {})[engine] = _side(found)
        return sides

    def side(self, case: str, scheduler: str, engine: str, metric: str) -> Side | None:
        """Return an engine's runs, also of a metric that only one engine has; None without runs."""
        return self._sides.get((case, scheduler, metric), {}).get(engine)

    @cached_property
    def comparisons(self) -> list[BothEngines]:
        """Every metric that both engines have, by case and scheduler, in the order of cases."""
        found = []
        for case in self.validation.cases:
            for scheduler, metric in itertools.product(case.schedulers, METRICS):
                both = self._sides.get((case.id, scheduler, metric.name), {})
                if {"linux", "sim"} <= both.keys():
                    kernel, simulator = both["linux"], both["sim"]
                    noise = pooled(kernel, simulator)
                    difference, noise = _difference(kernel, simulator, noise, metric.scale)
                    found.append(
                        BothEngines(case.id, scheduler, metric.name, kernel, simulator, difference, noise)
                    )
        return found

    @cached_property
    def _by_metric(self) -> Mapping[str, Mapping[tuple[str, str], BothEngines]]:
        found: dict[str, dict[tuple[str, str], BothEngines]] = {}
        for one in self.comparisons:
            found.setdefault(one.metric, {})[one.case, one.scheduler] = one
        return found

    def of(self, metric: str) -> list[BothEngines]:
        """Return the comparisons of a metric."""
        return list(self._by_metric.get(metric, {}).values())

    def limited(self, one: BothEngines) -> bool:
        """Whether the application, with its own rate, limits goodput in both engines."""
        offered = self.cases[one.case].offered_bps
        return offered is not None and min(one.kernel.mean, one.simulator.mean) >= CARRIED * offered

    @cached_property
    def goodput(self) -> list[BothEngines]:
        """The comparisons of goodput not limited by the application, the largest difference first.

        For files they compare the completion time, if every run of both engines delivered all.
        """
        times = self._by_metric.get(COMPLETION, {})
        found = []
        for one in self.of(GOODPUT):
            if self.limited(one):
                continue
            time = times.get((one.case, one.scheduler))
            complete = time is not None and all(
                of.runs == all_of.runs
                for of, all_of in ((time.kernel, one.kernel), (time.simulator, one.simulator))
            )
            found.append(time if time is not None and complete else one)
        return sorted(found, key=lambda one: -abs(one.difference or 0.0))

    @cached_property
    def delay(self) -> list[BothEngines]:
        """The comparisons of the mean application delay."""
        return self.of(DELAY)

    @cached_property
    def rivals(self) -> list[tuple[BothEngines, BothEngines]]:
        """All pairs of schedulers of a case."""
        by_case: dict[str, list[BothEngines]] = {}
        for one in self.of(GOODPUT):
            by_case.setdefault(one.case, []).append(one)
        return [pair for some in by_case.values() for pair in itertools.combinations(some, 2)]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Pairs of schedulers of a case, at least `apart` percent apart in the kernel's goodput."""
        pairs = (_pair(*rivals) for rivals in self.rivals)
        return [pair for pair in pairs if pair is not None and pair.kernel > self.validation.goals.apart]

    @cached_property
    def told_apart(self) -> list[Pair]:
        """The pairs with goodputs that differ by more than noise: the better one is known."""
        return [pair for pair in self.pairs if pair.kernel > pair.noise]

    def regions(self) -> Iterator[tuple[str, str, list[Case]]]:
        """Yield every property of cases, its values, and the cases with each value, in order."""
        kinds = list(dict.fromkeys(kind for case in self.validation.cases for kind in case.facets))
        for kind in kinds:
            values: dict[str, list[Case]] = {}
            for case in self.validation.cases:
                values.setdefault(case.facets[kind], []).append(case)
            for value in sorted(values, key=order):
                yield kind, value, values[value]

    @cached_property
    def by_region(self) -> list[list[str]]:
        """The names of each region's cases."""
        return [[case.id for case in cases] for _, _, cases in self.regions()]

    def spread_ratio(self) -> float:
        """Return the kernel's spread of goodput over seeds, divided by the simulator's.

        Both are relative to the mean, and their squares are averaged over the rows with several
        runs of the kernel. `pooled` assumes that the ratio is 1.
        """
        rows = [one for one in self.of(GOODPUT) if one.kernel.runs > 1 and one.kernel.mean > 0]
        kernel, simulator = (
            sum((side.deviation / side.mean) ** 2 for side in sides if side.mean > 0)
            for sides in ([one.kernel for one in rows], [one.simulator for one in rows])
        )
        return math.sqrt(kernel / simulator) if simulator > 0 else math.nan

    def mechanism(self, case: str, scheduler: str) -> str:
        """Return the known reason for which the engines differ there."""
        found = [one.mechanism for one in self.validation.explanations if one.covers(case, scheduler)]
        return "; ".join(found)

    def table(self) -> pl.DataFrame:
        """Return one row per case, scheduler and metric."""
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
                    "application_limited": one.metric == GOODPUT and self.limited(one),
                    **self.cases[one.case].facets,
                }
                for one in self.comparisons
            ],
            infer_schema_length=None,
        )


def percentile(rows: Iterable[BothEngines], share: float) -> float:
    """Return a percentile of the differences without sign; NaN without differences."""
    sizes = [abs(one.difference) for one in rows if one.difference is not None]
    return float(np.percentile(sizes, share)) if sizes else math.nan


def _side(values: Sequence[float]) -> Side:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return Side(float(np.mean(values)), deviation, len(values))


def _difference(kernel: Side, simulator: Side, noise: Noise, scale: Scale) -> tuple[float | None, Noise]:
    """Return simulator minus kernel on a scale, and its noise."""
    difference = simulator.mean - kernel.mean
    if scale != "percent":
        return difference, noise
    if kernel.mean == 0:
        return (0.0 if simulator.mean == 0 else math.copysign(ENDLESS, difference)), Noise()
    scaled = Noise(100 * noise.deviation / abs(kernel.mean), noise.freedom)
    return 100 * difference / kernel.mean, scaled


def pooled(one: Side, other: Side) -> Noise:
    """Return the noise of a difference of two means, if both sides have equal spreads (Student's).

    The spread of few runs of one side is hardly known. An interval for two different spreads
    (Welch's) would be so wide that no difference were beyond noise. Equal spreads follow from the
    definition of noise: the difference if the engines were the same. `Agreement.spread_ratio` tests
    them.
    """
    freedom = one.runs + other.runs - 2
    if freedom == 0:
        return Noise()
    variance = (one.squares + other.squares) / freedom
    return Noise(math.sqrt(variance * (1 / one.runs + 1 / other.runs)), freedom)


def pair_noise(one: BothEngines, other: BothEngines) -> float:
    """Return the noise of a difference of two schedulers in the kernel, in the metric's unit.

    The noise of each is that of a difference between the engines; the kernel's own is at most that.
    """
    return math.hypot(one.noise * one.kernel.mean, other.noise * other.kernel.mean) / 100


def _pair(one: BothEngines, other: BothEngines) -> Pair | None:
    """Return the pair; None if the worse one delivered nothing in the kernel."""
    worse, better = sorted((one, other), key=lambda each: each.kernel.mean)
    if worse.kernel.mean <= 0:
        return None
    return Pair(
        case=worse.case,
        better=better.scheduler,
        worse=worse.scheduler,
        kernel=100 * (better.kernel.mean / worse.kernel.mean - 1),
        simulator=_above(better.simulator.mean, worse.simulator.mean),
        noise=100 * pair_noise(better, worse) / worse.kernel.mean,
    )


def _above(one: float, other: float) -> float:
    """Return the difference of the first from the second in percent of the lower value."""
    lower = min(one, other)
    return 100 * (one - other) / lower if lower > 0 else math.copysign(math.inf, one - other)
