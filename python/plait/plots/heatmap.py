"""A metric over two variables of a sweep: a map per scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plait.analysis.regions import Range, cut, regions
from plait.plots.style import SINGLE, SMALL, compact, inches
from plait.plots.subject import Subject
from plait.plots.sweep import paper_panels
from plait.sweep.dataset import Dataset

GAINS, AMOUNTS = "RdBu", "viridis"
"""Colour maps, which the colour-blind can read."""


def heat_map(
    dataset: Dataset,
    x: str,
    y: str,
    metric: str,
    *,
    baseline: str | None = None,
    limit: float | None = None,
    schedulers: Sequence[str] = (),
    width: str = "column",
    note: str | None = None,
) -> Figure:
    """Draw a metric over two variables, a map per scheduler.

    With a baseline, the maps show how much better than the baseline a scheduler is, in percent of
    the baseline's mean. Cells are hatched where the interval of 95 % of the difference contains
    zero, or only other cells have one. A cell is a value of each variable, or a slice with equally
    many points.

    Args:
        dataset: from `plait.sweep.read`.
        x: the variable from left to right.
        y: the variable from bottom to top.
        metric: as for `sweep_curves`.
        baseline: a scheduler; None: maps of the metric's means.
        limit: percent at which the colours of gains end; larger gains and losses have the colours
            of the ends. None: the largest.
        schedulers: labels; by default all.
        width: as for `sweep_curves`.
        note: as for `sweep_curves`.

    Raises:
        ScenarioError: a variable, metric or scheduler is unknown, or no run has a value.
    """
    subject = Subject(dataset, metric, schedulers, baseline)
    names = subject.schedulers if baseline is None else subject.others
    across, up, values, unsure = _cells(subject, x, y, names)
    words = subject.words
    heading = words.heading
    if baseline is None:
        values = values * words.scale
        limits, colours = (float(np.nanmin(values)), float(np.nanmax(values))), AMOUNTS
    else:
        largest = float(np.nanmax(np.abs(values))) or 1.0
        most = limit or largest
        limits, colours, heading = (-most, most), GAINS, subject.gain_label("%")
    columns = min(len(names), 2 if inches(width) < SINGLE else 4)
    figure, panels = paper_panels(len(names), columns, width, height=1.35)
    for index, axes in enumerate(panels):
        drawn = axes.pcolormesh(values[index], cmap=colours, vmin=limits[0], vmax=limits[1], zorder=1)
        _hatch(axes, unsure[index])
        _dress(axes, across, up)
        if len(names) > 1:
            axes.set_title(names[index], fontsize=SMALL, loc="left", pad=2)
        if index % columns == 0:
            axes.set_ylabel(subject.with_unit(y), fontsize=SMALL)
        if index + columns >= len(names):
            axes.set_xlabel(subject.with_unit(x), fontsize=SMALL)
    bar = figure.colorbar(
        drawn,
        ax=panels,
        orientation="horizontal",
        location="top",
        aspect=40,
        pad=0.02,
        extend=_beyond(values, *limits),
    )
    bar.set_label(heading, fontsize=SMALL)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(labelsize=SMALL - 0.5, length=2)
    hatched = (
        "" if baseline is None else "; hatched: no interval of 95 % that excludes zero" * bool(unsure.any())
    )
    subject.caption(figure, f"means{hatched}", note)
    return figure


def _cells(
    subject: Subject, x: str, y: str, names: Sequence[str]
) -> tuple[list[Range], list[Range], Any, Any]:
    """Return the ranges of both variables, and by scheduler, y and x the values and the doubts.

    In doubt is a gain whose interval contains zero, or that has none; nothing is if none has one.
    """
    frame = subject.rows(*dict.fromkeys((x, y)))
    _ = subject.whole
    across, up = cut(frame, x, 2), cut(frame, y, 2)
    shape = (len(names), len(up), len(across))
    values, unsure, known = np.full(shape, np.nan), np.zeros(shape, dtype=np.bool_), False
    for (column, row), rows in regions(frame, [x, y]):
        place = up.index(row), across.index(column)
        found = subject.units(rows)
        if not len(found.values):
            continue
        if subject.baseline is None:
            for index, name in enumerate(names):
                values[(index, *place)] = found.of(name).mean()
            continue
        for index, gain in enumerate(subject.gains(found)):
            if gain.change is not None:
                values[(index, *place)] = gain.change.value
                unsure[(index, *place)] = not gain.beyond_chance
                known |= gain.difference.interval is not None
    return across, up, values, unsure & known


def _beyond(values: Any, low: float, high: float) -> str:
    """Return the ends of the colours beyond which there are values, in matplotlib's words."""
    below, above = bool(np.nanmin(values) < low), bool(np.nanmax(values) > high)
    return {(False, False): "neither", (True, False): "min", (False, True): "max"}.get((below, above), "both")


def _hatch(axes: Axes, unsure: Any) -> None:
    for row, column in zip(*np.nonzero(unsure), strict=True):
        cell = Rectangle(
            (column, row), 1, 1, fill=False, hatch="////", edgecolor="#555555", linewidth=0, zorder=2
        )
        axes.add_patch(cell)


def _dress(axes: Axes, across: Sequence[Range], up: Sequence[Range]) -> None:
    """Name the cells at their middles."""
    compact(axes)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    turned = sum(len(str(one)) for one in across) > 24
    axes.set_xticks(
        [place + 0.5 for place in range(len(across))], [_named(one) for one in across], rotation=90 * turned
    )
    axes.set_yticks([place + 0.5 for place in range(len(up))], [_named(one) for one in up])
    for side in axes.spines.values():
        side.set_visible(False)


def _named(one: Range) -> str:
    return str(one).replace(" … ", "–")
