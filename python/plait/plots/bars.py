"""Bars per scenario and scheduler: slow-path usage, application delay."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from plait.plots.style import grouped_bars, label, legend, new_figure
from plait.results.metrics import metric
from plait.results.result import Result


def metric_bars(
    results: Sequence[Sequence[Result]],
    titles: Sequence[str],
    name: str,
    axis: str,
    *,
    scale: float = 1.0,
    beside: Sequence[Sequence[Result]] = (),
) -> Figure:
    """Draw one metric of every scenario (groups) and scheduler (bars).

    Args:
        results: one group per entry, one bar per result in it, the same schedulers in each.
        titles: titles of the groups.
        name: the metric's dotted name, see `plait.results.metrics.metric`.
        axis: label of the vertical axis, with the unit after scaling.
        scale: factor from the metric's unit to the axis's.
        beside: results of each group to be drawn as lines across the bars, such as single-path TCP.
    """
    figure, (axes,) = new_figure(width=9.6, height=3.8)
    series = [
        (one.scheduler, [(metric(group[index], name) or 0.0) * scale for group in results])
        for index, one in enumerate(results[0])
    ]
    grouped_bars(axes, titles, series)
    for index, one in enumerate(beside[0] if beside else ()):
        values = [(metric(group[index], name) or 0.0) * scale for group in beside]
        axes.hlines(
            values,
            [place - 0.44 for place in range(len(values))],
            [place + 0.44 for place in range(len(values))],
            color="#111111",
            linestyle=("-", (0, (2, 1.5)))[index % 2],
            linewidth=1.5,
            label=one.scheduler,
            zorder=3,
        )
    label(axes, y=axis)
    legend(figure, axes, columns=6)
    return figure


def slow_path_usage(results: Sequence[Sequence[Result]], titles: Sequence[str], path: str = "slow") -> Figure:
    """Draw the mean payload throughput of the path called `path`, in kbit/s."""
    return metric_bars(
        results, titles, f"paths.{path}.throughput_bps", f"throughput of the {path} path (kbit/s)", scale=1e-3
    )


def application_delay(results: Sequence[Sequence[Result]], titles: Sequence[str]) -> Figure:
    """Draw the mean time from a packet's first transmission to its in-order delivery, in ms."""
    return metric_bars(results, titles, "app_delay_ms.mean", "mean application delay (ms)")
