"""Running scenarios: one, or one per scheduler with the same randomness."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from plait import _core
from plait.captures import Folder, capture_places
from plait.linux import engine as linux_engine
from plait.linux.plan import make_plan
from plait.linux.refusals import Refused
from plait.progress import Progress
from plait.result import Comparison, Result
from plait.scenario import AnyScenario, scenario_json
from plait.scheduler import Choice, override
from plait.units import Duration, duration_ns

MOST_SAMPLES = 1_000_000
"""Samples of a time series per run; each takes some hundred bytes."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One run to be made, and what to record of it."""

    scenario: AnyScenario
    scheduler: Choice | None = None
    seed: int | None = None
    packets: bool = False
    series: Duration | None = None
    decisions: bool = False
    decisions_from: Duration = 0
    """Of the decisions before this moment, record only the last one."""
    pcap: Folder | None = None
    """Capture the connection's packets, in a folder of the run's own below this one."""


Engine = Literal["sim", "linux"]
"""What makes a run: the simulator, or a real kernel in virtual time (`plait.linux`)."""


def run_tasks(
    tasks: Sequence[Task],
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    engine: Engine = "sim",
) -> list[Result]:
    """Make several runs on `threads` threads (0: one per core); results in the order of the tasks.

    Raises:
        ScenarioError: bad input, or what the engine cannot do. RunError: a run failed. OutputError: captures cannot be
            written. KeyboardInterrupt: interrupted; nothing is left running.
    """
    if engine not in get_args(Engine):
        message = f"engine {engine!r}: expected one of: {', '.join(get_args(Engine))}"
        raise _core.ScenarioError(message)
    jobs, labels, folders = [], [], dict[str, set[str]]()
    for task in tasks:
        taken = folders.setdefault(str(task.pcap), set())
        job, label = _job(task, engine, taken)
        jobs.append(job)
        labels.append(label)
    runs = (
        _core.run(jobs, threads=threads, progress=progress)
        if engine == "sim"
        else linux_engine.run(_requests(tasks, jobs), processes=threads, progress=progress)
    )
    return [Result(run, label, job.scenario_json) for run, label, job in zip(runs, labels, jobs, strict=True)]


def refusal(task: Task, engine: Engine) -> str | None:
    """Why the engine cannot make a run; None if it can.

    Raises:
        ScenarioError: the input is bad, whatever the engine.
    """
    if engine == "linux":
        try:
            make_plan(_job(replace(task, pcap=None), engine, set())[0])
        except Refused as refused:
            return refused.why
    return None


def _job(task: Task, engine: Engine, taken: set[str]) -> tuple[_core.Job, str | None]:
    """The run as the engines take it, and the label of its scheduler; `taken` are the names of folders of captures."""
    choice, scenario = override(task.scheduler), scenario_json(task.scenario)
    _check(task, scenario)
    if engine == "linux" and choice.python is not None:
        raise Refused(json.loads(scenario)["name"], f"scheduler {choice.label}", "the kernel runs no Python")
    if engine == "linux" and task.pcap is not None:
        why = (
            f"the kernel makes its own captures; {linux_engine.KEEP}=DIR keeps them: DIR/run-0/sender.pcap, …"
        )
        raise Refused(json.loads(scenario)["name"], "pcap", why)
    job = _core.Job(
        scenario,
        scheduler=choice.built_in,
        python_scheduler=choice.python,
        seed=task.seed,
        packets=task.packets,
        series_ns=None if task.series is None else duration_ns(task.series),
        decisions_from_ns=duration_ns(task.decisions_from) if task.decisions else None,
        pcap=None if task.pcap is None else capture_places(task.pcap, scenario, choice.label, taken),
    )
    return job, choice.label


def _requests(tasks: Sequence[Task], jobs: Sequence[_core.Job]) -> list[linux_engine.Request]:
    return [
        linux_engine.Request(
            job=job,
            series_ns=None if task.series is None else duration_ns(task.series),
            decisions=task.decisions,
        )
        for task, job in zip(tasks, jobs, strict=True)
    ]


def _check(task: Task, scenario: str) -> None:
    """A seed that fits, and no more samples than memory holds; ScenarioError otherwise."""
    if task.seed is not None and not 0 <= task.seed < 2**63:
        message = f"seed: expected a whole number from 0 to {2**63 - 1}, got {task.seed}"
        raise _core.ScenarioError(message)
    if task.series is None:
        return
    interval, duration = duration_ns(task.series), duration_ns(json.loads(scenario)["duration"])
    if interval == 0 or duration / interval > MOST_SAMPLES:
        least = duration_ns("1ns") if duration < MOST_SAMPLES else -(-duration // MOST_SAMPLES)
        message = (
            f"series: expected at least {least} ns for a run of {duration / 1e9:g} s, got {task.series!r}"
        )
        raise _core.ScenarioError(message)


def run(
    scenario: AnyScenario,
    scheduler: Choice | None = None,
    *,
    seed: int | None = None,
    packets: bool = False,
    series: Duration | None = None,
    decisions: bool = False,
    pcap: Folder | None = None,
    engine: Engine = "sim",
) -> Result:
    """Run one scenario.

    Args:
        scenario: a scenario, or the name of a scenario file.
        scheduler: used instead of the scenario's: a name, a table with parameters, or a subclass of `Scheduler`.
        seed: used instead of the scenario's.
        packets: record every transmission (`Result.packets`).
        series: record time series with this interval, such as ``"10ms"`` (`Result.path_series`).
        decisions: record every decision (`Result.decisions`, `Result.decision_paths`).
        pcap: write what both ends of every path capture below this folder, for Wireshark
            (``SCENARIO-SCHEDULER/PATH-sender.pcapng``, …); competing flows are not captured.
        engine: ``"sim"``, or ``"linux"`` for the real kernel's MPTCP in virtual time (``plait linux build`` once).

    Raises:
        ScenarioError: bad input. RunError: the run failed. OutputError: captures cannot be written.
    """
    task = Task(
        scenario=scenario,
        scheduler=scheduler,
        seed=seed,
        packets=packets,
        series=series,
        decisions=decisions,
        pcap=pcap,
    )
    with Progress("running") as progress:
        return run_tasks([task], progress=progress.update, engine=engine)[0]


def compare(
    scenario: AnyScenario,
    schedulers: Sequence[Choice],
    *,
    seed: int | None = None,
    packets: bool = False,
    series: Duration | None = None,
    decisions: bool = False,
    pcap: Folder | None = None,
    threads: int = 0,
    engine: Engine = "sim",
) -> Comparison:
    """Run one scenario with each of the schedulers, with the same seed, so that all meet the same losses.

    The arguments are those of `run`; `threads` 0 means one per core. Schedulers written in Python run one after the
    other.

    Raises:
        ScenarioError: bad input. RunError: a run failed. OutputError: captures cannot be written.
    """
    tasks = [
        Task(
            scenario=scenario,
            scheduler=choice,
            seed=seed,
            packets=packets,
            series=series,
            decisions=decisions,
            pcap=pcap,
        )
        for choice in schedulers
    ]
    with Progress("comparing") as progress:
        return Comparison(run_tasks(tasks, threads=threads, progress=progress.update, engine=engine))
