"""The arrival order of packets: one strip of numbers per run, cells in the colour of the path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from plait.plots.style import colour, new_figure

COLUMNS = 16
"""Cells per line, as in the slides of the delivery-delay scheduler."""
UNKNOWN = "#8A8A8A"


@dataclass(frozen=True)
class ArrivalOrder:
    """Packet numbers in the order of arrival, and the index of each packet's path if it is known.

    `same` is the number of first packets that are equal to those of the strip compared with.
    """

    title: str
    numbers: Sequence[int]
    paths: Sequence[int] | None = None
    same: int | None = None


def receive_order(strips: Sequence[ArrivalOrder], path_names: Sequence[str]) -> Figure:
    """Draw strips below each other; a line marks the cells that agree with the printed order."""
    heights = [0.5 + 0.32 * -(-len(strip.numbers) // COLUMNS) for strip in strips]
    figure, panels = new_figure(rows=len(strips), width=8.4, height=0.5 + sum(heights), heights=heights)
    for axes, strip in zip(panels, strips, strict=True):
        _draw(axes, strip)
    figure.legend(
        handles=[
            *(
                Patch(color=colour(index), alpha=0.32, label=f"path “{name}”")
                for index, name in enumerate(path_names)
            ),
            Patch(color=UNKNOWN, alpha=0.22, label="path not printed"),
        ],
        loc="outside upper right",
        ncols=len(path_names) + 1,
        fontsize=9,
        frameon=False,
    )
    return figure


def _draw(axes: Axes, strip: ArrivalOrder) -> None:
    lines = -(-len(strip.numbers) // COLUMNS)
    axes.set_xlim(-0.05, COLUMNS + 0.05)
    axes.set_ylim(lines, -0.12)
    axes.axis("off")
    same = (
        ""
        if strip.same is None
        else (f": the first {strip.same} as printed" if strip.same else ": begins otherwise")
    )
    axes.set_title(f"{strip.title}{same}", fontsize=10, loc="left")
    for index, number in enumerate(strip.numbers):
        row, column = divmod(index, COLUMNS)
        known = strip.paths is not None
        fill = colour(strip.paths[index]) if strip.paths is not None else UNKNOWN
        axes.add_patch(
            Rectangle(
                (column + 0.03, row + 0.06),
                0.94,
                0.84,
                facecolor=fill,
                alpha=0.32 if known else 0.22,
                linewidth=0,
            )
        )
        agrees = strip.same is not None and index < strip.same
        axes.text(
            column + 0.5,
            row + 0.48,
            str(number),
            fontsize=9,
            ha="center",
            va="center",
            fontweight="bold" if agrees else "normal",
            color="#111111",
        )
        if agrees:
            axes.plot([column + 0.03, column + 0.97], [row + 0.9] * 2, color="#111111", linewidth=1.4)
