"""The runs of a benchmark: a row per point, scheduler and repetition.

Runs use the loop of sweeps (`plait.sweep.chunk`), and continue after an interruption like these.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

from plait.benchmark.suite import MEASURES, Point
from plait.engines import core_hash
from plait.scenarios.bounds import tightest
from plait.scenarios.repetition import perturbed
from plait.sweep import chunk
from plait.sweep.chunk import SweepRun
from plait.sweep.journal import Journal, Row
from plait.sweep.planned_scheduler import PlannedScheduler

JOURNAL = ".runs-"
"""Prefix of the files with the runs of a call."""
ALONE, BOUND = "alone", "bound"
"""Schedulers of the rows with references: the best path alone, and the bound."""
SCHEMA = {
    "domain": pl.String,
    "point": pl.Int64,
    "scheduler": pl.String,
    "seed": pl.Int64,
    "value": pl.Float64,
    "error": pl.String,
}
MEAN = pl.when(pl.col("value").null_count() == 0).then(pl.col("value").mean()).alias("value")
"""The value of a point: the mean of its repetitions, null if one of them has no value."""
Told = Callable[[float], None] | None


class _Run(NamedTuple):
    """A run of a point, with the label of its row and the scenario's JSON."""

    point: Point
    label: str
    scheduler: PlannedScheduler
    seed: int
    scenario: str


def measured(
    points: Sequence[Point],
    schedulers: Sequence[PlannedScheduler],
    *,
    threads: int = 0,
    folder: Path | None = None,
    progress: Told = None,
) -> pl.DataFrame:
    """Make the runs of schedulers at points, and return their rows.

    The value is null for a failed run, and for a run without the metric, as if a file does not
    arrive.

    Args:
        points: the points.
        schedulers: the schedulers.
        threads: number of threads; 0: one per core.
        folder: has the runs of an interrupted call, and keeps each run; see `forget`.
        progress: called with the completed share of the runs.
    """
    return _made([run for point in points for run in _runs(point, schedulers)], threads, folder, progress)


def references(
    points: Sequence[Point], *, threads: int = 0, folder: Path | None = None, progress: Told = None
) -> pl.DataFrame:
    """Return the bound of each repetition, and the runs of the best path alone, as such rows.

    The best path is the one with the best mean. Arguments are as for `measured`.
    """

    def mean(point: Point, rows: Sequence[tuple[int, float | None, str | None]]) -> float:
        values = [value for _, value, _ in rows if value is not None]
        return point.way * fmean(values) if len(values) == len(rows) else -math.inf

    single = [
        run._replace(point=point, label=path["name"])
        for point in points
        for path in point.table["path"]
        for run in _runs(
            Point(point.domain, point.number, {**point.table, "path": [path]}),
            [PlannedScheduler("lowest-rtt", "lowest-rtt")],
        )
    ]
    rows = _made(single, threads, folder, progress).rows_by_key(["domain", "point", "scheduler"])
    found = []
    for point in points:
        alone = [rows[point.domain, point.number, path["name"]] for path in point.table["path"]]
        best = max(alone, key=partial(mean, point))
        found += [(point.domain, point.number, ALONE, *row) for row in best]
        found += [
            (point.domain, point.number, BOUND, seed, _bound(point, seed), None) for seed in point.seeds
        ]
    return pl.DataFrame(found, SCHEMA, orient="row")


def forget(folder: Path) -> None:
    """Remove the runs that calls have kept in a folder."""
    for file in folder.glob(f"{JOURNAL}*"):
        file.unlink()


def _bound(point: Point, seed: int) -> float | None:
    """Return the tightest valid bound of a repetition."""
    table = {**json.loads(perturbed(point.scenario.json, seed)), "seed": seed}
    return tightest(json.dumps(table)).get(point.metric)


def _runs(point: Point, schedulers: Sequence[PlannedScheduler]) -> Iterator[_Run]:
    for seed in point.seeds:
        scenario = perturbed(point.scenario.json, seed)
        yield from (_Run(point, one.label, one, seed, scenario) for one in schedulers)


def _made(runs: Sequence[_Run], threads: int, folder: Path | None, progress: Told) -> pl.DataFrame:
    journal, found = None, dict[int, Row]()
    if folder is not None:
        journal = Journal(folder / f"{JOURNAL}{_identity(runs)}")
        found = journal.read()
        journal.replace(found)  # an incomplete line would damage the next one
    missing = (
        SweepRun(index, run.scenario, run.seed, run.scheduler, run.point.id, "")
        for index, run in enumerate(runs)
        if index not in found
    )
    measures = list(dict.fromkeys((*MEASURES, *(run.point.metric for run in runs))))
    places = [f"/metrics/{name.replace('.', '/')}" for name in measures]
    for index, row in chunk.make(missing, places, threads):
        found[index] = row
        if journal is not None:
            journal.append(index, row)
        if progress is not None:
            progress(len(found) / len(runs))
    if journal is not None:
        journal.close()
    made = [
        (one.point.domain, one.point.number, one.label, one.seed, _value(one.point, row, measures), row.error)
        for one, row in ((run, found[index]) for index, run in enumerate(runs))
    ]
    return pl.DataFrame(made, SCHEMA, orient="row")


def _value(point: Point, row: Row, measures: Sequence[str]) -> float | None:
    if row.values is None:
        return None
    return point.value(dict(zip(measures, json.loads(row.values), strict=True)))


def _identity(runs: Sequence[_Run]) -> str:
    """Return a hash of everything on which the results of the runs depend."""
    told = hashlib.sha256(core_hash().encode())
    for one in runs:
        own = one.scheduler.own
        told.update(f"{one.label} {one.seed} {one.scenario} {own and own.sha256}".encode())
    return told.hexdigest()[:16]
