"""Schedulers of one scenario beside each other: a panel per metric, a bar per scheduler."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plait.plots.style import colour, new_figure, plain
from plait.results.metrics import direction, metric
from plait.results.result import Result
from plait.results.wording import si_wording

METRICS = ("goodput_bps", "app_delay_ms.mean", "app_delay_ms.p95", "receive_buffer_packets.mean")
"""What is drawn if nobody says; of these, what the runs have."""


def beside(results: Sequence[Result], metrics: Sequence[str] = METRICS) -> Figure:
    """Draw metrics of runs of one scenario, the schedulers in the order of the results; the best bar is coloured.

    Args:
        results: one run per scheduler, such as a `plait.Comparison`.
        metrics: dotted names, see `plait.results.metrics.metric`; a metric that no run has is left out.
    """
    shown = [name for name in metrics if any(metric(one, name) is not None for one in results)]
    height = 0.75 + 0.19 * len(results)
    figure, panels = new_figure(len(shown), width=1.2 + 2.1 * len(shown), height=max(height, 1.6))
    for number, (axes, name) in enumerate(zip(panels, shown, strict=True)):
        _bars(axes, results, name)
        axes.set_yticks(
            range(len(results)), [one.scheduler for one in results] if number == 0 else [""] * len(results)
        )
    return figure


def _bars(axes: Axes, results: Sequence[Result], name: str) -> None:
    values = [metric(one, name) for one in results]
    present = [value for value in values if value is not None]
    words = si_wording(name, max(map(abs, present)))
    way = direction(name)
    best = max(present) if way > 0 else min(present)
    places = np.arange(len(results))
    bars = axes.barh(
        places,
        [(value or 0.0) * words.scale for value in values],
        color=[colour(0) if way and value == best else "#B9C4CC" for value in values],
        height=0.72,
        zorder=2,
    )
    axes.bar_label(
        bars, [words.number(value) for value in values], fontsize=7, padding=2, color="#333333", zorder=3
    )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.22, y=0.02)
    axes.xaxis.set_major_formatter(plain)
    axes.locator_params(axis="x", nbins=4)
    axes.tick_params(labelsize=7)
    more = {1: "\nmore is better", -1: "\nless is better"}.get(way, "")
    axes.set_title(f"{words.heading}{more}", fontsize=7.5, loc="left")
