"""The figures of the questions, in the style of `plait.plots`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from plait.plots.style import colour, label, legend, line, new_figure
from plait.statistics.estimate import Estimate

EXTREME = 100.0
"""Changes in percent beyond this have the darkest colour."""


@dataclass(frozen=True)
class Cell:
    """A cell of a map: a change in percent, a remark below it, and whether it has a frame."""

    change: float
    remark: str = ""
    framed: bool = False


@dataclass(frozen=True)
class Panel:
    """A map: its title, its columns and rows, and a cell for each pair of them."""

    title: str
    columns: Sequence[float]
    rows: Sequence[float]
    cells: Mapping[tuple[float, float], Cell]


def maps(panels: Sequence[Panel], across: int, *, x: str, y: str, what: str) -> Figure:
    """Draw maps of changes in percent, blue for less and red for more, `across` in a row."""
    figure, axes = new_figure(
        across, len(panels) // across, width=3.6 * across, height=2.6 * len(panels) / across
    )
    norm = TwoSlopeNorm(0, -EXTREME, EXTREME)
    for index, (one, panel) in enumerate(zip(axes, panels, strict=True)):
        rows = [[panel.cells[column, row].change for column in panel.columns] for row in panel.rows]
        image = one.imshow(rows, cmap="RdBu_r", norm=norm, aspect="auto", origin="lower")
        for (column, row), cell in panel.cells.items():
            place = (panel.columns.index(column), panel.rows.index(row))
            dark = abs(cell.change) > 0.6 * EXTREME
            number = f"{cell.change:+.0f}".replace("-", "−") if round(cell.change) else "0"
            text = f"{number}\n{cell.remark}" if cell.remark else number
            one.text(
                *place, text, ha="center", va="center", fontsize=6.5, color="white" if dark else "#222222"
            )
            if cell.framed:
                corner = (place[0] - 0.46, place[1] - 0.46)
                one.add_patch(Rectangle(corner, 0.92, 0.92, fill=False, linewidth=1.8, edgecolor="#111111"))
        one.grid(visible=False)
        one.set_xticks(range(len(panel.columns)), [f"{column:g}" for column in panel.columns])
        one.set_yticks(range(len(panel.rows)), [f"{row:g}" for row in panel.rows])
        bottom, left = index >= len(panels) - across, index % across == 0
        label(one, x=x if bottom else None, y=y if left else None, title=panel.title)
    bar = figure.colorbar(image, ax=axes, shrink=0.7, pad=0.01, extend="max")
    bar.set_label(what, fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return figure


def curves(
    panels: Sequence[tuple[str, Mapping[str, Sequence[Estimate]]]], places: Sequence[str], *, x: str
) -> Figure:
    """Draw one panel per metric: estimates over places, one curve per scheduler.

    Whiskers show confidence intervals.
    """
    figure, axes = new_figure(len(panels), width=4.3 * len(panels), height=4.2)
    for one, (name, found) in zip(axes, panels, strict=True):
        for index, (scheduler, estimates) in enumerate(found.items()):
            shifted = [place + (index - (len(found) - 1) / 2) * 0.05 for place in range(len(places))]
            bounds = [each.interval or (each.value, each.value) for each in estimates]
            one.plot(
                shifted,
                [each.value for each in estimates],
                color=colour(index),
                linestyle=line(index),
                linewidth=1.4,
                marker="o",
                markersize=3.5,
                label=scheduler,
            )
            one.vlines(shifted, *zip(*bounds, strict=True), color=colour(index), linewidth=1.0)
        one.axhline(0, color="#777777", linewidth=0.9, zorder=1)
        one.set_xticks(range(len(places)), list(places))
        label(one, x=x, y=name)
    legend(figure, axes[0], columns=4)
    return figure


def dots(
    panels: Sequence[tuple[str, str, Mapping[str, Sequence[Estimate]]]],
    series: Sequence[str],
    across: int,
    *,
    log: Sequence[str] = (),
    mark: float | None = None,
) -> Figure:
    """Draw panels with a line per scheduler and a dot per series; whiskers are intervals.

    Args:
        panels: title, name of the metric with its unit, and each scheduler's estimates, one per
            series.
        series: names of the series.
        across: panels in a row.
        log: the metrics with a logarithmic axis.
        mark: a value that a vertical line marks.
    """
    down = len(panels) // across
    names = list(panels[0][2])
    height = down * (0.9 + 0.22 * len(names)) + 0.4
    figure, axes = new_figure(across, down, width=2.0 + 2.9 * across, height=height)
    for index, (one, (title, metric, found)) in enumerate(zip(axes, panels, strict=True)):
        for number, name in enumerate(series):
            places = [
                len(names) - 1 - row + (0.5 * (len(series) - 1) - number) * 0.24 for row in range(len(names))
            ]
            estimates = [found[scheduler][number] for scheduler in names]
            bounds = [each.interval or (each.value, each.value) for each in estimates]
            one.hlines(places, *zip(*bounds, strict=True), color=colour(number), linewidth=1.4, alpha=0.7)
            values = [each.value for each in estimates]
            one.plot(
                values,
                places,
                linestyle="",
                marker="os"[number % 2],
                markersize=4.5,
                color=colour(number),
                label=name,
            )
        if mark is not None:
            one.axvline(mark, color="#777777", linewidth=0.9, zorder=1)
        one.margins(x=0.08)
        if metric in log:
            one.set_xscale("log")
            one.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            one.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            one.xaxis.set_minor_formatter(NullFormatter())
        else:
            one.set_xlim(left=0)
        one.set_yticks(range(len(names)), names[::-1] if index % across == 0 else [""] * len(names))
        one.set_ylim(-0.7, len(names) - 0.3)
        label(one, x=metric, title=title)
    legend(figure, axes[0])
    return figure
