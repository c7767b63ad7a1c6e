"""The metrics of a dataset as arrays: a row per pair of point and seed, a column per scheduler.

The arrays give distributions, estimates, and differences between runs with the same losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait.analysis.contest import Pairs, ahead, evidence
from plait.reports.chart import Chart, Floats, distribution, packed
from plait.reports.reading import KEYS, Rows
from plait.results.summary import METRICS, heading, scale, written, written_interval
from plait.statistics.estimate import Estimate, mean, median_by_ranks
from plait.sweep.dataset import SCENARIO, distinct_of, once, with_scenario

MOST_METRICS = 32
"""Maximum number of metrics of a page. A larger dataset shows the first ones, common metrics
first."""
TRIVIAL = ("measured_s", "events")
"""Metrics without information about schedulers."""
POINTS = 240
"""Number of points of a distribution's curve."""
SAME = 1e-9
"""Relative difference below which two values count as equal."""
QUARTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Sample:
    """A dataset's pairs and metrics."""

    dataset: Rows

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics of at least one run, the common ones first."""
        frame, variables = self.dataset.frame, self.dataset.variables
        found = [
            name
            for name, kind in frame.schema.items()
            if name not in (*KEYS, *TRIVIAL)
            and name not in variables
            and kind.is_numeric()
            and frame[name].null_count() < len(frame)
        ]
        return sorted(found, key=self._rank)

    @property
    def shown(self) -> list[str]:
        """The metrics of the page."""
        return self.metrics[:MOST_METRICS]

    @cached_property
    def schedulers(self) -> list[str]:
        """The schedulers: the plan's, then any others that have runs."""
        return list(
            dict.fromkeys(
                [*self.dataset.schedulers, *self.dataset.frame["scheduler"].unique(maintain_order=True)]
            )
        )

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Every combination of point and seed once, with the variables."""
        columns = ["point", "seed", *self.dataset.variables]
        return self.dataset.frame.select(columns).unique(["point", "seed"], maintain_order=True)

    @cached_property
    def places(self) -> Pairs:
        """The scenario and the seed of each pair."""
        scenarios = with_scenario(self.pairs, distinct_of(self.dataset.about))[SCENARIO]
        return Pairs(_ranks(scenarios), _ranks(self.pairs["seed"]))

    @cached_property
    def runs(self) -> pl.DataFrame:
        """The rows of different runs."""
        return once(self.dataset.frame, distinct_of(self.dataset.about))

    def evidence(self, metric: str) -> Floats:
        """Return a metric by scenario and scheduler, as means; of one scenario, by seed."""
        values = self.values(metric)
        whole, _ = evidence(values, np.zeros(len(values), dtype=np.int64), 1, self.places)
        return whole

    @cached_property
    def _cells(self) -> tuple[Any, Any]:
        """The numbers of pair and scheduler for every row of the dataset."""
        numbered = self.pairs.select("point", "seed").with_row_index("pair")
        rows = self.dataset.frame.select("point", "seed", "scheduler").join(
            numbered, on=["point", "seed"], how="left", maintain_order="left", nulls_equal=True
        )
        order = {name: index for index, name in enumerate(self.schedulers)}
        return rows["pair"].to_numpy(), rows["scheduler"].replace_strict(
            order, return_dtype=pl.Int64
        ).to_numpy()

    def values(self, metric: str) -> Floats:
        """Return a metric by pair and scheduler; missing values are not a number."""
        return self._spread(self.dataset.frame[metric].cast(pl.Float64).fill_null(float("nan")).to_numpy())

    @cached_property
    def failed(self) -> Floats:
        """1 for each failed run, by pair and scheduler."""
        return np.nan_to_num(
            self._spread(self.dataset.frame["error"].is_not_null().cast(pl.Float64).to_numpy())
        )

    def _rank(self, name: str) -> tuple[int, int]:
        """Rank common metrics first, then those that can be won, then others in the dataset's order."""
        if name in METRICS:
            return 0, METRICS.index(name)
        return (1 if self.dataset.direction(name) else 2), 0

    def _spread(self, column: Floats) -> Floats:
        values = np.full((len(self.pairs), len(self.schedulers)), np.nan)
        values[self._cells] = column
        return values


def _ranks(numbers: pl.Series) -> NDArray[np.int64]:
    return numbers.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()


def known(values: Floats) -> Floats:
    """Return the values that are numbers."""
    return values[np.isfinite(values)]


def estimate_table(sample: Sample) -> list[dict[str, Any]]:
    """Return mean and median of metrics by scheduler, with intervals; the clearly best in bold."""
    lines = []
    for name in sample.shown:
        values = sample.evidence(name)
        columns = [known(values[:, index]) for index in range(len(sample.schedulers))]
        line: dict[str, Any] = {"heading": heading(name)}
        way = sample.dataset.direction(name)
        for kind, estimate in (("mean", mean), ("median", median_by_ranks)):
            estimates = [estimate(column) if len(column) else None for column in columns]
            line[kind] = [_cell(name, one) for one in estimates]
            medians = [None if one is None else one.value for one in estimates]
            line[f"best_{kind}"] = _best(values, way, None if kind == "mean" else medians)
        lines.append(line)
    return lines


