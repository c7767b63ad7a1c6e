"""Sequence over time: the path and the arrival time of each part of the stream."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from plait.plots.style import colour, in_window, label, legend, new_figure, seconds
from plait.results.result import Result

MOST_DOTS = 20_000
"""Maximum dots per panel and path; of more packets, only every second, third … is drawn."""


def sequence(
    results: Sequence[Result], titles: Sequence[str] = (), *, window: tuple[float, float] | None = None
) -> Figure:
    """Draw the place in the stream of each packet over its arrival time, in its path's colour.

    Args:
        results: one panel each; each needs ``packets=True``.
        titles: titles of the panels; by default the schedulers.
        window: seconds from and to; by default everything.
    """
    figure, panels = new_figure(len(results), width=max(6.0, 3.4 * len(results)), height=3.7, share_y=True)
    for number, (axes, result) in enumerate(zip(panels, results, strict=True)):
        arrived = result.packets.filter(pl.col("arrived_ns").is_not_null())
        shown = in_window(arrived, window, "arrived_ns")
        for index, name in enumerate(result.path_names):
            packets = shown.filter(pl.col("path") == index)
            packets = packets.gather_every(max(1, -(-len(packets) // MOST_DOTS)))
            axes.plot(
                seconds(packets, "arrived_ns"),
                packets["sequence"].to_numpy() / 1e3,
                linestyle="",
                marker=".",
                markersize=1.8,
                markeredgewidth=0,
                color=colour(index),
                label=f"path “{name}”",
                rasterized=True,
            )
        if window is not None:
            axes.set_xlim(window)
        axes.set_ylim(bottom=0 if window is None or window[0] == 0 else None)
        label(
            axes,
            x="time (s)",
            y="place in the stream (1000 packets)" if number == 0 else None,
            title=titles[number] if titles else result.scheduler,
        )
    legend(figure, panels[0])
    return figure
