"""Receive-buffer occupancy over time."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from plait.plots.style import LINES, colour, in_window, label, legend, new_figure, seconds
from plait.plots.warmup import mark_warmup
from plait.results.result import Result


def receive_buffer(
    results: Sequence[Sequence[Result]],
    titles: Sequence[str] = (),
    *,
    window: tuple[float, float] | None = None,
) -> Figure:
    """Draw the packets that wait in the receive buffer for in-order delivery, over time.

    Args:
        results: one panel per entry, one curve per result in it; each needs ``series``.
        titles: titles of the panels; by default the scenarios' names.
        window: seconds from and to; by default everything.
    """
    figure, panels = new_figure(rows=len(results), height=1.2 + 1.75 * len(results))
    for number, (axes, group) in enumerate(zip(panels, results, strict=True)):
        for index, result in enumerate(group):
            frame = in_window(result.connection_series, window)
            axes.step(
                seconds(frame),
                frame["buffer_packets"].to_numpy(),
                where="post",
                label=result.scheduler,
                color=colour(index),
                linewidth=1.0,
                linestyle=LINES[0],
            )
        if window is None:
            mark_warmup(axes, group[0])
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
        if window is not None:
            axes.set_xlim(window)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        title = titles[number] if titles else group[0].scenario
        label(axes, y="packets waiting", title=title)
    label(panels[-1], x="time (s)")
    legend(figure, panels[0])
    return figure
