"""Makes the runs of a bundle again, and compares their files with those in the bundle."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

from plait._core import OutputError, ScenarioError
from plait.bundles import archive
from plait.bundles.archive import METRICS, RESULTS, SCHEDULERS, TRACES, Bundle, unpack
from plait.bundles.packing import LIBRARIES_OF_BYTES
from plait.engines.names import EngineName
from plait.results.recorded import RESULT, SCENARIO, read_parquet, read_result
from plait.results.result import OWN, OWN_CONTROLLERS, OWN_WORKLOAD, TABLES, Result
from plait.results.writing import write_result
from plait.runs.run import Task, run_tasks
from plait.scenarios.files import file_named
from plait.scenarios.own import Own
from plait.scenarios.scenario import from_table
from plait.support.files import make_folder
from plait.support.machine import plait_version
from plait.sweep import sweep
from plait.sweep.again import own_text, plan_of
from plait.sweep.dataset import PART_FILES
from plait.sweep.dataset_writer import PARTS, PLAN
from plait.sweep.own_metric import planned

RUN_FILES = (RESULT, SCENARIO, *(f"{name}.parquet" for name in TABLES))
"""Files that a run writes into its folder, besides figures."""


@dataclass(frozen=True)
class Rerun:
    """The outcome: the number of runs and of compared files, and the names of different ones.

    notes: possible causes of differences, a sentence each.
    """

    runs: int
    files: int
    different: list[str]
    notes: list[str]


def rerun(
    place: str | PathLike[str],
    folder: str | PathLike[str],
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Rerun:
    """Make the runs of a bundle again in a new folder, and compare the bytes of their files.

    Other files of the results, such as figures and reports, are not compared.

    Args:
        place: name of the archive.
        folder: where the new results go: a new folder, or an empty one.
        threads: number of parallel runs; 0: one per core.
        progress: called with the completed share of the runs.

    Raises:
        ScenarioError: the file is no bundle, is damaged, is of another version of Plait, or lacks a
            scheduler or a metric. OutputError: the folder exists and is not empty, or is not
            writable. RunError: a run failed.
    """
    folder = Path(folder)
    found = archive.read(Path(place))
    made_by = str(found.about["versions"]["plait"])
    if made_by != plait_version():
        message = f"{place}: was made by Plait {made_by}, this is {plait_version()}; expected Plait {made_by}"
        raise ScenarioError(message)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        message = f"{folder}: exists; expected a new or empty folder"
        raise OutputError(message)
    make_folder(folder)
    told = progress or (lambda _: None)
    with tempfile.TemporaryDirectory(prefix="plait-") as temporary:
        base = Path(temporary)
        unpack({name: data for name, data in found.files.items() if not name.startswith(f"{RESULTS}/")}, base)
        again = _results if found.about["kind"] == "results" else _dataset
        again(found, base, folder, threads, told)
    return _compared(found, folder)


def _compared(found: Bundle, folder: Path) -> Rerun:
    """Compare the files that runs wrote with those in the folder."""
    before = _of_runs(found)
    different = [
        name
        for name, data in before.items()
        if not (folder / name).is_file() or (folder / name).read_bytes() != data
    ]
    notes = [
        f"packed with {name} {then}, here is {version(name)}"
        for name in LIBRARIES_OF_BYTES
        if (then := found.about["versions"].get(name)) != version(name)
    ]
    return Rerun(found.about["runs"], len(before), different, notes)


def _of_runs(found: Bundle) -> dict[str, bytes]:
    """Return the files that runs wrote; others, such as reports, may lie beside them."""
    held = found.below(RESULTS)
    if found.about["kind"] == "dataset":
        return {
            name: data
            for name, data in held.items()
            if "/" not in name and (name in (PLAN, PARTS) or fnmatchcase(name, PART_FILES))
        }
    return {
        name: held[name]
        for folder in _folders(found)
        for file in RUN_FILES
        if (name := f"{folder}/{file}") in held
    }


def _folders(found: Bundle) -> list[str]:
    """Return the names of the runs' folders, those of `plait.results.recorded.read_results`."""
    parts = (name.split("/") for name in found.below(RESULTS))
    return sorted(one[0] for one in parts if one[1:] == [RESULT])


def _results(
    found: Bundle, base: Path, folder: Path, threads: int, progress: Callable[[float], None]
) -> None:
    """Make the runs of a folder of results, each from its scenario."""
    unpack(found.below(RESULTS), base / RESULTS)
    before = {name: read_result(base / RESULTS / name) for name in _folders(found)}
    tasks = {name: _task(found, base, name, one) for name, one in before.items()}
    engines: dict[EngineName, list[str]] = {}
    for name, one in before.items():
        engines.setdefault(one.data["engine"], []).append(name)
    done = 0
    for engine, names in engines.items():
        share = partial(_overall, progress, done, len(names), len(tasks))
        results = run_tasks([tasks[name] for name in names], threads=threads, progress=share, engine=engine)
        for name, made in zip(names, results, strict=True):
            write_result(_labelled(made, before[name]), folder / name)
            for file in (SCENARIO, RESULT):
                _restore_traces(found, base, folder / name / file)
        done += len(names)


