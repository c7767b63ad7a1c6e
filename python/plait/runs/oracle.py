"""The best schedule that a search finds with knowledge of the future."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from plait import _core
from plait._core import ScenarioError
from plait.results.metrics import direction
from plait.results.result import Result
from plait.runs.run import Task, run_tasks
from plait.scenarios.bounds import Bound, bound
from plait.scenarios.scenario import AnyScenario, from_table, parsed_scenario
from plait.scenarios.units import duration_ns

NAME = "oracle"
"""The scheduler's name in the result."""
METRICS = {"bulk": "goodput_bps", "file": "completion_time_s", "cbr": "block_delay_ms.mean"}
"""The metric that counts, by kind of workload."""


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """The best schedule found, beside the best scheduler and the bound.

    metric: the metric, as a run's JSON has it, with dots. value, scheduler_value: the values of
    the schedule and of the best scheduler, in the metric's unit. Blocks that were not delivered
    count too. bound: the tightest valid bound. plan: the schedule's scheduler and its steps. runs:
    number of simulated runs. result, scheduler_result: the two runs.
    """

    metric: str
    value: float
    scheduler: str
    scheduler_value: float
    bound: Bound | None
    plan: dict[str, Any]
    runs: int
    result: Result
    scheduler_result: Result

    @property
    def gain(self) -> float:
        """The ratio of the schedule to the best scheduler, less 1: 0.05 is 5 % better."""
        return (self.value / self.scheduler_value) ** direction(self.metric) - 1

    def document(self) -> dict[str, Any]:
        """Return the search as JSON."""
        names = ("metric", "value", "scheduler", "scheduler_value", "plan", "runs")
        return {
            "scenario": self.result.scenario,
            **{name: getattr(self, name) for name in names},
            "bound": None if self.bound is None else vars(self.bound),
        }


def oracle(
    scenario: AnyScenario,
    *,
    seconds: float = 10,
    evaluations: int | None = None,
    seed: int | None = None,
    threads: int = 0,
    record: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Oracle:
    """Search the best schedule of a scenario.

    Args:
        scenario: a scenario of bulk data, a file or blocks at a constant rate.
        seconds: end of the search. The runs of the schedulers take longer if they have to.
        evaluations: number of runs, after which the search ends too, once all schedulers have run.
            The result depends only on this number if the seconds suffice.
        seed: used instead of the scenario's.
        threads: number of parallel runs; 0: one per core.
        record: record packets, decisions and time series of the two runs.
        progress: called with the completed share.

    Raises:
        ScenarioError: bad input, or another workload. RunError: no scheduler delivers anything.
    """
    if not seconds > 0:
        raise ScenarioError(f"seconds: {seconds} is not more than 0")
    parsed = parsed_scenario(scenario)
    if parsed.own_controllers:
        message = (
            f"oracle: congestion_control = {parsed.own_controllers[0]!r}: expected a built-in controller"
        )
        raise ScenarioError(message)
    series = "10ms" if record else None
    job = _core.Job(
        parsed,
        seed=seed,
        packets=record,
        series_ns=None if series is None else duration_ns(series),
        decisions_from_ns=0 if record else None,
    )
    run, text = _core.oracle_search(
        job, seconds=seconds, evaluations=evaluations, threads=threads, progress=progress
    )
    found = json.loads(text)
    table = json.loads(job.scenario.json)
    task = Task(
        scenario=scenario,
        scheduler=found["best_scheduler"],
        seed=seed,
        packets=record,
        series=series,
        decisions=record,
    )
    (best,) = run_tasks([task])
    metric = METRICS[table["workload"]["kind"]]
    bounds = [one for one in bound(from_table(table)) if one.valid and one.metric == metric]
    return Oracle(
        metric=metric,
        value=found["value"],
        scheduler=found["best_scheduler"],
        scheduler_value=found["best_scheduler_value"],
        bound=bounds[0] if bounds else None,
        plan=found["plan"],
        runs=found["runs"],
        result=Result(run, NAME, job.scenario.json),
        scheduler_result=best,
    )
