"""Estimated against configured one-way delays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from plait.plots.style import MODEL, colour, label, legend, new_figure


def estimated_delays(
    cases: Sequence[str],
    configured: Sequence[Sequence[float]],
    estimated: Sequence[Sequence[float]],
    path_names: Sequence[str],
) -> Figure:
    """Draw the one-way delay of data per case and path, and the difference between paths.

    Configured delays are lines, the sender's estimates are dots. An estimate from timestamps
    contains the unknown offset of the receiver's clock. This offset is the same for all paths, so
    the difference between the paths (right) is meaningful.

    Args:
        cases: names of the cases.
        configured: milliseconds by case and path.
        estimated: milliseconds by case and path.
        path_names: names of the paths.
    """
    figure, (left, right) = new_figure(2, width=9.6, height=3.7)
    places = np.arange(len(cases))
    for index, name in enumerate(path_names):
        left.hlines(
            [one[index] for one in configured],
            places - 0.36,
            places + 0.36,
            color=colour(index),
            linewidth=5,
            alpha=0.3,
            label=f"{name}, configured",
        )
        left.plot(
            places,
            [one[index] for one in estimated],
            linestyle="",
            marker="o",
            markersize=4.5,
            color=colour(index),
            label=f"{name}, estimated",
        )
    right.hlines(
        [one[1] - one[0] for one in configured],
        places - 0.36,
        places + 0.36,
        color=MODEL,
        linewidth=5,
        alpha=0.25,
    )
    right.plot(
        places,
        [one[1] - one[0] for one in estimated],
        linestyle="",
        marker="o",
        markersize=4.5,
        color=MODEL,
    )
    highest = [
        max(value for case in (*configured, *estimated) for value in case),
        max(case[1] - case[0] for case in (*configured, *estimated)),
    ]
    for axes, top in zip((left, right), highest, strict=True):
        axes.set_xticks(places, list(cases))
        axes.tick_params(axis="x", labelrotation=45 if len(cases) > 6 else 0)
        axes.set_ylim(0, max(1.0, 1.15 * top))
        axes.grid(visible=False, axis="x")
    label(left, y="one-way delay of data (ms)", title="Each path")
    label(right, y="difference (ms)", title=f"“{path_names[-1]}” less “{path_names[0]}”")
    legend(figure, left)
    return figure
