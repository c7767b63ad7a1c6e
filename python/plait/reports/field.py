"""Maps of winning schedulers: a dataset's variables cut into cells, with metrics compared in each.

Regions, winners and ties come from the functions of `plait analyze`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait.analysis.contest import Contest, Pairs, contest, evidence
from plait.analysis.regions import ranges
from plait.reports.chart import Chart, Floats, packed
from plait.reports.sample import Sample
from plait.results.summary import heading, scale
from plait.statistics.estimate import student
from plait.sweep.dataset import SCENARIO

MOST_CELLS = 18_000
"""Maximum number of cells of all maps of a page; beyond it, fewer metrics have maps."""


@dataclass(frozen=True)
class Cut:
    """A variable cut into cells: their labels, and the cell of every pair (−1: no value)."""

    name: str
    labels: list[str]
    codes: NDArray[np.int64]


def cut(values: pl.Series, scenarios: NDArray[np.int64] | None = None, dimensions: int = 1) -> Cut:
    """Cut a variable, one value per pair, into its regions; `scenarios` has each pair's number."""
    each = values
    if scenarios is not None:
        each = pl.DataFrame([pl.Series(SCENARIO, scenarios), values]).unique()[values.name]
    found = ranges(each, values, dimensions)
    codes = np.full(len(values), -1, dtype=np.int64)
    for code, one in enumerate(found):
        codes[values.is_between(pl.lit(one.low), pl.lit(one.high)).fill_null(value=False).to_numpy()] = code
    return Cut(values.name, [str(one) for one in found], codes)


def field_data(sample: Sample) -> dict[str, Any]:
    """Return winners, margins and means by cell, for every two variables and ranked metric."""
    many = min(2, len(sample.dataset.variables))
    cuts = [cut(sample.pairs[name], sample.places.scenarios, many) for name in sample.dataset.variables]
    cuts = [one for one in cuts if len(one.labels) > 0]
    couples = list(combinations(range(len(cuts)), 2)) or [(index, index) for index in range(len(cuts))]
    cells = sum(_size(cuts, couple) for couple in couples)
    ways = {name: way for name in sample.shown if (way := sample.dataset.direction(name)) != 0}
    metrics = [*ways][: max(1, MOST_CELLS // max(1, cells))]
    columns = {name: sample.values(name) for name in metrics}
    maps = []
    for x, y in couples:
        place = _place(cuts, x, y)
        size = _size(cuts, (x, y))
        failed = np.array(
            [np.bincount(place[place >= 0], one[place >= 0], size) for one in sample.failed.T]
        ).sum(axis=0)
        contests = {name: contest(columns[name], place, size, ways[name], sample.places) for name in metrics}
        maps.append(
            {
                "x": x,
                "y": y,
                "failed": packed(failed, "u4"),
                "metrics": {name: _packed(one, scale(name)) for name, one in contests.items()},
            }
        )
    return {
        "variables": [{"name": one.name, "labels": one.labels} for one in cuts],
        "metrics": {name: heading(name) for name in metrics},
        "maps": maps,
    }


def curve_chart(sample: Sample) -> Chart:
    """Return the mean of a metric over a variable, by scheduler, with 95 % intervals."""
    cuts = [cut(sample.pairs[name], sample.places.scenarios) for name in sample.dataset.variables]
    traces = []
    for name in sample.shown:
        values = sample.values(name) * scale(name)
        for one in cuts:
            for index, scheduler in enumerate(sample.schedulers):
                means, halves, counts = _means(values[:, index], one, sample.places)
                held = counts > 0
                if not held.any():
                    continue
                traces.append(
                    {
                        "type": "scatter",
                        "mode": "lines+markers",
                        "name": scheduler,
                        "scheduler": index,
                        "only": {"metric": name, "variable": one.name},
                        "x": packed(np.flatnonzero(held), "u2"),
                        "y": packed(means[held]),
                        "error_y": {"array": packed(halves[held]), "thickness": 1, "width": 3},
                        "hovertemplate": "mean %{y:.4~g} ± %{error_y.array:.2~g}",
                    }
                )
    return {
        "id": "d-curves",
        "height": 380,
        "layout": {"xaxis": {"title": {"text": ""}}, "yaxis": {"title": {"text": ""}}},
        "traces": traces,
        "choices": {
            "metric": {name: {"yaxis.title.text": f"mean of {heading(name)}"} for name in sample.shown},
            "variable": {
                one.name: {
                    "xaxis.title.text": one.name,
                    "xaxis.tickvals": list(range(len(one.labels))),
                    "xaxis.ticktext": one.labels,
                    "xaxis.range": [-0.4, len(one.labels) - 0.6],
                }
                for one in cuts
            },
        },
    }


def _means(values: Floats, one: Cut, pairs: Pairs) -> tuple[Floats, Floats, Any]:
    """Return mean, half its interval, and number of scenarios by cell.

    With one scenario, seeds are counted.
    """
    held = np.isfinite(values) & (one.codes >= 0)
    size = len(one.labels)
    column, codes = evidence(values[held][:, None], one.codes[held], size, pairs[held])
    values = column[:, 0]
    counts = np.bincount(codes, minlength=size)
    means = np.bincount(codes, values, size) / np.maximum(counts, 1)
    squares = np.bincount(codes, (values - means[codes]) ** 2, size)
    error = np.sqrt(squares / np.maximum(counts - 1, 1) / np.maximum(counts, 1))
    return means, np.where(counts > 1, student(np.maximum(counts, 2)) * error, 0.0), counts


def _packed(one: Contest, factor: float) -> dict[str, Any]:
    return {
        "winner": packed(one.winner, "i2"),
        "tie": packed(one.tie, "u1"),
        "margin": packed(one.margin),
        "pairs": packed(one.pairs, "u4"),
        "means": packed(one.means * factor),
    }


def _place(cuts: list[Cut], x: int, y: int) -> NDArray[np.int64]:
    """Return the cell of every pair in a map of two variables (a single row with one variable)."""
    if x == y:
        return cuts[x].codes
    across, down = cuts[x].codes, cuts[y].codes
    return np.where((across < 0) | (down < 0), -1, down * len(cuts[x].labels) + across)


def _size(cuts: list[Cut], couple: tuple[int, int]) -> int:
    x, y = couple
    return len(cuts[x].labels) * (1 if x == y else len(cuts[y].labels))


def value_text(value: Any) -> str:
    """Format a variable's value."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
