"""A metric of a sweep over one of its variables, a small panel per scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plait._core import ScenarioError
from plait.analysis.comparison import Units
from plait.analysis.regions import regions
from plait.plots.curve import draw_curve
from plait.plots.style import (
    SINGLE,
    SMALL,
    check_log,
    compact,
    inches,
    legend,
    new_figure,
    starts_at_zero,
    wrapped,
)
from plait.plots.subject import Subject
from plait.results.metrics import least
from plait.statistics import estimate
from plait.statistics.estimate import Estimate
from plait.sweep.dataset import Dataset

TOGETHER = 3
"""Maximum number of curves in one panel."""
MOST_BAND = 2.0
"""An axis ends at this many times the highest mean. Bands over two or three points may be longer, and
would flatten the curves."""
LINE = 1.2
"""Points of a curve's line."""


@dataclass(frozen=True)
class Curve:
    """A scheduler's estimates, with their places on the axis."""

    scheduler: str
    places: list[float]
    estimates: list[Estimate]


def sweep_curves(
    dataset: Dataset,
    x: str,
    metric: str,
    *,
    schedulers: Sequence[str] = (),
    width: str = "column",
    log: bool = False,
    note: str | None = None,
) -> Figure:
    """Draw the mean of a metric over a variable; the bands are intervals of 95 %.

    Each place is a value of the variable, or the median of a slice with equally many points if
    there are many values. Up to three schedulers share a panel; more have one each, with the others
    in grey.

    Args:
        dataset: from `plait.sweep.read`.
        x: the variable, a column of numbers.
        metric: a dotted name, such as ``"goodput_bps"`` or ``"app_delay_ms.p95"``.
        schedulers: labels; by default all.
        width: ``"column"`` (3.33 inches) or ``"page"`` (7 inches), which fit ACM's layout;
            ``"ieee-column"`` (3.5 inches) or ``"ieee-page"`` (7.16 inches), which fit IEEE's.
        log: logarithmic axis of the variable.
        note: additional text of a caption in the figure, which names plan and runs; None: no
            caption.

    Raises:
        ScenarioError: a variable, metric or scheduler is unknown, or no run has a value.
    """
    subject = Subject(dataset, metric, schedulers)

    def means(found: Units) -> list[Estimate]:
        return [estimate.mean(found.of(name)) for name in subject.schedulers]

    found, kinds = _curves(subject, x, subject.schedulers, means)
    words = subject.words
    figure, panels = _drawn(subject, found, x, words.heading, words.scale, width, log=log)
    ends = [end for curve in found for one in curve.estimates for end in one.interval or (one.value,)]
    if starts_at_zero(max(end, least(subject.metric)) for end in ends):
        panels[0].set_ylim(bottom=0)
    highest = max(one.value for curve in found for one in curve.estimates) * words.scale
    cut = ""
    if panels[0].get_ylim()[1] > MOST_BAND * highest > 0:
        panels[0].set_ylim(top=MOST_BAND * highest)
        if max(ends) * words.scale > MOST_BAND * highest:
            panels[0].text(
                0.99, 0.99, "bands cut", ha="right", va="top", size=SMALL, transform=panels[0].transAxes
            )
            cut = f", cut at {MOST_BAND:.0f} times the highest mean"
    grey = ", the other schedulers in grey" * (len(panels) > 1)
    subject.caption(figure, f"means with intervals of 95 % {subject.over(kinds, x)}{cut}{grey}", note)
    return figure


