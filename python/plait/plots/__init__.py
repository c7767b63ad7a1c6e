"""Figures: each function returns a matplotlib Figure.

`save` writes a figure as PNG, SVG or PDF, complete or not at all.
"""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path

from matplotlib.figure import Figure

from plait._core import ScenarioError
from plait.plots.animation import animate
from plait.plots.bars import application_delay, metric_bars, slow_path_usage
from plait.plots.beside import beside
from plait.plots.blocking import blocking_time
from plait.plots.delays import estimated_delays
from plait.plots.differences import paired_differences
from plait.plots.distribution import distribution
from plait.plots.heatmap import heat_map
from plait.plots.occupancy import receive_buffer
from plait.plots.order import ArrivalOrder, receive_order
from plait.plots.over import over
from plait.plots.sequence import sequence
from plait.plots.space_time import space_time
from plait.plots.spread import boxes, boxes_over, cumulative, spread_of, spread_of_packets
from plait.plots.style import caption, real_fonts
from plait.plots.sweep import difference_curves, sweep_curves
from plait.plots.throughput import cumulative_throughput
from plait.support.files import whole_file

RESOLUTION = 144
"""Dots per inch of a PNG."""


FORMATS = ("pdf", "svg", "png")
"""File formats of figures; PDF and SVG have real fonts."""


def save(figure: Figure, file: str | PathLike[str]) -> None:
    """Write a figure in the format of the file's ending: `.pdf`, `.svg` or `.png`.

    Raises:
        OutputError: the file is not writable. ScenarioError: the name has another ending.
    """
    file = Path(file)
    if file.suffix.removeprefix(".").lower() not in FORMATS:
        message = f"{file}: no figure's name; expected one that ends in .{', .'.join(FORMATS)}"
        raise ScenarioError(message)
    with whole_file(file) as temporary, real_fonts():
        figure.savefig(temporary, dpi=RESOLUTION)


def png(figure: Figure) -> bytes:
    """Return the figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION)
    return buffer.getvalue()


__all__ = [
    "ArrivalOrder",
    "animate",
    "application_delay",
    "beside",
    "blocking_time",
    "boxes",
    "boxes_over",
    "caption",
    "cumulative",
    "cumulative_throughput",
    "difference_curves",
    "distribution",
    "estimated_delays",
    "heat_map",
    "metric_bars",
    "over",
    "paired_differences",
    "png",
    "receive_buffer",
    "receive_order",
    "save",
    "sequence",
    "slow_path_usage",
    "space_time",
    "spread_of",
    "spread_of_packets",
    "sweep_curves",
]
