"""The warm-up, which metrics leave out, as a mark in figures over time."""

from __future__ import annotations

from matplotlib.axes import Axes

from plait.plots.style import NANOSECONDS
from plait.results.delays import warmup_ns
from plait.results.result import Result


def mark_warmup(axes: Axes, result: Result) -> None:
    """Shade the warm-up of a run with a known scenario; do nothing without a warm-up."""
    end = warmup_ns(result) / NANOSECONDS
    if end:
        axes.axvspan(0.0, end, color="#000000", alpha=0.06, linewidth=0, zorder=0, gid="warm-up")
        axes.annotate(
            "warm-up",
            (end, 1.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-3, -2),
            textcoords="offset points",
            fontsize=7,
            color="#777777",
            ha="right",
            va="top",
        ).set_clip_on(True)
