"""A metric of a sweep over one of its variables, a small panel per scheduler."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plait._core import ScenarioError
from plait.analysis.comparison import units
from plait.analysis.regions import regions
from plait.plots.style import COLUMN_WIDTH, PAGE_WIDTH, caption, colour, legend, line, new_figure, plain
from plait.results.metrics import direction, meant
from plait.results.summary import count
from plait.results.wording import si_wording
from plait.statistics import estimate
from plait.statistics.estimate import Estimate
from plait.support.words import expected
from plait.sweep.dataset import Dataset

WIDTHS = {"column": COLUMN_WIDTH, "page": PAGE_WIDTH}
"""Width in inches of figures for a column or a page of a paper with two columns."""
TOGETHER = 3
"""Maximum number of curves in one panel."""
BESIDE = {"column": 2, "page": 4}
"""Maximum number of panels beside each other."""
UNITS = {"kbit": "kbit/s", "Mbit": "Mbit/s", "Gbit": "Gbit/s", "p": "packets"}
"""Units of scenario files, with their names on axes."""


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
    note: str = "",
) -> Figure:
    """Draw the mean of a metric over a variable; the bands are intervals of 95 %.

    Each place is a value of the variable, or the middle of a slice with equally many points if
    there are many values. Up to three schedulers share a panel; more have one each, with the others
    in grey.

    Args:
        dataset: from `plait.sweep.read`.
        x: the variable, a column of numbers.
        metric: a dotted name, such as ``"goodput_bps"`` or ``"app_delay_ms.p95"``.
        schedulers: labels; by default all.
        width: ``"column"`` (3.33 inches) or ``"page"`` (7 inches).
        log: logarithmic axis of the variable.
        note: additional text of the line below the figure, which names plan and runs.

    Raises:
        ScenarioError: a variable, metric or scheduler is unknown, or no run has a value.
    """
    if width not in WIDTHS:
        message = f"width {width!r}: unknown{expected(width, list(WIDTHS))}"
        raise ScenarioError(message)
    name = metric_name(dataset, metric)
    if x not in dataset.variables:
        message = f"x {x!r}: unknown{expected(x, dataset.variables)}"
        raise ScenarioError(message)
    names = tuple(schedulers) or tuple(dataset.schedulers)
    for one in names:
        if one not in dataset.schedulers:
            message = f"scheduler {one!r}: unknown{expected(one, dataset.schedulers)}"
            raise ScenarioError(message)
    found = _curves(dataset, x, name, names)
    figure, panels = _panels(len(names), width)
    words = si_wording(name, max(abs(one.value) for curve in found for one in curve.estimates))
    scale, heading = words.scale, words.heading
    shared = len(panels) == 1
    for index, axes in enumerate(panels):
        _draw(axes, found, scale, None if shared else index)
        if log:
            axes.set_xscale("log")
        axes.xaxis.set_major_formatter(plain)
        axes.yaxis.set_major_formatter(plain)
        axes.tick_params(labelsize=6.5)
        if not shared:
            axes.set_title(found[index].scheduler, fontsize=7, loc="left", pad=2)
    columns = BESIDE[width]
    for index, axes in enumerate(panels):
        if index % columns == 0:
            axes.set_ylabel(heading, fontsize=7)
        if index + columns >= len(panels):
            axes.set_xlabel(_with_unit(dataset, x), fontsize=7)
    panels[0].set_ylim(bottom=0)
    if shared:
        legend(figure, panels[0], columns=3, size=6.5)
    said = [
        f"{dataset.name}: {count(dataset.runs, 'run')}, means with intervals of 95 %",
        dataset.identical.note,
    ]
    text = "; ".join(filter(None, said))
    if not shared:
        text += ", the other schedulers in grey"
    caption(figure, f"{text}. {note}" if note else f"{text}.")
    return figure


def metric_name(dataset: Dataset, metric: str) -> str:
    """Return the column of a metric's name, which may omit the unit or ``.mean``.

    Raises:
        ScenarioError: the metric is unknown, or is not a number that can be drawn.
    """
    known = [name for name in dataset.names if direction(name) != 0 or name in dataset.metrics]
    found = meant(metric, known)
    if found is not None:
        return found
    message = f"metric {metric!r}: unknown{expected(metric, known)}"
    raise ScenarioError(message)


def _curves(dataset: Dataset, x: str, metric: str, names: tuple[str, ...]) -> list[Curve]:
    frame = dataset.columns("point", "seed", "scheduler", "error", x, metric)
    if not frame[x].dtype.is_numeric():
        message = f"x {x!r}: its values are text; expected a variable with numbers"
        raise ScenarioError(message)
    curves = [Curve(name, [], []) for name in names]
    for _, rows in regions(frame, [x]):
        found = units(rows, metric, names)
        if not len(found.values):
            continue
        place = float(rows[x].cast(float).median() or 0.0)  # type: ignore[arg-type]
        for curve in curves:
            curve.places.append(place)
            curve.estimates.append(estimate.mean(found.of(curve.scheduler)))
    if not curves[0].places:
        message = f"{dataset.folder}: {metric}: no scenario in which every scheduler has a value"
        raise ScenarioError(message)
    return curves


def _panels(curves: int, width: str) -> tuple[Figure, list[Axes]]:
    inches = WIDTHS[width]
    if curves <= TOGETHER:
        return new_figure(width=inches, height=min(0.72 * inches, 3.2))
    columns = BESIDE[width]
    rows = -(-curves // columns)
    figure, panels = new_figure(columns, rows, width=inches, height=0.35 + 1.15 * rows, share_y=True)
    for unused in panels[curves:]:
        unused.remove()
    return figure, panels[:curves]


def _with_unit(dataset: Dataset, x: str) -> str:
    """Add the unit from the plan's templates to the variable, such as ms of ``"{rtt}ms"``."""
    template = re.compile(rf"\{{(?:round\()?{re.escape(x)}(?:\))?\}}([A-Za-z%]+)")
    templates = dataset.about.get("set", {})
    found = {match[1] for value in templates.values() if (match := template.fullmatch(str(value)))}
    if len(found) != 1:
        return x
    unit = found.pop()
    return f"{x} ({UNITS.get(unit, unit)})"


def _draw(axes: Axes, curves: Sequence[Curve], scale: float, chosen: int | None) -> None:
    """Draw all curves in their colours, or one of them with the others in grey behind it."""
    for index, curve in enumerate(curves):
        values = [one.value * scale for one in curve.estimates]
        if chosen is not None and index != chosen:
            axes.plot(curve.places, values, color="#D0D0D0", linewidth=0.7, zorder=1)
            continue
        own = colour(index) if chosen is None else colour(0)
        axes.plot(
            curve.places,
            values,
            color=own,
            linewidth=1.2,
            linestyle=line(index) if chosen is None else "-",
            marker="o",
            markersize=2,
            label=curve.scheduler,
            zorder=3,
        )
        bounds = [one.interval or (one.value, one.value) for one in curve.estimates]
        low, high = zip(*bounds, strict=True)
        axes.fill_between(
            curve.places,
            [value * scale for value in low],
            [value * scale for value in high],
            color=own,
            alpha=0.18,
            linewidth=0,
            zorder=2,
        )
