"""Runs scenarios: one, or one per scheduler with the same randomness."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from plait import _core
from plait.engines import Ability, Engine, Order, Refused
from plait.engines.names import EngineName
from plait.engines.registry import engine_called
from plait.results.captures import Folder, capture_places
from plait.results.result import OWN, OWN_CONTROLLERS, OWN_WORKLOAD, Comparison, Result
from plait.runs.watchdog import Watchdog
from plait.scenarios.class_state import ClassState
from plait.scenarios.controller import controllers_of, own_controllers, python_code
from plait.scenarios.files import named_files
from plait.scenarios.own_workload import own_workload
from plait.scenarios.repetition import network_of, perturbed
from plait.scenarios.scenario import AnyScenario, parsed_scenario
from plait.scenarios.scheduler import Choice, check_several, choice_of, label_all, override
from plait.scenarios.units import Duration, duration_ns
from plait.support.progress import Progress

Known = dict[tuple[int, int | None], _core.Scenario]
"""Scenarios that are read already, by the identity of the task's scenario, with the seed of a
repetition: many tasks share them."""

MOST_SAMPLES = 1_000_000
"""Maximum samples of a time series per run; each takes some hundred bytes."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """One run to be made, and the data to record."""

    scenario: AnyScenario
    scheduler: Choice | None = None
    seed: int | None = None
    perturb: bool = False
    """Run the repetition of the seed instead of the scenario as written; see
    `plait.scenarios.repetition`."""
    packets: bool = False
    series: Duration | None = None
    decisions: bool = False
    decisions_from: Duration = 0
    """Record only the last one of the decisions before this moment."""
    pcap: Folder | None = None
    """Capture the connection's packets, in a folder for this run below this one."""
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the run in a frame; see `plait.runs.experiment`."""


def run_tasks(
    tasks: Sequence[Task],
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
    engine: EngineName = "sim",
) -> list[Result]:
    """Make several runs on `threads` threads (0: one per core); results in the order of the tasks.

    Raises:
        ScenarioError: bad input, or a task that the engine cannot run. RunError: a run failed.
            OutputError: captures cannot be written. KeyboardInterrupt: interrupted; no run
            continues.
    """
    chosen = engine_called(engine)
    tasks = [replace(task, scheduler=choice_of(task.scheduler)) for task in tasks]
    labels = label_all([task.scheduler for task in tasks])
    folders, known = dict[str, set[str]](), Known()
    prepared = [
        _prepared(task, label, chosen, folders.setdefault(str(task.pcap), set()), known)
        for task, label in zip(tasks, labels, strict=True)
    ]
    code = [part for one in prepared for part in one.code]
    state = ClassState({one if isinstance(one, type) else type(one) for one in code})
    with Watchdog(code):
        runs = chosen.run([one.order for one in prepared], workers=threads, progress=progress)
    state.check()
    return [
        Result(
            run,
            label,
            one.order.job.scenario.json,
            one.own,
            [
                *_never_up(one.order.job.scenario),
                *([] if run.silence is None else [f"{label} {run.silence}"]),
            ],
            network_of(known[id(task.scenario), None].json) if task.perturb else None,
        )
        for run, label, one, task in zip(runs, labels, prepared, tasks, strict=True)
    ]


def refusal(task: Task, engine: EngineName) -> str | None:
    """Return the reason for which the engine cannot make a run; None if it can.

    Raises:
        ScenarioError: the input is bad for any engine.
    """
    chosen = engine_called(engine)
    return chosen.refusal(_single(task, chosen).order)


def key(task: Task, engine: EngineName) -> str:
    """Return a key that changes with everything on which the result of a run depends.

    These are the engine, the scenario with the scheduler, and the contents of all named files.

    Raises:
        Refused: the engine cannot make the run.
    """
    chosen = engine_called(engine)
    one = _single(task, chosen)
    names = sorted(set(named_files(json.loads(one.order.job.scenario.json))))
    files = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names}
    told = json.dumps([engine, chosen.key(one.order), one.own.get(OWN), files])
    return hashlib.sha256(told.encode()).hexdigest()


@dataclass(frozen=True)
class _Prepared:
    """A run that an engine can make.

    own: records of the user's classes, by their keys in results. code: the Python code of the run:
    the objects of scheduler and workload, the classes of controllers.
    """

    order: Order
    own: Mapping[str, Any]
    code: Sequence[object]


def _single(task: Task, engine: Engine) -> _Prepared:
    """Prepare one run without captures."""
    task = replace(task, scheduler=choice_of(task.scheduler), pcap=None)
    (label,) = label_all([task.scheduler])
    return _prepared(task, label, engine, set(), {})


def _prepared(task: Task, label: str | None, engine: Engine, taken: set[str], known: Known) -> _Prepared:
    """Prepare the run for an engine.

    `label` is the scheduler's label, `taken` has the folder names of captures.
    """
    choice, scenario = override(task.scheduler), _scenario(task, known)
    workload = own_workload(scenario.json)
    asked: dict[Ability, str] = {}
    if workload is not None:
        asked["workload"] = workload.origin
    if scenario.own_controllers:
        asked["controller"] = f"congestion_control = {scenario.own_controllers[0]!r}"
    if choice.python is not None:
        asked["python"] = f"scheduler {label}"
    if choice.foreign is not None:
        asked["library"] = f"scheduler {label}"
    if task.pcap is not None:
        asked["pcap"] = "pcap"
    for ability, what in asked.items():
        if why := engine.lacks.get(ability):
            raise Refused(engine.name, scenario.name, what, why)
    writer = None if workload is None else workload.make()
    classes = own_controllers(scenario)
    controllers = controllers_of(scenario, classes)
    series_ns = None if task.series is None else duration_ns(task.series)
    job = _core.Job(
        scenario,
        scheduler=choice.built_in,
        python_scheduler=choice.python,
        foreign=choice.foreign,
        workload=writer,
        controllers=controllers,
        seed=task.seed,
        packets=task.packets,
        series_ns=series_ns,
        decisions_from_ns=duration_ns(task.decisions_from) if task.decisions else None,
        pcap=None if task.pcap is None else capture_places(task.pcap, scenario.json, label, taken),
    )
    order = Order(job=job, series_ns=series_ns, decisions=task.decisions)
    own = {
        OWN: choice.document,
        OWN_WORKLOAD: None if workload is None else workload.document(),
        OWN_CONTROLLERS: [one.document() for one in classes] or None,
    }
    return _Prepared(order, own, python_code(choice.python, writer, controllers))


def _scenario(task: Task, known: Known) -> _core.Scenario:
    """Return the task's scenario, or its repetition."""
    key = id(task.scenario)
    if (key, None) not in known:
        known[key, None] = parsed_scenario(task.scenario)
    scenario = known[key, None]
    _check(task, scenario)
    seed = scenario.seed if task.seed is None else task.seed
    if not task.perturb or seed == scenario.seed:
        return scenario
    if (key, seed) not in known:
        text = perturbed(scenario.json, seed)
        known[key, seed] = _core.Scenario(text, scenario.name, "", format="json")
    return known[key, seed]


