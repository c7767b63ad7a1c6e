"""Space-time diagrams: the same interval of the same small network with every scheduler."""

from __future__ import annotations

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import plait
from plait.plots.style import colour, new_figure
from studies.networks import FOLDER, schedulers

WINDOW = (5.0, 5.2)
ELSEWHERE = {"lamps": (4.0, 4.2)}
"""Other intervals for schedulers that send nothing in that one; the page has the reason."""
SMALL = FOLDER / "small.toml"


def figures() -> dict[str, Figure]:
    """Return one figure per scheduler, by the file's name, and the one about the definitions."""
    made = {}
    for name in schedulers():
        run = plait.run(SMALL, name, packets=True)
        title = (
            f"{name}: {run.metrics['goodput_bps'] / 1e6:.2f} Mbit/s, {blocked(run):.0f} % of the packets wait"
        )
        made[f"schedule-{name.replace('+', '-')}"] = plait.plots.space_time(
            run, ELSEWHERE.get(name, WINDOW), title=title
        )
    return {**made, "definitions": definitions()}


def blocked(run: plait.Result) -> float:
    """Return the percentage of packets that wait at the receiver for an earlier one."""
    arrived = run.packets.drop_nulls(["arrived_ns", "delivered_ns"])
    return 100.0 * arrived.filter(pl.col("delivered_ns") > pl.col("arrived_ns")).height / arrived.height


def definitions() -> Figure:
    """Draw the definitions of application delay and blocking time with two reordered packets."""
    figure, (axes,) = new_figure(width=7.2, height=3.0)
    axes.axis("off")
    axes.set_xlim(-14, 112)
    axes.set_ylim(-0.72, 1.25)
    for end, name in ((1, "sender"), (0, "receiver")):
        axes.plot([0, 108], [end, end], color="#555555", linewidth=1.0)
        axes.text(-2, end, name, ha="right", va="center", fontsize=9)
    ways = (
        (10.0, 84.0, 0, "1, on the slow path", 52.0, 0.52),
        (22.0, 42.0, 1, "2, on the fast path", 21.0, 0.42),
    )
    for sent, arrived, index, text, at, height in ways:
        axes.plot([sent, arrived], [1, 0], color=colour(1 - index), linewidth=1.8)
        axes.plot([arrived], [0], marker="o", color=colour(1 - index), markersize=4)
        axes.text(at, height, text, fontsize=9, ha="left" if index == 0 else "right", color="#222222")
    axes.plot([42, 84], [-0.1, -0.1], color=colour(0), linewidth=6, alpha=0.55, solid_capstyle="butt")
    axes.text(84, 1.1, "1 and 2 are delivered", fontsize=9, ha="center")
    axes.plot([84, 84], [-0.1, 1.06], color="#555555", linewidth=0.8, linestyle=(0, (3, 2)))
    _span(axes, 42, 84, -0.28, "blocking time of 2: from arrival to delivery")
    _span(axes, 22, 84, -0.54, "application delay of 2: from first transmission to delivery")
    return figure


def _span(axes: Axes, start: float, end: float, height: float, text: str) -> None:
    axes.annotate(
        "", xy=(start, height), xytext=(end, height), arrowprops={"arrowstyle": "<->", "color": "#333333"}
    )
    axes.text((start + end) / 2, height - 0.04, text, fontsize=9, ha="center", va="top")
