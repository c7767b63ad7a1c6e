"""A common look of all figures: colours for the colour-blind, quiet axes, units in every label.

Figures do not use pyplot: no global state, safe in threads and notebooks.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, cast

import numpy as np
import polars as pl
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from plait._core import ScenarioError
from plait.support.widths import WIDTHS
from plait.support.words import expected

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#6B6B6B", "#B8A900")
"""Okabe and Ito's colours, first the ones that contrast best with white."""
LINES = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (4, 1, 1, 1)),
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (4, 1, 1, 1)),
)
"""Line styles, which distinguish curves beside the colour."""
LOSS = "#C1121F"
MODEL = "#333333"
GRID = "#E3E3E3"
NANOSECONDS = 1e9
FEW = 300
"""Ratio of highest to lowest value of a logarithmic axis below which ticks at powers of ten are too
few."""
SUBDIVISIONS = ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,))
"""Labelled multiples of powers of ten, the first choice first."""
SHARE_OF_AXIS = 0.8
"""Length of an axis relative to the width of its panel."""
FROM_ZERO = 0.5
"""An axis starts at zero if the lowest value is at most this share of the highest one. The axis of
bars always does."""
MOST_NUMBERS = 30
"""Maximum number of bars in a figure with values written above them."""


SINGLE = 4.0
"""Inches up to which a width is one of a single column."""
SMALL = 7.0
"""Points of text in figures for papers."""
WIDE = 0.62
"""Width of a letter relative to its height, large enough for words of any language."""


def real_fonts() -> AbstractContextManager[None]:
    """Return a context in which PDF and PostScript have TrueType fonts, and SVG has text.

    Otherwise matplotlib draws glyphs as fonts of Type 3, which publishers reject.
    """
    return rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"})


class NotebookFigure(Figure):
    """A figure that a notebook shows without pyplot, and whose PDF and SVG have real fonts."""

    def savefig(self, fname: Any, **more: Any) -> None:
        """Write the figure as matplotlib does, with real fonts in PDF, PostScript and SVG."""
        with real_fonts():
            super().savefig(fname, **more)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def colour(index: int) -> str:
    """Return the colour of the curve, bar or path with this index."""
    return COLOURS[index % len(COLOURS)]