def _overall(progress: Callable[[float], None], done: int, now: int, every: int, share: float) -> None:
    """Report the share of `every` run: `done` ones, and this share of the `now` ones."""
    progress((done + share * now) / every)


def _task(found: Bundle, base: Path, name: str, before: Result) -> Task:
    """Return the task that makes a run again, with the tables that it recorded."""
    table = json.loads(before.scenario_json or "{}")
    for trace, at in found.about["traces"].items():
        table = _renamed(table, trace, str(base / at))
    tables = {file.stem: file for file in (base / RESULTS / name).glob("*.parquet")}
    series = tables.get("connection_series")
    return Task(
        scenario=from_table(table, before.scenario, base),
        scheduler=_own(found, before),
        packets="packets" in tables,
        series=None if series is None else _interval(read_parquet(series)),
        decisions="decisions" in tables,
    )


def _labelled(made: Result, before: Result) -> Result:
    """Return a result with the label it had, and with the digest of the scenario as written.

    The scenario is that of a repetition already, so its own digest would be another one.
    """
    return Result(
        made.run,
        before.scheduler,
        made.scenario_json,
        {key: made.data.get(key) for key in (OWN, OWN_WORKLOAD, OWN_CONTROLLERS)},
        made.warnings,
        before.repetition_of,
    )


def _interval(series: Any) -> str:
    """Return the interval of a time series."""
    times = series["time_ns"]
    return f"{times[1] - times[0] if len(times) > 1 else max(times[0], 1)}ns"


def _own(found: Bundle, before: Result) -> Own | None:
    own = before.own_scheduler
    if own is None:
        return None
    data = found.files[_file_of(found, before.scheduler, str(own["sha256"]))]
    return Own(str(own["file"]), own["class"], tuple(own["parameters"].items()), data)


def _file_of(found: Bundle, label: str, sha256: str) -> str:
    """Return the file of a user-defined scheduler in the bundle."""
    for one in found.about["schedulers"]:
        if one["sha256"] == sha256 and one["file"] in found.files:
            return str(one["file"])
    message = f"{found.place}: scheduler {label}: its file is missing below {SCHEDULERS}; expected a complete bundle"
    raise ScenarioError(message)


def _metric_file(found: Bundle, told: Mapping[str, Any]) -> str:
    """Return the file of a metric of the plan's own in the bundle."""
    for name, sha256 in found.about["files"].items():
        path = PurePosixPath(name)
        if path.parts[0] == METRICS and path.name == told["file"] and sha256 == told["sha256"]:
            return str(name)
    message = f"{found.place}: metric {told['name']}: its file is missing below {METRICS}; expected a complete bundle"
    raise ScenarioError(message)


def _renamed(value: Any, name: str, new: str) -> Any:
    """Return a scenario's table with another name of a trace."""
    if isinstance(value, Mapping):
        return {
            key: new + inner.removeprefix(name)
            if file_named(key, inner) == name
            else _renamed(inner, name, new)
            for key, inner in value.items()
        }
    return [_renamed(inner, name, new) for inner in value] if isinstance(value, list) else value


def _restore_traces(found: Bundle, base: Path, file: Path) -> None:
    """Write the names of traces as they were, instead of those of the unpacked files."""
    text = before = file.read_text(encoding="utf-8")
    for name, at in found.about["traces"].items():
        for end in ('"', ":"):  # a class follows the name of its file
            new, old = (json.dumps(one)[:-1] + end for one in (str(base / at), name))
            text = text.replace(new, old)
    if text != before:
        file.write_text(text, encoding="utf-8")


def _dataset(
    found: Bundle, base: Path, folder: Path, threads: int, progress: Callable[[float], None]
) -> None:
    """Make the runs of a sweep again."""
    try:
        told = json.loads(found.files[f"{RESULTS}/{PLAN}"])
    except (KeyError, ValueError) as error:
        message = f"{found.place}: no bundle of a sweep: {RESULTS}/{PLAN} is missing or no JSON"
        raise ScenarioError(message) from error
    schedulers = [
        one if isinstance(one, str) else own_text(one["class"], _file_of(found, one["class"], one["sha256"]))
        for one in told["schedulers"]
    ]
    metrics = [planned(one, _metric_file(found, one)) for one in told.get("metric", [])]
    # The files of schedulers and metrics are relative to the same folder as traces.
    for name, data in found.below(TRACES).items():
        unpack({name: data}, base)
    plan = plan_of(told, schedulers, str(found.place), base, metrics=metrics)
    rows = int(told["rows_per_part"])
    sweep(
        plan,
        folder,
        threads=threads,
        progress=lambda done: progress(done / plan.runs),
        rows_per_part=rows,
    )
