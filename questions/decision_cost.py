"""What does a decision cost? It uses samples of ``cargo bench -p plait-speed --bench decision``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from study import Answer, MissingInputError, written

from plait import schedulers
from plait.plots.style import colour, label, legend, new_figure
from plait.support.pages import markdown

COUNTS = (2, 4, 8)
ENGINE = "engine-alone"
"""The benchmark of the engine without a scheduler, which is part of every measurement."""
UNIT = "lowest-rtt"
OPTIONS = ("lowest-rtt+rp", "lowest-rtt+bm", "lowest-rtt+rp+bm")


def nanoseconds(criterion: Path, name: str, count: int) -> float:
    """Return the time of a decision in the fastest sample, the one least disturbed by other work.

    Raises:
        MissingInputError: there is no measurement.
    """
    file = criterion / name / f"{count}-paths" / "new" / "sample.json"
    if not file.is_file():
        message = f"{file}: missing; measure with: cargo bench --locked -p plait-speed --bench decision"
        raise MissingInputError(message)
    sample = json.loads(file.read_text(encoding="utf-8"))
    return float(min(time / count for time, count in zip(sample["times"], sample["iters"], strict=True)))


def ratios(criterion: Path) -> Mapping[str, list[float]]:
    """Return the cost of a decision for each scheduler and number of paths.

    The unit is the cost of lowest-RTT over two paths.
    """
    names = [one["name"] for one in schedulers()]
    place = names.index(UNIT) + 1
    order = (ENGINE, *names[:place], *OPTIONS, *names[place:])
    unit = nanoseconds(criterion, UNIT, 2)
    return {name: [nanoseconds(criterion, name, count) / unit for count in COUNTS] for name in order}


def answer(criterion: Path) -> Answer:
    """Return the table of ratios, and their figure."""
    found = ratios(criterion)
    table = markdown(
        ["scheduler", *(f"{count} paths" for count in COUNTS)],
        [[f"`{name}`", *(written(one, 1) for one in costs)] for name, costs in found.items()],
    )
    figure, (axes,) = new_figure(width=7.6, height=0.42 * len(found) + 0.9)
    for index, name in enumerate(found):
        for number, cost in enumerate(found[name]):
            axes.plot(
                cost,
                len(found) - 1 - index + 0.2 * (1 - number),
                linestyle="",
                marker="os^"[number],
                markersize=5,
                color=colour(number),
                label=f"{COUNTS[number]} paths" if index == 0 else None,
            )
    axes.set_yticks(range(len(found)), list(found)[::-1])
    axes.set_xlim(left=0)
    label(axes, x=f"time of a decision ({UNIT} over 2 paths = 1)")
    legend(figure, axes)
    choices = {name: costs[0] for name, costs in found.items() if name != ENGINE}
    least, most = (pick(choices, key=lambda name: choices[name]) for pick in (min, max))
    values = {
        "least": f"`{least}` ({written(choices[least], 1)})",
        "most": f"`{most}` ({written(choices[most], 1)})",
    }
    for name, costs in found.items():
        values.update(
            {f"{name}-{count}": written(cost, 1) for count, cost in zip(COUNTS, costs, strict=True)}
        )
    return Answer({"ratios": table}, values, {"decision-cost": figure})
