"""The metrics of a dataset as arrays: a row per pair of point and seed, a column per scheduler.

From them come distributions, estimates, and differences of pairs, which met the same losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait.analysis.contest import ahead, evidence
from plait.reports.chart import Chart, Floats, distribution, packed
from plait.reports.reading import KEYS, Rows
from plait.results.metrics import direction
from plait.results.summary import METRICS, heading, scale, written, written_interval
from plait.statistics.estimate import Estimate, mean, median_by_ranks

MOST_METRICS = 32
"""Metrics of a page; a dataset with more shows the first ones, the usual ones before others."""
TRIVIAL = ("measured_s", "events")
"""Metrics that tell nothing about schedulers."""
POINTS = 240
"""Points of a distribution's curve."""
SAME = 1e-9
"""Relative difference below which two values count as the same."""
QUARTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Sample:
    """A dataset's pairs and metrics."""

    dataset: Rows

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that some run has, the usual ones first."""
        frame, variables = self.dataset.frame, self.dataset.variables
        found = [
            name
            for name, kind in frame.schema.items()
            if name not in (*KEYS, *TRIVIAL)
            and name not in variables
            and kind.is_numeric()
            and frame[name].null_count() < len(frame)
        ]
        return sorted(found, key=_rank)

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
        """Every point and seed once, with the variables."""
        columns = ["point", "seed", *self.dataset.variables]
        return self.dataset.frame.select(columns).unique(["point", "seed"], maintain_order=True)

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """The number of each pair's point."""
        return self.pairs["point"].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()

    def evidence(self, metric: str) -> Floats:
        """A metric by point and scheduler, each the mean of its seeds; of a single point, by seed."""
        values = self.values(metric)
        whole, _ = evidence(values, np.zeros(len(values), dtype=np.int64), 1, self.points)
        return whole

    @cached_property
    def places(self) -> tuple[Any, Any]:
        """For every row of the dataset the number of its pair and that of its scheduler."""
        numbered = self.pairs.select("point", "seed").with_row_index("pair")
        rows = self.dataset.frame.select("point", "seed", "scheduler").join(
            numbered, on=["point", "seed"], how="left", maintain_order="left", nulls_equal=True
        )
        order = {name: index for index, name in enumerate(self.schedulers)}
        return rows["pair"].to_numpy(), rows["scheduler"].replace_strict(
            order, return_dtype=pl.Int64
        ).to_numpy()

    def values(self, metric: str) -> Floats:
        """A metric by pair and scheduler; not a number where a run has none."""
        return self._spread(self.dataset.frame[metric].cast(pl.Float64).fill_null(float("nan")).to_numpy())

    @cached_property
    def failed(self) -> Floats:
        """1 by pair and scheduler where a run failed."""
        return np.nan_to_num(
            self._spread(self.dataset.frame["error"].is_not_null().cast(pl.Float64).to_numpy())
        )

    def _spread(self, column: Floats) -> Floats:
        values = np.full((len(self.pairs), len(self.schedulers)), np.nan)
        values[self.places] = column
        return values


def known(values: Floats) -> Floats:
    """Those that are numbers."""
    return values[np.isfinite(values)]


def estimate_table(sample: Sample) -> list[dict[str, Any]]:
    """Mean and median of every metric by scheduler, with their intervals; what is best beyond chance in bold."""
    lines = []
    for name in sample.shown:
        values = sample.evidence(name)
        columns = [known(values[:, index]) for index in range(len(sample.schedulers))]
        line: dict[str, Any] = {"heading": heading(name)}
        for kind, estimate in (("mean", mean), ("median", median_by_ranks)):
            estimates = [estimate(column) if len(column) else None for column in columns]
            line[kind] = [_cell(name, one) for one in estimates]
            medians = [None if one is None else one.value for one in estimates]
            line[f"best_{kind}"] = _best(values, direction(name), None if kind == "mean" else medians)
        lines.append(line)
    return lines


def distribution_chart(sample: Sample) -> Chart:
    """The distribution of a metric over all runs, by scheduler."""
    traces, titles = [], {}
    for name in sample.shown:
        values = sample.values(name) * scale(name)
        titles[name] = {"xaxis.title.text": heading(name)}
        for index, scheduler in enumerate(sample.schedulers):
            column = known(values[:, index])
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
    """Differences of pairs to every scheduler as the baseline, for each metric.

    By metric, baseline and other scheduler, over points: by how much the other is better (more, where neither is
    better): how many; mean with interval; median with interval; the 5, 25, 50, 75 and 95 % quantiles; shares in percent
    in which the other is better, the same, worse (higher, same, lower where neither is better).
    """
    count = len(sample.schedulers)
    found: dict[str, Any] = {}
    for name in sample.shown:
        values = sample.values(name) * scale(name)
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
                    sample.points[both],
                )
                reference, value = held.T
                table[base][other] = _difference(value, reference, direction(name))
                table[other][base] = _difference(reference, value, direction(name))
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
    """The scheduler that is best beyond chance: by its mean, or by the median of the differences to the next one."""
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
    if (
        len(gaps) and np.ptp(gaps) == 0
    ):  # always the same difference: beyond chance if the values are not the same, too
        return frozenset({ranked[0]}) if gaps[0] != 0 and np.ptp(both[:, 0]) > 0 else frozenset()
    interval = median_by_ranks(gaps).interval if len(gaps) else None
    return frozenset({ranked[0]}) if interval and interval[0] * interval[1] > 0 else frozenset()


def _cell(name: str, one: Estimate | None) -> tuple[str, str]:
    if one is None:
        return "–", ""
    return written(name, one.value), written_interval(name, one.interval)


def _rank(name: str) -> tuple[int, int]:
    """The usual metrics first, then those that can be won, then the others, in the dataset's order."""
    if name in METRICS:
        return 0, METRICS.index(name)
    return (1 if direction(name) else 2), 0
