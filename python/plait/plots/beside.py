"""Comparison of the schedulers of one scenario: a panel per metric, a bar per scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plait.analysis import Repeated
from plait.plots.style import colour, new_figure, plain
from plait.results.metrics import direction
from plait.results.result import Comparison, Result
from plait.results.wording import wording

METRICS = ("goodput_bps", "app_delay_ms.mean", "app_delay_ms.p95", "receive_buffer_packets.mean")
"""The default metrics; those that no run has are left out."""


def beside(results: Sequence[Result] | Repeated, metrics: Sequence[str] = METRICS) -> Figure:
    """Draw metrics of runs of one scenario, a bar per scheduler in their order.

    The bar of the scheduler that is best beyond chance is coloured.

    Args:
        results: one run per scheduler, such as a `plait.Comparison`; or several seeds, a
            `plait.Repeated`, whose means have 95 % intervals. With single runs, the best one is
            coloured if the next is more than 1 % worse.
        metrics: dotted names, see `plait.results.metrics.metric`; a metric that no run has is left
            out.
    """
    several = results if isinstance(results, Repeated) else Repeated([Comparison(results)])
    shown = [name for name in metrics if any(one is not None for one in several.estimate(name))]
    height = 0.75 + 0.19 * len(several.schedulers)
    figure, panels = new_figure(len(shown), width=1.2 + 2.1 * len(shown), height=max(height, 1.6))
    for number, (axes, name) in enumerate(zip(panels, shown, strict=True)):
        _bars(axes, several, name)
        names = several.schedulers
        axes.set_yticks(range(len(names)), names if number == 0 else [""] * len(names))
    return figure


def _bars(axes: Axes, several: Repeated, name: str) -> None:
    found = several.estimate(name)
    values = [None if one is None else one.value for one in found]
    words = wording(name)
    way, best = direction(name), several.best(name)
    places = np.arange(len(values))
    axes.barh(
        places,
        [(value or 0.0) * words.scale for value in values],
        color=[colour(0) if place in best else "#B9C4CC" for place in places],
        height=0.72,
        zorder=2,
    )
    halves = [
        0.0 if one is None or one.high is None else (one.high - one.value) * words.scale for one in found
    ]
    if any(halves):
        axes.errorbar(
            [(value or 0.0) * words.scale for value in values],
            places,
            xerr=halves,
            fmt="none",
            ecolor="#333333",
            elinewidth=0.8,
            capsize=1.8,
            zorder=3,
        )
    for place, (value, half) in enumerate(zip(values, halves, strict=True)):
        axes.annotate(
            words.number(value),
            ((value or 0.0) * words.scale + half, place),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
            color="#333333",
            zorder=4,
        )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.22, y=0.02)
    axes.set_xlim(left=min(0.0, axes.get_xlim()[0]) if any((value or 0) < 0 for value in values) else 0.0)
    axes.xaxis.set_major_formatter(plain)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(labelsize=7)
    more = {1: "\nmore is better", -1: "\nless is better"}.get(way, "")
    axes.set_title(f"{words.heading}{more}", fontsize=7.5, loc="left")
