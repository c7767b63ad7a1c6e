"""Distributions of a metric over many cases, one curve per scheduler.

Medians have confidence intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from plait.plots.curve import draw_distribution
from plait.plots.style import colour, label, legend, log_ticks, new_figure
from plait.statistics.estimate import median

LOWEST = 1e-3
"""Value at which zeros are drawn on a logarithmic axis."""


def distribution(
    groups: Sequence[Mapping[str, Sequence[float]]],
    titles: Sequence[str],
    axis: str,
    *,
    log: bool = False,
    marks: Sequence[float] = (),
) -> Figure:
    """Draw the cumulative distribution of a metric (above) and its median (below).

    The median has a 95 % confidence interval.

    Args:
        groups: one column of panels per entry: the metric's values by scheduler, the same
            schedulers in each.
        titles: titles of the columns.
        axis: the metric's name and unit.
        log: logarithmic axis of the metric; zeros are drawn at its lowest value.
        marks: values that a vertical line marks.
    """
    names = list(groups[0])
    rows = [3.0, 0.55 + 0.2 * len(names)]
    figure, panels = new_figure(
        len(groups), 2, width=max(6.4, 4.8 * len(groups)), height=1.2 + sum(rows), heights=rows
    )
    for column, (group, title) in enumerate(zip(groups, titles, strict=True)):
        curves, medians = panels[column], panels[len(groups) + column]
        for index, name in enumerate(names):
            values = np.maximum(group[name], LOWEST) if log else group[name]
            draw_distribution(curves, values, index=index, name=name)
            middle = median(group[name])
            value = max(middle.value, LOWEST) if log else middle.value
            low, high = middle.interval or (value, value)
            if log:  # no zero on such an axis
                low, high = max(low, LOWEST), max(high, LOWEST)
            place = len(names) - 1 - index
            medians.plot(
                [low, high], [place, place], color=colour(index), linewidth=2.4, solid_capstyle="butt"
            )
            medians.plot([value], [place], marker="o", color=colour(index), markersize=5)
        for axes in (curves, medians):
            if log:
                axes.set_xscale("log")
                log_ticks(axes.xaxis)
                axes.xaxis.set_major_formatter(FuncFormatter(_tick))
            for mark in marks:
                axes.axvline(mark, color="#777777", linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        curves.set_ylim(0, 1.01)
        medians.set_yticks(range(len(names)), names[::-1] if column == 0 else [""] * len(names))
        medians.set_ylim(-0.7, len(names) - 0.3)
        label(curves, x=axis, y="share of cases" if column == 0 else None, title=title)
        label(medians, x=f"median: {axis}")
    legend(figure, panels[0], columns=3 if len(groups) == 1 else 5)
    return figure


def _tick(value: float, _: int | None) -> str:
    """Format a tick of a logarithmic axis; the lowest one includes zeros."""
    return f"≤{value:g}" if value <= LOWEST * 1.01 else f"{value:g}"
