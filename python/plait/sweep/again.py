"""Repetition of one run of a dataset, from the plan in the dataset."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from plait._core import ScenarioError
from plait.scenarios.own import LIBRARIES, PYTHON, Own
from plait.scenarios.scenario import Scenario, from_table
from plait.scenarios.scheduler import parse_choice
from plait.support.machine import plait_version
from plait.sweep.dataset import about
from plait.sweep.dataset_writer import SCHEDULERS
from plait.sweep.plan import Plan


@dataclass(frozen=True)
class DatasetRun:
    """The run to be made: the scenario of the sweep, the scheduler, the seed.

    notes: possible causes of results that differ from the dataset's, a sentence each.
    """

    scenario: Scenario
    choice: str | Mapping[str, Any] | Own
    seed: int
    notes: Sequence[str]


def run_again(folder: str | PathLike[str], index: int, own: str | None = None) -> DatasetRun:
    """Return the run with this index.

    Paths of traces are relative to the current folder.

    Args:
        folder: folder of the dataset.
        index: as in its column `index`.
        own: ``FILE.py:CLASS`` of the run's scheduler, if it is not built in and its file is no longer
            where the sweep found it.

    Raises:
        ScenarioError: there is no dataset or no such run, or a file of the plan is missing or
            differs.
    """
    folder = Path(folder)
    told = about(folder)
    schedulers, seeds = told["schedulers"], told["seeds"]
    if not index < told["runs"]:
        message = f"{folder}: index {index}: unknown; expected 0 to {told['runs'] - 1}"
        raise ScenarioError(message)
    rest, place = divmod(index, len(schedulers))
    point, seed = divmod(rest, seeds if isinstance(seeds, int) else len(seeds))
    choice = _choice(folder, schedulers[place], own or _recorded(folder, schedulers[place]))
    _check_traces(folder, told["traces"])
    plan = plan_of(told, [choice], str(folder), of_one=True)
    (scheduler,) = plan.schedulers
    number = plan.seeds[seed]
    scenario = json.loads(plan.repetition(point, number))
    notes = []
    if told["version"] != plait_version():
        notes.append(f"the dataset was made by Plait {told['version']}, this is {plait_version()}")
    return DatasetRun(
        from_table(scenario, plan.where(point)), scheduler.at(plan.values(point)).choice, number, notes
    )


def plan_of(
    told: Mapping[str, Any],
    schedulers: Sequence[str],
    origin: str,
    base: Path = Path(),
    *,
    metrics: Sequence[Mapping[str, Any]] = (),
    of_one: bool = False,
) -> Plan:
    """Return the plan of a dataset, from the full plan in it.

    Args:
        told: the full plan.
        schedulers: in the form of plans.
        origin: name of the dataset in messages.
        base: folder of traces and of the files of schedulers and metrics.
        metrics: the plan's own metrics, as tables of plans.
        of_one: whether only one of the schedulers is given.

    Raises:
        ScenarioError: the plan is not valid, or its points are others here.
    """
    keys = ("name", "scenario", "set", "axis", "seeds")
    table = {key: told[key] for key in keys}
    table |= {"schedulers": list(schedulers), "metric": list(metrics)}
    table["perturb"] = told["perturbed"] is not None
    plan = Plan(table, base, origin, of_one=of_one)
    if plan.identity["points"] != told["points"]:
        message = f"{origin}: the libraries here draw other points from the plan's axes"
        raise ScenarioError(message)
    return plan


def own_text(label: str, file: str) -> str:
    """Return a user-defined scheduler with this label and file in the form of plans."""
    name, given = _parts(label)
    return ":".join([file, name, *given])


def _parts(label: str) -> tuple[str, list[str]]:
    """Return the class and the parameters of a label, which may begin with the file."""
    first, *rest = label.split(":")
    name, *given = rest if first.endswith(PYTHON + LIBRARIES) else (first, *rest)
    return name, given


def _recorded(folder: Path, scheduler: Any) -> str | None:
    """Return ``FILE:CLASS`` of a class of the user, if its file is where the sweep found it."""
    try:
        places = json.loads((folder / SCHEDULERS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if isinstance(scheduler, str) or scheduler["class"] not in places:
        return None
    file = Path(os.path.normpath(folder / places[scheduler["class"]]))
    return f"{file}:{_parts(scheduler['class'])[0]}" if file.is_file() else None


def _choice(folder: Path, scheduler: Any, own: str | None) -> Any:
    """Return the scheduler in the form of plans."""
    if isinstance(scheduler, str):
        if own is not None:
            message = f"--scheduler {own!r}: the run's scheduler is {scheduler}; expected no --scheduler"
            raise ScenarioError(message)
        return scheduler
    name, given = _parts(scheduler["class"])
    if own is None:
        message = (
            f"{folder}: the run's scheduler is {scheduler['class']}, one of your own; "
            f"expected --scheduler FILE:{name}"
        )
        raise ScenarioError(message)
    choice = parse_choice(own)
    if not isinstance(choice, Own) or choice.sha256 != scheduler["sha256"]:
        message = f"--scheduler {own!r}: is not the file that the sweep ran: its SHA-256 is another one"
        raise ScenarioError(message)
    return ":".join([own, *given]) if not choice.given else own


def _check_traces(folder: Path, traces: Mapping[str, str]) -> None:
    """Check that the files of recorded links are those of the sweep."""
    for name, digest in traces.items():
        try:
            found = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        except OSError as error:
            message = f"{folder}: trace {name}: {error.strerror}; expected it relative to the current folder"
            raise ScenarioError(message) from error
        if found != digest:
            message = (
                f"{folder}: trace {name}: is not the file that the sweep ran: its SHA-256 is another one"
            )
            raise ScenarioError(message)
