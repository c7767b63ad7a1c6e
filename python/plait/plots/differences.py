"""Paired differences to a baseline: a row per scheduler, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from plait.plots.style import SMALL, colour, compact, inches, new_figure, wrapped
from plait.plots.subject import Subject
from plait.statistics.estimate import Estimate
from plait.sweep.dataset import Dataset

UNSURE = "#8A8A8A"
"""Colour of a difference whose interval contains zero."""


def paired_differences(
    dataset: Dataset,
    metric: str,
    *,
    baseline: str = "",
    percent: bool = False,
    schedulers: Sequence[str] = (),
    width: str = "column",
    note: str | None = None,
) -> Figure:
    """Draw how much better than a baseline schedulers are, with 95 % intervals over pairs.

    Runs of a pair have the same scenario and seed; more than zero is better, also where less of the
    metric is. Grey: the interval of the difference contains zero, or there is none.

    Args:
        dataset: from `plait.sweep.read`, or of results, from `plait.sweep.dataset_of`.
        metric: a dotted name, such as ``"goodput_bps"``.
        baseline: a scheduler; by default the first.
        percent: draw percent of the baseline's mean instead of the metric's unit.
        schedulers: labels; by default all.
        width: as for `sweep_curves`.
        note: as for `sweep_curves`.

    Raises:
        ScenarioError: a metric or scheduler is unknown, or there is nothing to compare.
    """
    subject = Subject(dataset, metric, schedulers, baseline)
    gains = subject.gains(subject.whole)
    found = [(one.change or Estimate(float("nan"))) if percent else one.difference for one in gains]
    words = subject.words
    unit, scale = ("%", 1.0) if percent else (words.unit, words.scale)
    figure, (axes,) = new_figure(width=inches(width), height=0.55 + 0.17 * len(found))
    for place, (one, gain) in enumerate(zip(found, gains, strict=True)):
        low, high = one.interval or (one.value, one.value)
        axes.errorbar(
            [one.value * scale],
            [place],
            xerr=[[(one.value - low) * scale], [(high - one.value) * scale]],
            fmt="o",
            markersize=3.2,
            capsize=2,
            elinewidth=1.0,
            color=colour(0) if gain.beyond_chance else UNSURE,
            zorder=3,
        )
    axes.axvline(0, color="#333333", linewidth=0.7, zorder=1.5)
    axes.set_yticks(range(len(found)), list(subject.others))
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    formatter = axes.yaxis.get_major_formatter()
    compact(axes)
    axes.yaxis.set_major_formatter(formatter)
    axes.set_xlabel(wrapped(subject.gain_label(unit), 0.75 * inches(width)), fontsize=SMALL)
    over = subject.over([f"{len(subject.whole.values)} {subject.whole.kind}"])
    subject.caption(figure, f"means of differences of pairs with intervals of 95 % {over}", note)
    return figure
