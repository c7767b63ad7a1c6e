"""Throughput over time, summed over the paths."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from plait.plots.style import LINES, NANOSECONDS, colour, in_window, label, legend, new_figure
from plait.plots.warmup import mark_warmup
from plait.results.result import Result

MOST_CURVES = 2
"""Maximum number of paths with their curves in one panel."""


def cumulative_throughput(
    results: Sequence[Result], *, window: tuple[float, float] | None = None, average: float = 1.0
) -> Figure:
    """Draw first-arrival payload per second, summed over all paths (left) and of each path (right).

    With more than two paths the curves would cover each other. Each result then has one panel with
    stacked paths.

    Args:
        results: one curve each; each needs ``series``.
        window: seconds from and to; by default everything.
        average: length of the averaging interval in seconds.
    """
    if len(results[0].path_names) > MOST_CURVES:
        return _stacked(results, average, window)
    figure, (left, right) = new_figure(2, height=3.5, width=9.6, share_y=True)
    for index, result in enumerate(results):
        width = max(1.2, 2.6 - 0.7 * index)  # equal curves remain visible below each other
        rates = _rates(result, average, window)
        total = rates.group_by("time", maintain_order=True).agg(pl.col("mbps").sum())
        left.plot(
            total["time"].to_numpy(),
            total["mbps"].to_numpy(),
            color=colour(index),
            label=result.scheduler,
            linewidth=width,
        )
        for number in range(len(result.path_names)):
            one = rates.filter(pl.col("path") == number)
            right.plot(
                one["time"].to_numpy(),
                one["mbps"].to_numpy(),
                color=colour(index),
                linestyle=LINES[number % len(LINES)],
                linewidth=width,
            )
    if window is None:
        for axes in (left, right):
            mark_warmup(axes, results[0])
    left.set_ylim(bottom=0)
    left.margins(y=0.15)
    label(left, x="time (s)", y="payload arrived (Mbit/s)", title="All paths together")
    label(right, x="time (s)", title="Each path")
    left.margins(x=0)
    right.margins(x=0)
    for number, name in enumerate(results[0].path_names):
        right.plot(
            [],
            [],
            color="#555555",
            linewidth=1.2,
            linestyle=LINES[number % len(LINES)],
            label=f"path “{name}”",
        )
    right.legend(fontsize=9, frameon=False, loc="upper right", ncols=4, bbox_to_anchor=(1.0, 1.12))
    legend(figure, left)
    return figure


def _stacked(results: Sequence[Result], average: float, window: tuple[float, float] | None) -> Figure:
    """Draw one panel per result, with stacked paths."""
    figure, panels = new_figure(len(results), height=3.7, width=9.6, share_y=True)
    for number, (axes, result) in enumerate(zip(panels, results, strict=True)):
        rates = _rates(result, average, window)
        paths = [rates.filter(pl.col("path") == index) for index in range(len(result.path_names))]
        axes.stackplot(
            paths[0]["time"].to_numpy(),
            [one["mbps"].to_numpy() for one in paths],
            labels=[f"path “{name}”" for name in result.path_names],
            colors=[colour(index) for index in range(len(paths))],
            alpha=0.75,
            linewidth=0,
        )
        axes.margins(x=0)
        if window is None:
            mark_warmup(axes, result)
        label(
            axes,
            x="time (s)",
            y="payload arrived (Mbit/s)" if number == 0 else None,
            title=result.scheduler,
        )
    panels[0].set_ylim(bottom=0)
    legend(figure, panels[0])
    return figure


def _rates(result: Result, average: float, window: tuple[float, float] | None) -> pl.DataFrame:
    """Return Mbit/s per path and averaging interval; time is the interval's end in seconds."""
    step = round(average * NANOSECONDS)
    frame = (
        in_window(result.path_series, window).filter(pl.col("time_ns") % step == 0).sort("path", "time_ns")
    )
    bits = pl.col("arrived_bytes").cast(pl.Int64).diff().over("path") * 8
    elapsed = pl.col("time_ns").diff().over("path")
    return frame.select(
        "path", (pl.col("time_ns") / NANOSECONDS).alias("time"), (bits / elapsed * 1e3).alias("mbps")
    ).drop_nulls()
