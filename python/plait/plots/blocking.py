"""Blocking time of each packet, compared with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from plait.plots.style import MODEL, colour, in_window, label, legend, new_figure, seconds
from plait.results.result import Result

DOTS: dict[str, Any] = {"linestyle": "", "marker": ".", "markersize": 2.5, "markeredgewidth": 0}
"""Style of dots. Lines would be misleading: blocked packets alternate with packets that are not."""


def blocking_time(
    results: Sequence[Sequence[Result]],
    model_ms: Sequence[float | None],
    titles: Sequence[str] = (),
    *,
    window: tuple[float, float] | None = None,
) -> Figure:
    """Draw the time from a packet's arrival to its in-order delivery, over the arrival time.

    A line shows the model's maximum.

    Args:
        results: one panel per entry, one curve per result in it; each needs ``packets=True``.
        model_ms: the model's longest blocking time of each panel in milliseconds; None for no line.
        titles: titles of the panels; by default the scenarios' names.
        window: seconds from and to; by default everything.
    """
    columns = min(3, len(results))
    rows = -(-len(results) // columns)
    figure, panels = new_figure(columns, rows, width=9.6 if columns > 1 else 7.2, height=0.9 + 2.0 * rows)
    for number, (axes, group, model) in enumerate(zip(panels, results, model_ms, strict=False)):
        for index, result in enumerate(group):
            arrived = result.packets.filter(pl.col("blocked_ns").is_not_null())
            frame = in_window(arrived, window, "arrived_ns").sort("arrived_ns")
            axes.plot(
                seconds(frame, "arrived_ns"),
                frame["blocked_ns"].to_numpy() / 1e6,
                label=result.scheduler,
                color=colour(index),
                zorder=3,
                **{**DOTS, "markersize": 4.0 if len(group) == 1 else 2.5},
            )
        if model is not None:
            axes.axhline(model, color=MODEL, linestyle=(0, (5, 2)), linewidth=1.3, label="model, eq. (2)")
        axes.set_ylim(bottom=0)
        axes.margins(x=0, y=0.12)
        if window is not None:
            axes.set_xlim(window)
        label(
            axes,
            x="time (s)" if number >= len(results) - columns else None,
            y="blocking (ms)" if number % columns == 0 else None,
            title=titles[number] if titles else group[0].scenario,
        )
    for axes in panels[len(results) :]:
        axes.set_visible(False)
    legend(figure, panels[0])
    return figure
