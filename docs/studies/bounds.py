"""How close schedulers come to their bounds: the table of `docs/bound.md`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from study import Answer

import plait
from plait.runs.experiment import frame, grid
from plait.scenarios.scenario import from_table
from plait.statistics.designs import sobol
from plait.support.pages import markdown

POINTS = 32
SECONDS = 10
SCHEDULERS = (
    "lowest-rtt",
    "lowest-rtt+rp",
    "blest",
    "ecf",
    "delivery-delay",
    "intelligent-delivery-delay",
    "otias",
    "redundant:mode=when-idle",
)
RANGES = {
    "rate": (1e6, 80e6),
    "delay": (0.008, 0.3),
    "rate2": (1e6, 80e6),
    "delay2": (0.008, 0.3),
    "buffer": (64e3, 8e6),
}
"""Rates in bit/s, round trips in seconds, buffers in bytes; all are drawn on a logarithmic scale."""
WORKLOADS: Mapping[str, tuple[float, dict[str, object]]] = {
    "bulk data": (0, {"kind": "bulk"}),
    "a file of 100 kB": (0, {"kind": "file", "size": "100kB"}),
    "a file of 10 MB": (0, {"kind": "file", "size": "10MB"}),
    "blocks, 5 % of the links' rate": (0.05, {"kind": "cbr", "block": "4kB"}),
    "blocks, half of the links' rate": (0.5, {"kind": "cbr", "block": "4kB"}),
}
"""For each kind of workload: its share of the links' rate, and its keys."""
TIGHT = 5.0
"""Percent: a run this close to its bound is proven to be near the best."""


def answer() -> Answer:
    """Make the runs, and compare the best scheduler of each network with its tightest bound."""
    found = [row for workload in WORKLOADS for row in rows(workload)]
    frame_of_rows = pl.DataFrame(found, orient="row")
    lines = []
    for workload in WORKLOADS:
        own = frame_of_rows.filter(pl.col("workload") == workload)
        for (name,), some in own.group_by("bound", maintain_order=True):
            gaps = some["gap"]
            lines.append(
                [
                    workload,
                    str(name),
                    str(len(some)),
                    f"{gaps.median():.1f}",
                    f"{gaps.quantile(0.9):.0f}",
                    f"{100 * (gaps <= TIGHT).mean():.0f}",
                ]
            )
    titles = [
        "workload",
        "tightest bound",
        "networks",
        "median (%)",
        "90th percentile (%)",
        f"within {TIGHT:g} % (%)",
    ]
    names = ", ".join(f"`{one}`" for one in SCHEDULERS)
    return Answer({"distances": markdown(titles, lines, (0, 1))}, {"schedulers": names})


def rows(workload: str) -> list[dict[str, object]]:
    """Return the distance of the best scheduler from its bound, a row for each network."""
    made = []
    for point in sobol(POINTS, len(RANGES)):
        scenario = network(point, workload)
        (tightest, *_) = (one for one in plait.bound(scenario) if one.valid)
        values = frame(grid(scenario, SCHEDULERS, [1]), [tightest.metric])[tightest.metric].drop_nulls()
        if values.is_empty():
            continue
        upper = tightest.metric == "goodput_bps"
        gap = 1 - values.max() / tightest.value if upper else values.min() / tightest.value - 1
        made.append({"workload": workload, "bound": tightest.name, "gap": 100 * gap})
    return made


def network(point: np.ndarray, workload: str) -> plait.Scenario:
    """Return the scenario of a point of the design."""
    drawn = {
        name: low * (high / low) ** value
        for (name, (low, high)), value in zip(RANGES.items(), point, strict=True)
    }
    share, keys = WORKLOADS[workload]
    if share:
        keys = {**keys, "rate": f"{share * (drawn['rate'] + drawn['rate2']):.0f}bit"}
    paths = [
        {
            "name": f"path{index}",
            "rate": f"{drawn[rate]:.0f}bit",
            "rtt": f"{1e3 * drawn[delay]:.3f}ms",
            "queue": "100ms",
        }
        for index, (rate, delay) in enumerate((("rate", "delay"), ("rate2", "delay2")), 1)
    ]
    return from_table(
        {
            "name": workload,
            "duration": f"{SECONDS}s",
            "transport": {"profile": "standard", "receive_buffer": f"{drawn['buffer']:.0f}B"},
            "workload": keys,
            "path": paths,
        }
    )
