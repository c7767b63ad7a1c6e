"""Where which scheduler wins: a dataset's variables cut into cells, the metrics compared within each.

Within a cell schedulers are compared over the pairs of point and seed in which all of them have a value (all that have
any in the cell), so none gains by failing where it is hard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plait import _core
from plait.reports.chart import Chart, Floats, packed
from plait.reports.sample import Sample
from plait.results.metrics import direction
from plait.results.summary import heading, scale
from plait.statistics.estimate import student

MOST_VALUES = 12
"""A variable with more values is cut into bins of equally many pairs."""
BINS = 10
MOST_CELLS = 18_000
"""Cells of all maps of a page; with more, fewer metrics have maps."""
CLOSE = 0.01
"""With a single pair in a cell, a smaller relative difference is a tie."""
NOBODY = -1


@dataclass(frozen=True)
class Cut:
    """A variable cut into cells: their labels, and the cell of every pair (−1: no value)."""

    name: str
    labels: list[str]
    codes: NDArray[np.int64]


def cut(values: pl.Series) -> Cut:
    """Cut a variable into its values, or into bins if it has many."""
    distinct = values.drop_nulls().unique(maintain_order=True)
    if values.dtype.is_numeric() and len(distinct) > MOST_VALUES:
        return _binned(values)
    order = sorted(distinct, key=None if values.dtype.is_numeric() else _amount(list(distinct)))
    places = {value: index for index, value in enumerate(order)}
    codes = np.array([-1 if value is None else places[value] for value in values], dtype=np.int64)
    return Cut(values.name, [value_text(value) for value in order], codes)


def field_data(sample: Sample) -> dict[str, Any]:
    """For every two variables and every metric that can be won: who wins each cell, by how much, and the means."""
    cuts = [cut(sample.pairs[name]) for name in sample.dataset.variables]
    cuts = [one for one in cuts if len(one.labels) > 0]
    couples = list(combinations(range(len(cuts)), 2)) or [(index, index) for index in range(len(cuts))]
    cells = sum(_size(cuts, couple) for couple in couples)
    metrics = [name for name in sample.shown if direction(name) != 0][: max(1, MOST_CELLS // max(1, cells))]
    columns = {name: sample.values(name) for name in metrics}
    maps = []
    for x, y in couples:
        place = _place(cuts, x, y)
        size = _size(cuts, (x, y))
        failed = np.array(
            [np.bincount(place[place >= 0], one[place >= 0], size) for one in sample.failed.T]
        ).sum(axis=0)
        contests = {name: contest(columns[name], place, size, direction(name)) for name in metrics}
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


@dataclass(frozen=True)
class Contest:
    """Who wins each cell.

    winner: index of the scheduler, −1 for none. tie: the runner-up is as good for all that can be told. margin: the
    difference to the runner-up as a share of the larger of both, in percent. pairs: how many were compared. means: by
    cell and scheduler.
    """

    winner: NDArray[np.int64]
    tie: NDArray[np.bool_]
    margin: Floats
    pairs: NDArray[np.int64]
    means: Floats


def contest(values: Floats, place: NDArray[np.int64], cells: int, way: int) -> Contest:
    """Compare schedulers (columns of `values`, a row per pair) within cells; `way` 1: more is better, −1: less is."""
    inside = place >= 0
    values, place = values[inside], place[inside]
    finite = np.isfinite(values)
    present = np.array([np.bincount(place, one, cells) for one in finite.T]).T > 0
    complete = (finite | ~present[place]).all(axis=1) & finite.any(axis=1)
    values, place = values[complete], place[complete]
    pairs = np.bincount(place, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.array([np.bincount(place, np.nan_to_num(one), cells) for one in values.T]).T
        means = np.where(present & (pairs > 0)[:, None], sums / pairs[:, None], np.nan)
    rank = np.argsort(np.where(np.isfinite(means), -way * means, np.inf), axis=1, kind="stable")
    first, second = rank[:, 0], rank[:, min(1, rank.shape[1] - 1)]
    rows = np.arange(cells)
    best, next_best = means[rows, first], means[rows, second]
    contested = np.isfinite(means).sum(axis=1) > 1
    gap = np.abs(best - next_best)
    larger = np.maximum(np.abs(best), np.abs(next_best))
    margin = np.where(contested & (larger > 0), 100 * gap / np.where(larger > 0, larger, 1), 0.0)
    tie = contested & (_within_chance(values, place, first, second, pairs) | (gap == 0))
    tie |= contested & (pairs == 1) & (margin < 100 * CLOSE)
    return Contest(np.where(contested, first, NOBODY), tie, margin, pairs, means)


def _within_chance(values: Floats, place: Any, first: Any, second: Any, pairs: Any) -> Any:
    """Cells where the interval of the paired difference between the first two contains zero."""
    gaps = values[np.arange(len(values)), first[place]] - values[np.arange(len(values)), second[place]]
    count = np.maximum(pairs, 1)
    average = np.bincount(place, gaps, len(pairs)) / count
    squares = np.bincount(place, (gaps - average[place]) ** 2, len(pairs))
    several = pairs > 1
    error = np.sqrt(squares / np.maximum(pairs - 1, 1) / count)
    return several & (np.abs(average) <= student(np.maximum(pairs, 2)) * error)


def curve_chart(sample: Sample) -> Chart:
    """The mean of a metric over a variable, by scheduler, with 95 % intervals."""
    cuts = [cut(sample.pairs[name]) for name in sample.dataset.variables]
    traces = []
    for name in sample.shown:
        values = sample.values(name) * scale(name)
        for one in cuts:
            for index, scheduler in enumerate(sample.schedulers):
                means, halves, counts = _means(values[:, index], one)
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


def _means(values: Floats, one: Cut) -> tuple[Floats, Floats, Any]:
    """Mean, half its interval and number of values by cell."""
    held = np.isfinite(values) & (one.codes >= 0)
    values, codes, size = values[held], one.codes[held], len(one.labels)
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
    """The cell of every pair in a map of two variables (of one: in a single row)."""
    if x == y:
        return cuts[x].codes
    across, down = cuts[x].codes, cuts[y].codes
    return np.where((across < 0) | (down < 0), -1, down * len(cuts[x].labels) + across)


def _size(cuts: list[Cut], couple: tuple[int, int]) -> int:
    x, y = couple
    return len(cuts[x].labels) * (1 if x == y else len(cuts[y].labels))


def _binned(values: pl.Series) -> Cut:
    data = values.cast(pl.Float64).to_numpy()
    known = data[np.isfinite(data)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS + 1)))
    codes = np.clip(np.searchsorted(edges, data, side="right") - 1, 0, len(edges) - 2)
    labels = [f"{one:.3g}–{other:.3g}" for one, other in pairwise(edges)]
    return Cut(values.name, labels, np.where(np.isfinite(data), codes, -1))


def _amount(values: list[Any]) -> Callable[[Any], Any] | None:
    """How texts are ordered: as amounts if all of them are amounts of one kind, otherwise as they come."""
    for parse in (_core.parse_rate, _core.parse_duration, _core.parse_bytes):
        try:
            amounts = {value: parse(value) for value in values}
        except (_core.ScenarioError, TypeError):
            continue
        return lambda value: amounts[value]
    return values.index


def value_text(value: Any) -> str:
    """A variable's value for people."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
