"""The league's runs: every domain's plan, and each of its paths alone.

A domain is a plan of `plait sweep`. Beside the runs of its schedulers, every point is run over each
path alone. Seeds are repetitions of a point (`plait.scenarios.repetition`), and their means count.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl

from plait.runs.experiment import frame, grid
from plait.runs.run import Task
from plait.scenarios.scenario import from_table
from plait.sweep.plan import Plan

HERE = Path(__file__).resolve().parent
ALONE = "alone"
"""Prefix of the scheduler's label in rows over a single path: `alone:` and the path's name."""


@dataclass(frozen=True)
class Domain:
    """A plan, and its metrics; the first one decides about harm."""

    name: str
    title: str
    metrics: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """The plan of the runs."""
        return Plan.load(HERE / f"{self.name}.toml")

    @property
    def what(self) -> str:
        """The description of the domain: its plan's first line."""
        return (HERE / f"{self.name}.toml").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")


def domains() -> tuple[Domain, ...]:
    """Return all domains, in the order of the table."""
    table = tomllib.loads((HERE / "league.toml").read_text(encoding="utf-8"))
    return tuple(Domain(one["plan"], one["title"], tuple(one["metrics"])) for one in table["domain"])


def measured(
    domain: Domain,
    *,
    points: int | None = None,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Make a domain's runs, or those of its first points: a row per point and scheduler.

    A row has the domain's metrics as means over the point's repetitions, which are the same for all
    schedulers and for each path alone. A metric is null where a run has none, such as the delay of
    blocks if none arrived.
    """
    plan = domain.plan
    tasks: list[Task] = []
    for point in range(min(points or plan.points, plan.points)):
        table = json.loads(plan.scenario(point))
        scenario = from_table(table, plan.where(point), plan.base)
        runs = [(one.label, scenario, one.choice) for one in plan.schedulers] + [
            (f"{ALONE}:{name}", from_table(only, plan.where(point), plan.base), "lowest-rtt")
            for name, only in singly(table)
        ]
        # Each point has its own losses.
        seeds = [point * len(plan.seeds) + seed for seed in plan.seeds]
        for label, network, choice in runs:
            labels = {"point": point, "scheduler": label}
            tasks += grid(network, [choice], seeds, labels, perturb=plan.perturb)
    found = frame(tasks, domain.metrics, threads=threads, progress=progress)
    grouped = found.group_by("point", "scheduler", maintain_order=True).agg(*domain.metrics)
    return grouped.with_columns(
        pl.Series(name, [_mean(values) for values in grouped[name]], pl.Float64) for name in domain.metrics
    )


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean over the repetitions; None if one lacks the metric."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def singly(document: dict[str, Any]) -> Sequence[tuple[str, dict[str, Any]]]:
    """Return a scenario over each of its paths alone, without flows on the other paths."""
    made = []
    for path in document["path"]:
        flows = [flow for flow in document.get("flow", []) if flow.get("path") == path["name"]]
        made.append((path["name"], {**document, "path": [path], **({"flow": flows} if flows else {})}))
    return made