def _never_up(scenario: _core.Scenario) -> list[str]:
    """Return a warning for each path that is down from the beginning to the end of the run."""
    return [
        f"path {path['name']!r} is down from the beginning to the end: outages"
        for path in json.loads(scenario.json)["path"]
        if any(
            _covers(path.get(way, path).get("outages"), scenario.duration_ns)
            for way in ("forward", "backward")
        )
    ]


def _covers(outages: Any, end: int) -> bool:
    """Whether outages given as a list of times leave no moment before `end`."""
    reached = 0
    if not isinstance(outages, list):
        return False
    for one in sorted(outages, key=lambda one: duration_ns(one["from"])):
        if duration_ns(one["from"]) > reached:
            return False
        reached = max(reached, duration_ns(one["to"]))
    return reached >= end


def _check(task: Task, scenario: _core.Scenario) -> None:
    """Raise ScenarioError for an invalid seed, or for more samples than memory holds."""
    seed: object = task.seed
    if seed is not None and not (isinstance(seed, int) and 0 <= seed < 2**63):
        message = f"seed: expected a whole number from 0 to {2**63 - 1}, got {task.seed!r}"
        raise _core.ScenarioError(message)
    if task.series is None:
        return
    interval, duration = duration_ns(task.series), scenario.duration_ns
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
    perturb: bool = False,
    packets: bool = False,
    series: Duration | None = None,
    decisions: bool = False,
    pcap: Folder | None = None,
    engine: EngineName = "sim",
) -> Result:
    """Run one scenario.

    Args:
        scenario: a scenario, or the name of a scenario file.
        scheduler: used instead of the scenario's: a name, with parameters as on the command line or
            in a table, a subclass of `Scheduler` or an instance, or one from a file:
            ``"mine.py:Mine:share=0.5"``.
        seed: used instead of the scenario's; a whole number without a unit.
        perturb: run the seed's repetition, as `plait.repeat` does, instead of the scenario as
            written.
        packets: record every transmission (`Result.packets`).
        series: record time series with this interval, text with a unit such as ``"10ms"`` or
            seconds (`Result.path_series`).
        decisions: record every decision (`Result.decisions`, `Result.decision_paths`).
        pcap: write the captures of both ends of every path below this folder, for Wireshark
            (``SCENARIO-SCHEDULER/PATH-sender.pcapng``, …); competing flows are not captured.
        engine: ``"sim"``; ``"linux"`` for the real kernel's MPTCP in virtual time (``plait linux
            build`` once); ``"quic"`` for real QUIC connections over the simulator's links (protocol
            ``"mpquic"``); ``"usrsctp"`` for FreeBSD's SCTP stack over them (protocol
            ``"cmt-sctp"``; ``plait usrsctp build`` once).

    Raises:
        ScenarioError: bad input. RunError: the run failed. OutputError: captures cannot be written.
    """
    recorded: dict[str, Any] = {"packets": packets, "series": series, "decisions": decisions, "pcap": pcap}
    task = Task(scenario=scenario, scheduler=scheduler, seed=seed, perturb=perturb, **recorded)
    with Progress("running") as progress:
        (made,) = run_tasks([task], progress=progress.update, engine=engine)
    _warn([made])
    return made


