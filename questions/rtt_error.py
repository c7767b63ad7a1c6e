"""What does an error of the estimated round-trip times cost? `question.toml` has the runs.

Costs are against the same scheduler on the same paths without an error. Means over the pairs of
paths are geometric, because they are means of ratios. For errors of one size, the mean of both
signs counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl
from drawing import curves
from study import Answer, change, with_interval, written

from plait.statistics.estimate import Estimate, mean
from plait.support.pages import markdown

POINT = ["family", "scheduler", "c1", "c2", "r1", "r2", "b1", "b2"]
METRICS = (
    ("bulk", "goodput_bps", "goodput, bulk (%)", -1),
    ("bulk", "app_delay_ms.mean", "application delay, bulk (%)", 1),
    ("blocks", "block_delay_ms.mean", "delay of a block (%)", 1),
)
"""Family, metric, heading, and the sign of a cost."""
WORSE = 5.0
"""Percent of cost from which on a pair of paths counts as harmed by the error."""


def costs(runs: pl.DataFrame, family: str, name: str) -> pl.DataFrame:
    """Return the mean change of the metric's logarithm.

    There is one row per scheduler, size of the error and pair of paths.
    """
    some = runs.filter((pl.col("family") == family) & (pl.col(name) > 0))
    exact = some.filter(pl.col("error") == 0)
    found = change(some, exact, POINT, name).with_columns(
        pl.col("error").abs().alias("size"), (pl.col("change") / 100 + 1).log().alias("log")
    )
    return found.group_by(*POINT, "size", maintain_order=True).agg(pl.col("log").mean())


def percent(logs: Sequence[float]) -> Estimate:
    """Return the geometric mean of ratios as a change in percent, from their logarithms."""
    found = mean(logs)
    low, high = found.interval or (found.value, found.value)
    return Estimate(*((math.exp(one) - 1) * 100 for one in (found.value, low, high)))


def answer(runs: pl.DataFrame) -> Answer:
    """Return tables of costs by scheduler and size of the error, and their curves."""
    schedulers = list(runs["scheduler"].unique(maintain_order=True))
    sizes = sorted(set(runs["error"].abs().to_list()))
    tables, panels, values = {}, [], {}
    for family, name, heading, sign in METRICS:
        found = costs(runs, family, name)
        estimates, lines = {}, []
        for scheduler in schedulers:
            own = found.filter(pl.col("scheduler") == scheduler)
            logs = [own.filter(pl.col("size") == size)["log"].to_list() for size in sizes]
            estimates[scheduler] = [percent(one) for one in logs]
            cells = [with_interval(one, 1, signed=True) for one in estimates[scheduler][1:]]
            harmed = sum((math.exp(one) - 1) * 100 * sign >= WORSE for one in logs[-1])
            values[f"{name}-{scheduler}-harmed"] = f"{harmed} of {len(logs[-1])}"
            lines.append([f"`{scheduler}`", *cells, values[f"{name}-{scheduler}-harmed"]])
            for size, one in zip(sizes, estimates[scheduler], strict=True):
                values[f"{name}-{scheduler}-{size * 100:g}"] = written(one.value, 1, signed=True)
        headings = [f"±{size * 100:g} %" for size in sizes[1:]]
        last = f"pairs of paths that lose ≥ {WORSE:g} % at ±{sizes[-1] * 100:g} %"
        tables[name] = markdown(["scheduler", *headings, last], lines)
        panels.append((f"change of {heading}", estimates))
    values["points"] = f"{runs.select('c1', 'c2', 'r1', 'r2', 'b1', 'b2').unique().height}"
    figure = curves(panels, [f"{size * 100:g}" for size in sizes], x="error of the round-trip times (± %)")
    return Answer(tables, values, {"rtt-error": figure})