def distribution_chart(sample: Sample) -> Chart:
    """Return the distribution of a metric over all runs, by scheduler."""
    traces, titles = [], {}
    for name in sample.shown:
        titles[name] = {"xaxis.title.text": heading(name)}
        for index, scheduler in enumerate(sample.schedulers):
            values = sample.runs.filter(scheduler=scheduler)[name].cast(pl.Float64).drop_nulls().to_numpy()
            column = known(values * scale(name))
            if len(column) == 0:
                continue
            x, y = distribution(column, POINTS)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": scheduler,
                    "scheduler": index,
                    "only": {"metric": name},
                    "x": packed(x),
                    "y": packed(y * 100),
                    "hovertemplate": "%{y:.1f} % of runs: at most %{x:.4~g}",
                }
            )
    layout = {
        "xaxis": {"title": {"text": ""}},
        "yaxis": {"title": {"text": "share of runs (%)"}, "range": [0, 101]},
    }
    log = {"xaxis.type": "log"}
    return {
        "id": "d-distribution",
        "height": 380,
        "layout": layout,
        "traces": traces,
        "choices": {"metric": titles, "scale": {"log": log}},
    }


def difference_data(sample: Sample) -> dict[str, Any]:
    """Return paired differences between every two schedulers, for each metric.

    The table has one entry by metric, baseline and other scheduler, over points. A difference is
    the advantage of the other scheduler, or its excess if the metric has no preferred direction. An
    entry has the count, the mean with its interval, and the median with its interval. The 5, 25,
    50, 75 and 95 % quantiles follow, then the shares in percent with better, equal and worse values
    (or higher, equal and lower).
    """
    count = len(sample.schedulers)
    found: dict[str, Any] = {}
    for name in sample.shown:
        values, way = sample.values(name) * scale(name), sample.dataset.direction(name)
        table: list[list[Any]] = [[None] * count for _ in range(count)]
        for base in range(count):
            for other in range(base + 1, count):
                both = np.isfinite(values[:, base]) & np.isfinite(values[:, other])
                if not both.any():
                    continue
                held, _ = evidence(
                    values[both][:, [base, other]],
                    np.zeros(int(both.sum()), dtype=np.int64),
                    1,
                    sample.places[both],
                )
                reference, value = held.T
                table[base][other] = _difference(value, reference, way)
                table[other][base] = _difference(reference, value, way)
        found[name] = table
    return found


def _difference(value: Floats, reference: Floats, way: int) -> list[Any]:
    gaps = (value - reference) * (way or 1)
    same = np.abs(gaps) <= SAME * np.maximum(np.abs(value), np.abs(reference))
    gaps = np.where(same, 0.0, gaps)
    better = (gaps * (1 if way else -1) > 0).mean() * 100
    worse = (gaps * (1 if way else -1) < 0).mean() * 100
    mid, middle = mean(gaps), median_by_ranks(gaps)
    numbers = [
        mid.value,
        mid.low,
        mid.high,
        middle.value,
        middle.low,
        middle.high,
        *np.quantile(gaps, QUARTILES),
    ]
    return [
        len(gaps),
        *(_short(one) for one in numbers),
        *(round(one, 1) for one in (better, same.mean() * 100, worse)),
    ]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _best(values: Floats, way: int, medians: Sequence[float | None] | None) -> frozenset[int]:
    """Return the scheduler that is best beyond chance, by its mean or by its median differences.

    The median compares it with the next scheduler.
    """
    if medians is None:
        first = ahead(values, way)
        return frozenset() if first is None else frozenset({first})
    ranked = sorted(
        (index for index, one in enumerate(medians) if one is not None),
        key=lambda index: -way * (medians[index] or 0.0),
    )
    if way == 0 or len(ranked) < 2:
        return frozenset()
    both = values[:, ranked[:2]]
    both = both[np.isfinite(both).all(axis=1)]
    gaps = both[:, 0] - both[:, 1]
    # A constant difference is beyond chance if the values vary.
    if len(gaps) and np.ptp(gaps) == 0:
        return frozenset({ranked[0]}) if gaps[0] != 0 and np.ptp(both[:, 0]) > 0 else frozenset()
    interval = median_by_ranks(gaps).interval if len(gaps) else None
    return frozenset({ranked[0]}) if interval and interval[0] * interval[1] > 0 else frozenset()


def _cell(name: str, one: Estimate | None) -> tuple[str, str]:
    if one is None:
        return "–", ""
    return written(name, one.value), written_interval(name, one.interval)
