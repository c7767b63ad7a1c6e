"""Figures. Each function returns a matplotlib Figure; `save` writes it as PNG, SVG or PDF, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from plait.plots.bars import application_delay, metric_bars, slow_path_usage
from plait.plots.blocking import blocking_time
from plait.plots.delays import estimated_delays
from plait.plots.distribution import distribution
from plait.plots.occupancy import receive_buffer
from plait.plots.order import Strip, receive_order
from plait.plots.over import over
from plait.plots.sequence import sequence
from plait.plots.space_time import space_time
from plait.plots.throughput import cumulative_throughput
from plait.support.files import whole_file

RESOLUTION = 144
"""Dots per inch of a PNG."""


def save(figure: Figure, file: Path) -> None:
    """Write a figure in the format that the file's name ends in; OutputError if it cannot be written."""
    with whole_file(file) as temporary:
        figure.savefig(temporary, dpi=RESOLUTION)


def png(figure: Figure) -> bytes:
    """The figure as PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=RESOLUTION)
    return buffer.getvalue()


__all__ = [
    "Strip",
    "application_delay",
    "blocking_time",
    "cumulative_throughput",
    "distribution",
    "estimated_delays",
    "metric_bars",
    "over",
    "png",
    "receive_buffer",
    "receive_order",
    "save",
    "sequence",
    "slow_path_usage",
    "space_time",
]