def difference_curves(
    dataset: Dataset,
    x: str,
    metric: str,
    *,
    baseline: str = "",
    percent: bool = False,
    schedulers: Sequence[str] = (),
    width: str = "column",
    log: bool = False,
    note: str | None = None,
) -> Figure:
    """Draw over a variable how much better than a baseline schedulers are, with 95 % intervals.

    Runs of a pair have the same scenario and seed; more than zero is better, also where less of the
    metric is. Places and panels are those of `sweep_curves`.

    Args:
        dataset: from `plait.sweep.read`.
        x: the variable, a column of numbers.
        metric: as for `sweep_curves`.
        baseline: a scheduler; by default the first.
        percent: draw percent of the baseline's mean instead of the metric's unit.
        schedulers: labels; by default all.
        width: as for `sweep_curves`.
        log: as for `sweep_curves`.
        note: as for `sweep_curves`.

    Raises:
        ScenarioError: as for `sweep_curves`, or there is nothing to compare.
    """
    subject = Subject(dataset, metric, schedulers, baseline)

    def gains(found: Units) -> list[Estimate]:
        gained = subject.gains(found)
        if percent:
            return [one.change or Estimate(float("nan")) for one in gained]
        return [one.difference for one in gained]

    found, kinds = _curves(subject, x, subject.others, gains)
    words = subject.words
    unit, scale = ("%", 1.0) if percent else (words.unit, words.scale)
    figure, panels = _drawn(subject, found, x, subject.gain_label(unit), scale, width, log=log)
    for axes in panels:
        axes.axhline(0, color="#333333", linewidth=0.7, zorder=1.5)
    text = f"means of differences of pairs with intervals of 95 % {subject.over(kinds, x)}"
    subject.caption(figure, text, note)
    return figure


def _curves(
    subject: Subject, x: str, names: Sequence[str], estimates: Callable[[Units], Sequence[Estimate]]
) -> tuple[list[Curve], set[str]]:
    """Return the curves, and the kinds of units of their estimates."""
    frame = subject.rows(x)
    if not frame[x].dtype.is_numeric():
        message = f"variable {x!r}: its values are text; expected a variable with numbers"
        raise ScenarioError(message)
    _ = subject.whole
    curves, kinds = [Curve(name, [], []) for name in names], set()
    for _, rows in regions(frame, [x]):
        found = subject.units(rows)
        if not len(found.values):
            continue
        place = float(rows[x].cast(float).median() or 0.0)  # type: ignore[arg-type]
        for curve, one in zip(curves, estimates(found), strict=True):
            curve.places.append(place)
            curve.estimates.append(one)
        kinds.add(found.kind)
    return curves, kinds


def _drawn(
    subject: Subject, found: Sequence[Curve], x: str, heading: str, scale: float, width: str, *, log: bool
) -> tuple[Figure, list[Axes]]:
    """Draw all curves in one panel, or each in its own with the others in grey behind it."""
    if log:
        check_log(x, min(place for curve in found for place in curve.places))
    columns = 1 if len(found) <= TOGETHER else 2 if inches(width) < SINGLE else 4
    figure, panels = paper_panels(1 if columns == 1 else len(found), columns, width)
    for index, axes in enumerate(panels):
        for place, curve in enumerate(found):
            if columns == 1 or place == index:
                own = place if columns == 1 else 0
                draw_curve(
                    axes,
                    curve.places,
                    curve.estimates,
                    index=own,
                    name=curve.scheduler,
                    scale=scale,
                    width=LINE,
                )
            else:
                values = [one.value * scale for one in curve.estimates]
                axes.plot(curve.places, values, color="#D0D0D0", linewidth=0.7, zorder=1)
        compact(axes, log=log)
        if columns > 1 or len(found) == 1:  # a legend has several entries
            axes.set_title(found[index].scheduler, fontsize=SMALL, loc="left", pad=2)
        if index % columns == 0:
            height = figure.get_figheight() * (0.9 if columns == 1 else 0.9 / -(-len(found) // columns))
            axes.set_ylabel(wrapped(heading, height), fontsize=SMALL)
        if index + columns >= len(panels):
            axes.set_xlabel(subject.with_unit(x), fontsize=SMALL)
    if columns == 1:
        legend(figure, panels[0], columns=3, size=SMALL - 0.5)
    return figure, panels


def paper_panels(
    count: int, columns: int, width: str, *, height: float = 1.15, share: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a figure of a paper's width with `count` panels in `columns`.

    `height` is that of a row in inches; a single panel has the proportions of common figures.
    """
    if count == 1 and columns == 1:
        return new_figure(width=inches(width), height=min(0.72 * inches(width), 3.2))
    rows = -(-count // columns)
    figure, panels = new_figure(
        columns, rows, width=inches(width), height=0.35 + height * rows, share_y=share
    )
    for unused in panels[count:]:
        unused.remove()
    return figure, panels[:count]
