"""Experiments: a plan of runs with labels, and the frame of their metrics.

A plan is a list of `Task`. The labels of a task are its columns in the frame:

    plan = grid(scenario, ["lowest-rtt", "daps"], range(1, 11), {"network": "dsl"}, perturb=True)
    frame(plan, ["goodput_bps", "app_delay_ms.mean"], threads=2)

| function | result | errors of a run |
|---|---|---|
| `plait.runs.run.run_tasks` | the results, all in memory | end the experiment |
| `frame` | a row per task: its labels and its metrics | end the experiment |
| `run_each` | a value per run; runs are kept in a file | are values, or end the experiment |

Sweeps and the benchmark have another loop (`plait.sweep.chunk`): their runs may be millions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import polars as pl

from plait._core import RunError
from plait.engines.names import EngineName
from plait.results.metrics import metric_if_known
from plait.results.result import Result
from plait.runs.checkpoint import Checkpoint
from plait.runs.run import Task, refusal, run_tasks
from plait.scenarios.scenario import AnyScenario
from plait.scenarios.scheduler import Choice, label
from plait.support.parallel import Watch, in_parallel

Value = TypeVar("Value")
Kind = Literal["refused", "failed"]
"""Reason why a run has no result: the engine refused it, or it failed."""


def grid(
    scenario: AnyScenario,
    schedulers: Iterable[Choice | None],
    seeds: Iterable[int | None],
    labels: Mapping[str, Any] | None = None,
    **recorded: Any,
) -> list[Task]:
    """Return a run per seed and scheduler; runs of the same seed are neighbours.

    Their labels are the scheduler, the seed and `labels`. `recorded` are other fields of `Task`.
    """
    choices = [(one, None if one is None else label(one)) for one in schedulers]
    return [
        Task(
            scenario=scenario,
            scheduler=choice,
            seed=seed,
            labels={"scheduler": name, "seed": seed, **(labels or {})},
            **recorded,
        )
        for seed in seeds
        for choice, name in choices
    ]


def frame(
    tasks: Sequence[Task],
    values: Sequence[str] | Callable[[Result], Mapping[str, Any]],
    *,
    engine: EngineName = "sim",
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Make the runs; return a row per task with its labels and values, in the order of the tasks.

    Args:
        tasks: the plan.
        values: dotted names of metrics, null where a run has none of that name; or a function that
            returns the values of a run.
        engine: engine of all runs.
        threads: number of parallel runs; 0: one per core.
        progress: called with the completed share of the runs.

    Raises:
        ScenarioError: bad input. RunError: a run failed.
    """

    def read(result: Result) -> Mapping[str, Any]:
        if callable(values):
            return values(result)
        return {name: metric_if_known(result, name) for name in values}

    results = run_tasks(tasks, engine=engine, threads=threads, progress=progress)
    rows = [{**task.labels, **read(result)} for task, result in zip(tasks, results, strict=True)]
    return pl.DataFrame(rows, infer_schema_length=None)


def run_each(
    tasks: Sequence[Task],
    read: Callable[[Result], Value],
    *,
    engine: EngineName = "sim",
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    checkpoint: Checkpoint | None = None,
    failed: Callable[[Kind, str], Value] | None = None,
) -> list[Value]:
    """Make each run on its own; return the value of each in the order of the tasks.

    Args:
        tasks: the plan; schedulers are not written in Python.
        read: returns the value of a run, immediately after the run.
        engine: engine of all runs.
        threads: number of parallel runs; 0: one per core.
        progress: called with the completed share of the runs.
        checkpoint: has the runs of an earlier call, and keeps each run as soon as it is complete.
        failed: returns the value of a refused or failed run from the reason; the others continue.

    Raises:
        ScenarioError: bad input. RunError: a run failed. OutputError: a run cannot be kept.
            KeyboardInterrupt: interrupted; no run continues.
    """
    if checkpoint is None and failed is None:
        return [*map(read, run_tasks(tasks, engine=engine, threads=threads, progress=progress))]
    found: dict[int, Value] = {}

    def has_run(place: int) -> bool:
        if failed is not None and (why := refusal(tasks[place], engine)) is not None:
            found[place] = failed("refused", why)
        elif checkpoint is not None and (earlier := checkpoint.find(tasks[place])) is not None:
            found[place] = read(earlier)
        return place in found

    def make(place: int, watch: Watch) -> Result | RunError:
        try:
            return run_tasks([tasks[place]], threads=1, engine=engine, progress=watch)[0]
        except RunError as error:
            if failed is None:
                raise
            return error

    def told(shares: Iterable[float]) -> None:
        if progress is not None:
            progress(math.fsum([len(found), *shares]) / len(tasks))

    missing = (place for place in range(len(tasks)) if not has_run(place))
    for place, made in in_parallel(missing, make, workers=threads, progress=told):
        if isinstance(made, Result):
            if checkpoint is not None:
                checkpoint.add(tasks[place], made)
            found[place] = read(made)
        elif failed is not None:
            found[place] = failed("failed", str(made))
    if progress is not None:
        progress(1.0)
    return [found[place] for place in range(len(tasks))]
