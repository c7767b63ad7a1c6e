"""Comparison of two engines: one point per run, on the diagonal where they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from plait.plots.style import FEW, LOSS, MODEL, colour, label, legend, line, new_figure

MARKERS = "osD^vP*X"
HIGH = 0.7
"""Above this share of the cases a label stands left of the curves, below it right of them."""
ROOM = 1.25
"""Factor by which a logarithmic axis exceeds its data."""
LEAST = 0.01
"""Smallest difference in percent that is drawn; smaller ones are drawn at this value."""


@dataclass(frozen=True)
class Panel:
    """A metric: its title, the scale of the axes, and the points (kernel, simulator) by series.

    band: percent of deviation that is shaded around the diagonal. threshold: a `symlog` axis is
    linear below it.
    """

    title: str
    points: Mapping[str, Sequence[tuple[float, float]]]
    scale: Literal["log", "symlog", "linear"] = "log"
    band: float | None = None
    threshold: float = 1.0


def agreement(
    panels: Sequence[Panel],
    series: Sequence[str],
    differences: Mapping[str, Sequence[float]],
    goals: Sequence[tuple[float, float]],
    *,
    across: int = 3,
) -> Figure:
    """Draw one scatter per metric, and the cumulative distribution of the differences of goodput.

    Args:
        panels: the metrics.
        series: the names of all series, in the order of their colours.
        differences: percent, without sign, by group of cases.
        goals: (share, percent) pairs: this share of the differences should be at most this large.
        across: panels in a row.
    """
    rows = -(-(len(panels) + 1) // across)
    figure, axes = new_figure(across, rows, width=3.5 * across, height=0.4 + 3.3 * rows)
    for index, (one, panel) in enumerate(zip(axes, panels, strict=False)):
        _scatter(one, panel, series)
        label(one, x="kernel", y="simulator" if index % across == 0 else None, title=panel.title)
    _distribution(axes[len(panels)], differences, goals)
    for one in axes[len(panels) + 1 :]:
        one.remove()
    legend(figure, axes[0], columns=5)
    return figure


def regions(
    groups: Mapping[str, Mapping[str, Sequence[float]]], goals: Sequence[tuple[float, float]]
) -> Figure:
    """Draw percentiles of the differences by the properties of scenarios, one line per region.

    Args:
        groups: percent, without sign, by kind of property and by its value.
        goals: (share, percent) pairs: this share of the differences should be at most this large.
    """
    rows = [(kind, value, some) for kind, of in groups.items() for value, some in of.items() if len(some) > 0]
    kinds = list(dict.fromkeys(kind for kind, _, _ in rows))
    places = [index + 0.8 * kinds.index(kind) for index, (kind, _, _) in enumerate(rows)]
    figure, (axes,) = new_figure(width=8.4, height=1.2 + 0.19 * (places[-1] if places else 0))
    for index, (share, percent) in enumerate(goals):
        sizes = [max(float(np.percentile(some, 100 * share)), LEAST) for _, _, some in rows]
        name = "median" if share == 0.5 else f"{100 * share:.0f}th percentile"
        axes.plot(
            sizes,
            places,
            linestyle="none",
            marker=MARKERS[index],
            markersize=5,
            color=colour(index),
            label=name,
        )
        axes.axvline(percent, color=colour(index), linewidth=1.0, linestyle=line(1), zorder=1)
    shares = [share for share, _ in goals]
    for place, (_, _, some) in zip(places, rows, strict=True):
        ends = np.maximum(np.percentile(some, [100 * min(shares), 100 * max(shares)]), LEAST)
        axes.plot(ends, [place, place], color="#BBBBBB", linewidth=1.5, zorder=1)
    named = [
        f"{kind}: {value} ({len(some)})"
        if index == 0 or rows[index - 1][0] != kind
        else f"{value} ({len(some)})"
        for index, (kind, value, some) in enumerate(rows)
    ]
    axes.set_yticks(places, named, fontsize=8)
    axes.set_ylim((places[-1] if places else 0) + 1, -1)
    axes.set_xscale("log")
    axes.set_xlim(LEAST / ROOM, 1000)
    axes.xaxis.set_major_formatter(_least_or_number())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=False, axis="y")
    label(axes, x="difference of goodput, without sign (%); dashed: goals. In parentheses: rows")
    legend(figure, axes)
    return figure


def _least_or_number() -> FuncFormatter:
    return FuncFormatter(lambda value, _: f"≤{value:g}" if value <= LEAST else f"{value:g}")


def _scatter(axes: Axes, panel: Panel, series: Sequence[str]) -> None:
    for index, name in enumerate(series):
        points = np.asarray(panel.points.get(name, ()), dtype=np.float64).reshape(-1, 2)
        axes.plot(
            points[:, 0],
            points[:, 1],
            linestyle="none",
            marker=MARKERS[index % len(MARKERS)],
            markersize=4.5,
            alpha=0.75,
            markeredgewidth=0,
            color=colour(index),
            label=name,
            zorder=3,
        )
    every = np.asarray([point for some in panel.points.values() for point in some]).ravel()
    low, high = _range(every, panel)
    ends = np.geomspace(low, high, 50) if panel.scale == "log" else np.linspace(low, high, 50)
    axes.plot(ends, ends, color=MODEL, linewidth=0.9, zorder=2)
    if panel.band is not None:
        share = panel.band / 100
        axes.fill_between(
            ends, ends * (1 - share), ends * (1 + share), color="#DDDDDD", zorder=1, linewidth=0
        )
    for axis, set_scale in ((axes.xaxis, axes.set_xscale), (axes.yaxis, axes.set_yscale)):
        if panel.scale == "log":
            set_scale("log")
            if high < FEW * low:
                axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_minor_formatter(NullFormatter())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        elif panel.scale == "symlog":
            set_scale("symlog", linthresh=panel.threshold)
            axis.set_minor_formatter(NullFormatter())
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_box_aspect(1)


def _range(values: np.ndarray[tuple[int], np.dtype[np.float64]], panel: Panel) -> tuple[float, float]:
    """Return the range of both axes."""
    if panel.scale == "log":
        positive = values[values > 0]
        return (float(positive.min()) / ROOM, float(positive.max()) * ROOM) if len(positive) else (1.0, 10.0)
    highest = max(float(values.max(initial=0.0)), panel.threshold)
    if panel.scale == "symlog":
        return -0.15 * panel.threshold, highest * 2
    return -0.03 * highest, 1.03 * highest


def _distribution(
    axes: Axes, differences: Mapping[str, Sequence[float]], goals: Sequence[tuple[float, float]]
) -> None:
    for index, (name, some) in enumerate(differences.items()):
        if not some:
            continue
        values = np.sort(np.maximum(some, LEAST))
        shares = np.arange(1, len(values) + 1) / len(values)
        axes.step(
            values,
            shares,
            where="post",
            linewidth=1.5,
            linestyle=line(index),
            color=MODEL if index == 0 else "#8A8A8A",
            label=name,
        )
    for index, (share, percent) in enumerate(goals):
        axes.plot(
            [percent],
            [share],
            linestyle="none",
            marker="x",
            markersize=8,
            markeredgewidth=2,
            color=LOSS,
            zorder=4,
            label="goals" if index == 0 else None,
        )
        axes.annotate(
            f"{share * 100:.0f} % ≤ {percent:g} %",
            (percent, share),
            textcoords="offset points",
            # On the side without curves.
            xytext=(-8, -3) if share > HIGH else (8, -11),
            ha="right" if share > HIGH else "left",
            fontsize=8,
            color=LOSS,
        )
    axes.set_xscale("log")
    axes.set_xlim(LEAST, 1000)
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_formatter(_least_or_number())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_box_aspect(1)
    label(
        axes, x="difference of goodput, without sign (%)", y="share of cases", title="goodput: how far apart"
    )
    axes.legend(fontsize=8, frameon=False, loc="lower right")
