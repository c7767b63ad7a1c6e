"""How do schedulers compare on two recorded LTE links? `question.toml` has the runs."""

from __future__ import annotations

import math

import polars as pl
from drawing import dots
from rtt_error import percent
from study import Answer, values, with_interval, written

from plait.statistics.estimate import Estimate
from plait.support.pages import markdown

BASE = "lowest-rtt"
RECORDINGS = tuple(
    f"{name}.{way}" for name in ("ATT-LTE-driving-2016", "Verizon-LTE-short") for way in ("down", "up")
)
"""The files that the folder in the command's option must have."""
METRICS = (
    ("bulk", "goodput_bps", "goodput, bulk", 1e-6, "Mbit/s", 2),
    ("bulk", "app_delay_ms.mean", "application delay, bulk", 1.0, "ms", 0),
    ("blocks", "block_delay_ms.mean", "delay of a block", 1.0, "ms", 0),
    ("blocks", "block_delay_ms.p95", "95 % delay of a block", 1.0, "ms", 0),
)

DRAWN = ("goodput_bps", "app_delay_ms.mean", "block_delay_ms.mean")


def answer(runs: pl.DataFrame) -> Answer:
    """Return a table per pair of round-trip times, values against lowest-RTT, and the figure."""
    pairs = list(runs.select("ra", "rv").unique(maintain_order=True).iter_rows())
    schedulers = list(runs["scheduler"].unique(maintain_order=True))
    panels, tables, sentences = [], {}, {}
    against = [one for one in schedulers if one != BASE]
    for work, name, heading, _, _, _ in METRICS:
        some = runs.filter(pl.col("work") == work)
        if name in DRAWN:
            for ra, rv in pairs:
                here = some.filter((pl.col("ra") == ra) & (pl.col("rv") == rv))
                factors = {scheduler: [_factor(_change(here, scheduler, name))] for scheduler in against}
                panels.append((f"AT&T {ra} ms, Verizon {rv} ms", f"{heading}\n({BASE} = 1)", factors))
        for scheduler in against:
            sentences[f"{name}-{scheduler}"] = with_interval(_change(some, scheduler, name), signed=True)
    for ra, rv in pairs:
        here = runs.filter((pl.col("ra") == ra) & (pl.col("rv") == rv))
        lines = []
        for scheduler in schedulers:
            cells = []
            for work, name, _, scale, _, decimals in METRICS:
                own = here.filter((pl.col("work") == work) & (pl.col("scheduler") == scheduler))
                found = values(own, name)
                cells.append(written(sum(found) / len(found) * scale, decimals))
                if scheduler != BASE:
                    compared = _change(here.filter(pl.col("work") == work), scheduler, name)
                    cells[-1] += f"; {with_interval(compared, signed=True)} %"
            lines.append([f"`{scheduler}`", *cells])
        headings = [f"{heading} ({unit})" for _, _, heading, _, unit, _ in METRICS]
        tables[f"{ra}-{rv}"] = markdown(["scheduler", *headings], lines)
    return Answer(
        tables,
        sentences,
        {"lte": dots(panels, ("",), len(pairs), log=[metric for _, metric, _ in panels], mark=1.0)},
    )


def _factor(change: Estimate) -> Estimate:
    """Return a change in percent as a factor."""
    low, high = change.interval or (change.value, change.value)
    return Estimate(*(1 + one / 100 for one in (change.value, low, high)))


def _change(runs: pl.DataFrame, scheduler: str, name: str) -> Estimate:
    """Return the mean percentage by which a metric differs from lowest-RTT's.

    Pairs of runs have the same stretch of the recordings. Stretches are the random sample: each
    counts once, over several pairs of round-trip times.
    """
    case = ["start", "ra", "rv"]
    own, base = (runs.filter(pl.col("scheduler") == one).select(*case, name) for one in (scheduler, BASE))
    both = own.join(base, on=case, suffix=" base").drop_nulls()
    logs = both.with_columns((pl.col(name) / pl.col(f"{name} base")).log().alias("log"))
    each = logs.group_by("start", maintain_order=True).agg(pl.col("log").mean())["log"].to_list()
    return percent([one for one in each if math.isfinite(one)])
