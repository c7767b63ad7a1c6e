"""Chunks of runs of a plan with all data that another process or machine needs to make them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from plait import _core
from plait._core import RunError, ScenarioError
from plait.results.result import Result
from plait.runs.watchdog import Watchdog
from plait.scenarios.controller import controllers_of, python_code
from plait.scenarios.own import Own
from plait.scenarios.python_class import place
from plait.statistics import axes
from plait.support.machine import plait_version
from plait.support.parallel import Watch, in_parallel
from plait.sweep.journal import Row
from plait.sweep.own_metric import OwnMetric, series_ns
from plait.sweep.plan import Plan, PlannedRun
from plait.sweep.planned_scheduler import PlannedScheduler

POLL_SECONDS = 0.1
"""Seconds between two checks for Ctrl-C."""
AHEAD = 3
"""Number of runs per thread that are submitted before one is taken back."""


@dataclass(frozen=True)
class SweepRun:
    """One run to be made: its number, the JSON of its scenario's table, its name in messages.

    workload, controllers: the user's classes that the scenario names.
    """

    index: int
    scenario: str
    seed: int
    scheduler: PlannedScheduler
    where: str
    base: str
    workload: Own | None = None
    controllers: tuple[Own, ...] = ()

    @property
    def calls_python(self) -> bool:
        """Whether the workload or a controller is written in Python."""
        own = self.controllers if self.workload is None else (self.workload, *self.controllers)
        return not all(one.is_library for one in own)


def orders(plan: Plan, runs: Iterable[PlannedRun]) -> Iterator[SweepRun]:
    """Yield the orders for runs of a plan."""
    place, scenario, where, values = (-1, -1), "", "", dict[str, axes.Value]()
    workload: Own | None = None
    controllers: tuple[Own, ...] = ()
    for run in runs:
        if run.point != place[0]:
            where, values = plan.where(run.point), plan.values(run.point)
            workload, controllers = plan.classes(run.point)
        if (run.point, run.seed) != place:
            place, scenario = (run.point, run.seed), plan.repetition(run.point, run.seed)
        scheduler = run.scheduler.at(values)
        yield SweepRun(run.index, scenario, run.seed, scheduler, where, str(plan.base), workload, controllers)


def make(
    given: Iterable[SweepRun], places: Sequence[str], threads: int, metrics: Sequence[OwnMetric] = ()
) -> Iterator[tuple[int, Row]]:
    """Make runs on threads of the core; rows in the order in which runs end.

    A run that calls Python is on the calling thread. With metrics of the plan's own, each run is
    one call of the core on a thread of Python's own, because they need its whole result.

    Args:
        given: the runs.
        places: places of the metrics in a run's JSON.
        threads: number of threads; 0: one per core.
        metrics: the plan's own metrics.

    Raises:
        ScenarioError: a scenario is not valid. No run continues after this or any other exception.
    """
    if metrics:
        work = partial(_measured, metrics=metrics, places=places)
        yield from ((order.index, row) for order, row in in_parallel(given, work, workers=threads))
        return
    pool = _core.Pool(threads, places)
    try:
        under_way = 0
        for order in given:
            try:
                own = None if order.scheduler.own is None else order.scheduler.own.make()
            except ScenarioError as error:  # at a point that the plan did not validate
                yield order.index, Row(str(error), None)
                continue
            if isinstance(own, _core.Scheduler) or order.calls_python:
                yield order.index, _alone(order, own, places)
                continue
            try:
                _submit(pool, order, own)
            except ScenarioError as error:  # a class refuses its parameters
                yield order.index, Row(str(error), None)
                continue
            under_way += 1
            while under_way >= AHEAD * pool.size:
                yield _take(pool)
                under_way -= 1
        for _ in range(under_way):
            yield _take(pool)
    finally:
        pool.close()


def _submit(pool: _core.Pool, order: SweepRun, foreign: _core.Foreign | None) -> None:
    pool.submit(
        order.index,
        order.scenario,
        origin=order.where,
        base=order.base,
        scheduler=order.scheduler.built_in,
        foreign=foreign,
        controllers=[one.make() for one in order.controllers],
        workload=None if order.workload is None else order.workload.make(),
        seed=order.seed,
    )


def _take(pool: _core.Pool) -> tuple[int, Row]:
    while True:
        taken = pool.take(POLL_SECONDS)
        if taken is not None:
            index, values, error = taken
            return index, Row(error, values)


def _measured(order: SweepRun, watch: Watch, metrics: Sequence[OwnMetric], places: Sequence[str]) -> Row:
    """Make a run with the plan's own metrics."""
    try:
        own = None if order.scheduler.own is None else order.scheduler.own.make()
    except ScenarioError as error:
        return Row(str(error), None)
    return _alone(order, own, places, metrics, watch)


def _alone(
    order: SweepRun,
    own: _core.Scheduler | _core.Foreign | None,
    places: Sequence[str],
    metrics: Sequence[OwnMetric] = (),
    watch: Watch | None = None,
) -> Row:
    """Make a run by itself; an exception in code of the user makes the run a failed one."""
    scenario = _core.Scenario(order.scenario, order.where, order.base, format="json")
    python = own if isinstance(own, _core.Scheduler) else None
    try:
        writer = None if order.workload is None else order.workload.make()
        controllers = controllers_of(scenario, order.controllers)
    except ScenarioError as error:
        return Row(str(error), None)
    try:
        job = _core.Job(
            scenario,
            scheduler=order.scheduler.built_in,
            python_scheduler=python,
            foreign=own if isinstance(own, _core.Foreign) else None,
            workload=writer,
            controllers=controllers,
            seed=order.seed,
            packets=any(one.packets for one in metrics),
            series_ns=series_ns(metrics),
            decisions_from_ns=0 if any(one.decisions for one in metrics) else None,
        )
        with Watchdog(python_code(python, writer, controllers)):
            (made,) = _core.run([job], threads=1, progress=watch)
        values = json.loads(_core.pick(made.json, places))
        result = Result(made, order.scheduler.label, job.scenario.json)
        return Row(None, json.dumps([*values, *(one.value(result) for one in metrics)]))
    except RunError as error:
        return Row(str(error), None)
    except ScenarioError:
        raise
    except Exception as error:
        where = place(error)
        said = f"{type(error).__name__}: {error}{f' ({where})' if where else ''}"
        return Row(f"scheduler {order.scheduler.label}: {said}", None)


@dataclass(frozen=True)
class Chunk:
    """Some runs for another process or machine."""

    version: str
    orders: Sequence[SweepRun]
    places: Sequence[str]
    metrics: Sequence[OwnMetric]

    def __call__(self) -> tuple[list[tuple[int, Row]], float]:
        """Return the rows, and the seconds that they took.

        Raises:
            ScenarioError: a scenario is not valid there, for example because a trace is missing.
            RunError: another version of Plait is installed there.
        """
        if plait_version() != self.version:
            message = (
                f"worker: has Plait {plait_version()}, expected {self.version} as where the sweep was begun"
            )
            raise RunError(message)
        start = time.monotonic()
        rows = list(make(self.orders, self.places, 1, self.metrics))
        return rows, time.monotonic() - start


def make_chunk(plan: Plan, indices: Sequence[int]) -> Chunk:
    """Return these runs of a plan as one chunk."""
    given = tuple(orders(plan, map(plan.run, indices)))
    return Chunk(plait_version(), given, plan.columns.places, plan.metrics)
