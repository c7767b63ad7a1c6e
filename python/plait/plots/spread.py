"""Distributions of a metric in the width of a paper: cumulative ones, and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from plait._core import ScenarioError
from plait.analysis.regions import cut
from plait.plots.curve import draw_distribution
from plait.plots.style import (
    SMALL,
    caption,
    check_log,
    colour,
    compact,
    inches,
    legend,
    log_ticks,
    new_figure,
    starts_at_zero,
    wrapped,
)
from plait.plots.subject import Subject
from plait.results.delays import delays
from plait.results.metrics import meant
from plait.results.result import Result
from plait.results.summary import count
from plait.results.wording import wording
from plait.support.words import expected
from plait.sweep.dataset import Dataset

Values = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Spread:
    """Values of a metric by scheduler, in the unit of `heading`.

    of: the thing that has a value each, such as points. text: their description for captions.
    """

    values: Values
    heading: str
    of: str
    text: str


def spread_of(dataset: Dataset, metric: str, schedulers: Sequence[str] = ()) -> Spread:
    """Return a metric's values by scheduler: one per point, or per seed of a single point.

    Raises:
        ScenarioError: a metric or scheduler is unknown, or no run has a value.
    """
    subject = Subject(dataset, metric, schedulers)
    found = subject.whole
    words = subject.words
    values = {name: found.of(name) * words.scale for name in subject.schedulers}
    text = f"{dataset.name}: {count(dataset.runs, 'run')}, {len(found.values)} {found.kind}"
    return Spread(values, words.heading, found.kind, text)


def spread_of_packets(results: Sequence[Result], metric: str, schedulers: Sequence[str] = ()) -> Spread:
    """Return the delays of all packets after the warm-up by scheduler, of all seeds together.

    Args:
        results: runs that recorded packets.
        metric: ``"app_delay_ms"`` or ``"blocking_ms"``; the unit may be left out.
        schedulers: labels; by default all.

    Raises:
        ScenarioError: a metric or scheduler is unknown. NotRecordedError: a run has no packets.
    """
    every = [(result.scheduler, delays(result)) for result in results]
    known = list(dict.fromkeys(name for name, _ in every))
    names = list(every[0][1])
    key = meant(metric, names)
    if key is None:
        message = f"metric {metric!r}: packets have none of that name{expected(metric, names)}"
        raise ScenarioError(message)
    for one in schedulers:
        if one not in known:
            message = f"scheduler {one!r}: unknown{expected(one, known)}"
            raise ScenarioError(message)
    values = {
        name: np.concatenate([held[key] for label, held in every if label == name])
        for name in schedulers or known
    }
    text = f"{results[0].scenario}: packets of {count(len(results), 'run')} after the warm-up"
    return Spread(values, wording(key).heading, "packets", text)


def cumulative(
    spread: Spread, *, width: str = "column", log: bool = False, note: str | None = None
) -> Figure:
    """Draw the cumulative distribution of each scheduler's values.

    Args:
        spread: from `spread_of` or `spread_of_packets`.
        width: as for `sweep_curves`.
        log: logarithmic axis of the metric.
        note: as for `sweep_curves`.
    """
    _check(spread, log=log)
    figure, (axes,) = new_figure(width=inches(width), height=min(0.72 * inches(width), 3.2))
    for index, (name, values) in enumerate(spread.values.items()):
        draw_distribution(axes, values, index=index, name=name, width=1.2)
    compact(axes, log=log)
    axes.set_ylim(0, 1.01)
    axes.set_xlabel(wrapped(spread.heading, inches(width)), fontsize=SMALL)
    axes.set_ylabel(f"share of {spread.of}", fontsize=SMALL)
    legend(figure, axes, columns=3, size=SMALL - 0.5)
    if note is not None:
        caption(figure, f"{spread.text}. {note}".strip())
    return figure


def boxes(spread: Spread, *, width: str = "column", log: bool = False, note: str | None = None) -> Figure:
    """Draw a box per scheduler: quartiles and median.

    Whiskers reach the last value within 1.5 times the box's length; values beyond are dots.

    Args:
        spread: from `spread_of` or `spread_of_packets`.
        width: as for `sweep_curves`.
        log: logarithmic axis of the metric.
        note: as for `sweep_curves`.
    """
    _check(spread, log=log)
    names = list(spread.values)
    figure, (axes,) = new_figure(width=inches(width), height=0.55 + 0.2 * len(names))
    compact(axes, log=log)
    _draw(axes, list(spread.values.values()), range(len(names)), 0.62, 0, vertical=False)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    if not log and starts_at_zero(np.concatenate(list(spread.values.values()))):
        axes.set_xlim(left=0)
    axes.set_xlabel(wrapped(spread.heading, inches(width)), fontsize=SMALL)
    if note is not None:
        caption(figure, f"{spread.text}. {note}".strip())
    return figure


def boxes_over(
    dataset: Dataset,
    x: str,
    metric: str,
    *,
    schedulers: Sequence[str] = (),
    width: str = "column",
    log: bool = False,
    note: str | None = None,
) -> Figure:
    """Draw boxes of each scheduler beside each other, for each value or slice of a variable.

    Boxes are those of `boxes`; the arguments are those of `sweep_curves`. `log`: logarithmic axis
    of the metric.

    Raises:
        ScenarioError: a variable, metric or scheduler is unknown, or no run has a value.
    """
    subject = Subject(dataset, metric, schedulers)
    frame = subject.rows(x)
    words = subject.words
    slices = cut(frame, x)
    groups = [subject.units(frame.filter(frame[x].is_between(one.low, one.high))) for one in slices]
    names = subject.schedulers
    spread = spread_of(dataset, metric, schedulers)
    _check(spread, log=log)
    figure, (axes,) = new_figure(width=inches(width), height=min(0.72 * inches(width), 3.2))
    size = 0.8 / len(names)
    for index, name in enumerate(names):
        places = [place + (index - (len(names) - 1) / 2) * size for place in range(len(slices))]
        _draw(axes, [one.of(name) * words.scale for one in groups], places, 0.84 * size, index, vertical=True)
    compact(axes)
    if log:
        axes.set_yscale("log")
        log_ticks(axes.yaxis)
    elif starts_at_zero(np.concatenate(list(spread.values.values()))):
        axes.set_ylim(bottom=0)
    axes.set_xticks(range(len(slices)), [str(one).replace(" … ", "–") for one in slices])
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(subject.with_unit(x), fontsize=SMALL)
    axes.set_ylabel(wrapped(words.heading, figure.get_figheight() * 0.9), fontsize=SMALL)
    figure.legend(
        handles=[Patch(facecolor=colour(index), alpha=0.45, label=name) for index, name in enumerate(names)],
        loc="outside upper center",
        ncols=min(3, len(names)),
        fontsize=SMALL - 0.5,
        frameon=False,
    )
    subject.caption(figure, f"boxes: quartiles over {subject.whole.kind}", note)
    return figure


def _draw(
    axes: Axes,
    values: Sequence[NDArray[np.float64]],
    places: Sequence[float],
    size: float,
    index: int,
    *,
    vertical: bool,
) -> None:
    axes.boxplot(
        values,
        positions=list(places),
        widths=size,
        orientation="vertical" if vertical else "horizontal",
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": (colour(index), 0.45), "edgecolor": "#333333", "linewidth": 0.6},
        medianprops={"color": "#111111", "linewidth": 1.2},
        whiskerprops={"color": "#333333", "linewidth": 0.6},
        capprops={"color": "#333333", "linewidth": 0.6},
        flierprops={"marker": ".", "markersize": 4, "markeredgewidth": 0, "markerfacecolor": "#555555"},
    )


def _check(spread: Spread, *, log: bool) -> None:
    """Raise ScenarioError for values that a logarithmic axis does not have, or without values."""
    for name, values in spread.values.items():
        if not len(values):
            message = f"{name}: no {spread.of} with a value"
            raise ScenarioError(message)
        if log:
            check_log(name, float(values.min()))
