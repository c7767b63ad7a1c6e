"""The curves of all figures: estimates with a band for their intervals, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from plait.plots.style import colour, line
from plait.statistics.estimate import Estimate

WIDTH = 1.6
"""Points of a curve's line."""


def draw_curve(
    axes: Axes,
    places: Sequence[float],
    estimates: Sequence[Estimate],
    *,
    index: int,
    name: str,
    scale: float = 1.0,
    width: float = WIDTH,
) -> None:
    """Draw estimates over their places; the band is the 95 % confidence interval.

    Args:
        axes: where to draw.
        places: values of the axis.
        estimates: one per place, in the metric's unit.
        index: number of the curve, for its colour and line style.
        name: text of the legend.
        scale: factor from the metric's unit to the axis's.
        width: points of the line.
    """
    style: dict[str, Any] = {"color": colour(index), "linestyle": line(index), "linewidth": width}
    values = [one.value * scale for one in estimates]
    axes.plot(places, values, marker="o", markersize=2.4 * width, label=name, zorder=3, **style)
    bounds = np.array([one.interval or (one.value, one.value) for one in estimates]) * scale
    axes.fill_between(
        places, bounds[:, 0], bounds[:, 1], color=colour(index), alpha=0.18, linewidth=0, zorder=2
    )


def draw_distribution(axes: Axes, values: ArrayLike, *, index: int, name: str, width: float = WIDTH) -> None:
    """Draw the cumulative distribution of values; the other arguments are those of `draw_curve`."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    share = np.arange(1, len(ordered) + 1) / len(ordered)
    axes.step(
        ordered,
        share,
        where="post",
        color=colour(index),
        linestyle=line(index),
        linewidth=width,
        label=name,
    )