def line(index: int) -> Any:
    """Return the line style of the curve with this index; with colours, 32 curves are distinct."""
    return LINES[(index + index // len(COLOURS)) % len(LINES)]


def new_figure(
    columns: int = 1,
    rows: int = 1,
    *,
    width: float = 7.2,
    height: float = 3.6,
    share_y: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[NotebookFigure, list[Axes]]:
    """Return a figure with a grid of axes in the common style, row by row.

    `width` and `height` (inches) are of the whole figure, `heights` the proportions of its rows.
    """
    figure = NotebookFigure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=share_y, height_ratios=heights)
    axes = [cast("Axes", one) for one in grid.flat]
    for one in axes:
        dress(one)
    return figure, axes


def dress(axes: Axes) -> None:
    """Give axes the common style."""
    axes.grid(visible=True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", labelsize=9, length=3, color="#888888")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color("#888888")


def label(axes: Axes, *, x: str | None = None, y: str | None = None, title: str | None = None) -> None:
    """Name the axes, units included, in the common sizes."""
    if x is not None:
        axes.set_xlabel(x, fontsize=9.5)
    if y is not None:
        axes.set_ylabel(y, fontsize=9.5)
    if title is not None:
        axes.set_title(title, fontsize=10, loc="left")


def inches(width: str) -> float:
    """Return the inches of a width of `WIDTHS`; ScenarioError for another name."""
    if width not in WIDTHS:
        message = f"width {width!r}: unknown{expected(width, list(WIDTHS))}"
        raise ScenarioError(message)
    return WIDTHS[width]


def starts_at_zero(values: Iterable[float]) -> bool:
    """Return whether the axis of these values starts at zero.

    Otherwise it has their range, since from zero on, small differences would not be visible.
    """
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and 0 <= min(known) <= FROM_ZERO * max(known)


def compact(axes: Axes, *, log: bool = False) -> None:
    """Give axes the text sizes and numbers of a paper's figure; `log`: a logarithmic axis x."""
    axes.tick_params(labelsize=SMALL - 0.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
    if log:
        axes.set_xscale("log")
        log_ticks(axes.xaxis)


def log_ticks(axis: Axis) -> None:
    """Label 1, 2 and 5 of each power of ten on a logarithmic axis that spans few of them.

    Labels that would touch each other are left out: first those of 2 and 5 for one at 3, then it.
    """
    low, high = axis.get_view_interval()
    steps = next((one for one in SUBDIVISIONS if _fit(axis, low, high, one)), SUBDIVISIONS[-1])
    if high < FEW * low:
        axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(plain)


def _fit(axis: Axis, low: float, high: float, steps: Sequence[float]) -> bool:
    """Whether the labels of these multiples of powers of ten have room beside each other."""
    figure, grid = axis.get_figure(root=True), axis.axes.get_gridspec()
    if not isinstance(axis, XAxis) or figure is None or not 0 < low < high:
        return True
    length = SHARE_OF_AXIS * figure.get_figwidth() / (1 if grid is None else grid.ncols)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    letter = SMALL * WIDE / 72
    return all(
        (len(plain(one)) + len(plain(other))) / 2 * letter + letter
        < length * math.log10(other / one) / math.log10(high / low)
        for one, other in pairwise(ticks)
    )


def check_log(name: str, lowest: float) -> None:
    """Raise ScenarioError for a lowest value that a logarithmic axis does not have."""
    if lowest <= 0:
        message = f"--log: {name} has a value of {lowest:g}; expected only values above zero"
        raise ScenarioError(message)


def wrapped(text: str, length: float, size: float = SMALL) -> str:
    """Break a text into lines of at most `length` inches; `size` in points."""
    return textwrap.fill(text, int(length * 72 / (size * WIDE)), break_on_hyphens=False)


def caption(figure: Figure, text: str) -> None:
    """Add a small line of text below the figure, wrapped to the figure's width."""
    size = 5.5
    lines = wrapped(text, figure.get_figwidth(), size)
    figure.supxlabel(lines, fontsize=size, color="#666666", x=0.01, ha="left", linespacing=1.3)


def plain(value: float, _: object = None) -> str:
    """Format a tick's number: no exponent, no negative zero, thin spaces between thousands."""
    text = f"{value:,.10f}".rstrip("0").rstrip(".").replace(",", "\u2009")
    return "0" if text == "-0" else text.replace("-", "\u2212")


def legend(figure: Figure, axes: Axes, columns: int = 4, size: float = 9) -> None:
    """Add one legend above the whole figure, where it covers no data; `size` in points."""
    entries = list(zip(*axes.get_legend_handles_labels(), strict=True))
    entries.sort(key=lambda entry: not isinstance(entry[0], Container))  # bars before lines
    if len(entries) > 1:
        drawn = figure.legend(
            [handle for handle, _ in entries],
            [text for _, text in entries],
            loc="outside upper center",
            ncols=min(columns, len(entries)),
            fontsize=size,
            frameon=False,
        )
        for line in drawn.get_lines():
            line.set_markersize(max(size - 1, line.get_markersize()))


def in_window(
    frame: pl.DataFrame, window: tuple[float, float] | None, column: str = "time_ns"
) -> pl.DataFrame:
    """Return the rows with `column` (nanoseconds) in the window (seconds), all without a window."""
    if window is None:
        return frame
    return frame.filter(
        pl.col(column).is_between(round(window[0] * NANOSECONDS), round(window[1] * NANOSECONDS))
    )


def seconds(frame: pl.DataFrame, column: str = "time_ns") -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a column of nanoseconds as seconds."""
    return cast("np.ndarray[tuple[int], np.dtype[np.float64]]", frame[column].to_numpy() / NANOSECONDS)


def grouped_bars(axes: Axes, groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]]) -> None:
    """Draw bars side by side: one group per entry of `groups`, one bar per series.

    Where there is room, each bar has its value written above it.
    """
    positions = np.arange(len(groups))
    width = 0.8 / max(1, len(series))
    for index, (name, values) in enumerate(series):
        offset = (index - (len(series) - 1) / 2) * width
        bars = axes.bar(positions + offset, values, width * 0.92, label=name, color=colour(index), zorder=2)
        if len(groups) * len(series) <= MOST_NUMBERS:
            axes.bar_label(
                bars, [f"{value:.0f}" for value in values], fontsize=7.5, padding=2, color="#333333"
            )
    axes.set_xticks(positions, list(groups))
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.14)