def compare(
    scenario: AnyScenario,
    schedulers: Sequence[Choice],
    *,
    seed: int | None = None,
    perturb: bool = False,
    packets: bool = False,
    series: Duration | None = None,
    decisions: bool = False,
    pcap: Folder | None = None,
    threads: int = 0,
    engine: EngineName = "sim",
) -> Comparison:
    """Run one scenario with each of the schedulers and the same seed, so with the same losses.

    The other arguments are those of `run`. Schedulers written in Python run one after the other.

    Args:
        scenario: as `run` takes it.
        schedulers: the schedulers to compare, each as `run` takes it.
        seed: seed of all runs, instead of the scenario's; a whole number without a unit.
        perturb: as for `run`.
        packets: as for `run`.
        series: interval of time series, text with a unit such as ``"10ms"`` or seconds.
        decisions: as for `run`.
        pcap: as for `run`.
        threads: number of parallel runs; 0: one per core.
        engine: as for `run`.

    Raises:
        ScenarioError: bad input. RunError: a run failed. OutputError: captures cannot be written.
    """
    check_several(schedulers)
    recorded: dict[str, Any] = {"packets": packets, "series": series, "decisions": decisions, "pcap": pcap}
    task = Task(scenario=scenario, seed=seed, perturb=perturb, **recorded)
    tasks = [replace(task, scheduler=choice) for choice in schedulers]
    with Progress("comparing") as progress:
        results = run_tasks(tasks, threads=threads, progress=progress.update, engine=engine)
    _warn(results)
    return Comparison(results)


def _warn(results: Sequence[Result]) -> None:
    """Issue Python warnings, located at the caller of this module's functions."""
    for result in results:
        for text in result.warnings:
            warnings.warn(f"{result.scenario}: {text}", RuntimeWarning, stacklevel=3)
