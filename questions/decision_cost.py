"""What does a decision cost? From the estimates that ``cargo bench -p plait-sched --bench decision`` leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from matplotlib.ticker import NullFormatter, ScalarFormatter
from study import Answer, MissingInputError, markdown, written

from plait import schedulers
from plait.plots.style import grouped_bars, label, legend, new_figure

COUNTS = (2, 4, 8)
ENGINE = "engine-alone"
"""The benchmark of what is not the scheduler, in every measurement."""
UNIT = "lowest-rtt"
OPTIONS = ("lowest-rtt+rp", "lowest-rtt+bm", "lowest-rtt+rp+bm")


def nanoseconds(criterion: Path, name: str, count: int) -> float:
    """The median time of a decision.

    Raises:
        MissingInputError: it was not measured.
    """
    file = criterion / name / f"{count}-paths" / "new" / "estimates.json"
    if not file.is_file():
        message = f"{file}: missing; measure with: cargo bench --locked -p plait-sched --bench decision"
        raise MissingInputError(message)
    return float(json.loads(file.read_text(encoding="utf-8"))["median"]["point_estimate"])


def ratios(criterion: Path) -> Mapping[str, list[float]]:
    """For each scheduler and number of paths the cost of a decision, lowest-RTT's over two paths being 1."""
    engine = [nanoseconds(criterion, ENGINE, count) for count in COUNTS]
    names = [one["name"] for one in schedulers()]
    place = names.index(UNIT) + 1
    found = {
        name: [
            nanoseconds(criterion, name, count) - alone for count, alone in zip(COUNTS, engine, strict=True)
        ]
        for name in (*names[:place], *OPTIONS, *names[place:])
    }
    unit = found[UNIT][0]
    return {name: [one / unit for one in costs] for name, costs in found.items()}


def answer(criterion: Path) -> Answer:
    """The table of ratios, and bars."""
    found = ratios(criterion)
    lines = [[f"`{name}`", *(written(one, 1) for one in costs)] for name, costs in found.items()]
    figure, (axes,) = new_figure(width=9.6, height=4.4)
    bars = [(f"{count} paths", [costs[at] for costs in found.values()]) for at, count in enumerate(COUNTS)]
    grouped_bars(
        axes,
        [name.replace("-delay", "\n-delay").replace("+", "\n+", 1) for name in found],
        bars,
        number="{:.1f}",
    )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", labelsize=7.5)
    label(axes, y=f"cost of a decision ({UNIT}, 2 paths = 1)")
    legend(figure, axes)
    least, most = (pick(found, key=lambda name: found[name][0]) for pick in (min, max))
    values = {
        "least": f"{least} {written(found[least][0], 1)}",
        "most": f"{most} {written(found[most][0], 1)}",
        **{
            f"{name}-{count}": written(costs[at], 1)
            for name, costs in found.items()
            for at, count in enumerate(COUNTS)
        },
    }
    return Answer(
        {"ratios": markdown(["scheduler", *(f"{count} paths" for count in COUNTS)], lines)},
        values,
        {"decision-cost": figure},
    )
