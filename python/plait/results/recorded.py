"""Reads folders of results, which ``plait run --out`` and ``plait compare --out`` write.

A folder has one folder per run, and one `run.json` about their origin:

| file | content |
|---|---|
| `run.json` | commands as typed, versions, machine, time of day, and the folders of each command |
| `<run>/result.json` | metrics |
| `<run>/scenario.json` | the run's scenario with defaults, scheduler, seed; input for ``plait run`` |
| `<run>/<table>.parquet` | the recorded tables |
| `recording` | recording of a transfer without tables, or of an aborted one; read in their place |

All files in a run's folder are the same for the same scenario and seed; `run.json` varies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.recordings import RECORDING
from plait.recordings.reading import read_recording
from plait.results.result import TABLES, Result
from plait.support.kinds import otherwise

ORIGIN = "run.json"
RESULT = "result.json"
SCENARIO = "scenario.json"


class RecordedRun:
    """The JSON and the tables of a run in its folder; a table is read on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.json = _text(folder / RESULT)

    def __getattr__(self, name: str) -> Callable[[], pl.DataFrame | None]:
        """Return the method of a table: None without its file; ScenarioError if it is unreadable."""
        if name not in TABLES:
            raise AttributeError(name)
        return partial(self._table, name)

    def _table(self, name: str) -> pl.DataFrame | None:
        file = self.folder / f"{name}.parquet"
        table = read_parquet(file) if file.is_file() else None
        if name == "decisions" and table is not None and "reason" not in table.columns:
            # Results that were written before the column existed.
            table = table.with_columns(pl.lit(None, pl.String).alias("reason"))
        return table


def holds_results(folder: Path) -> bool:
    """Whether the folder has results for `read_results`."""
    places = (folder / RESULT, folder / RECORDING)
    return any(place.is_file() for place in places) or any(folder.glob(f"*/{RESULT}"))


def read_results(folder: Path) -> list[Result]:
    """Return the results in a run's folder, or in all folders below it.

    Results are in the order in which their commands ran. Without results, a recording of a transfer
    in the folder is read.

    Raises:
        ScenarioError: there are no results, or a file cannot be read.
    """
    if not folder.is_dir():
        message = f"{folder}: no such folder"
        raise otherwise(ScenarioError(message), folder, "results")
    folders = (
        [folder] if (folder / RESULT).is_file() else sorted(one.parent for one in folder.glob(f"*/{RESULT}"))
    )
    if not folders and (folder / RECORDING).is_file():
        return [read_recording(folder / RECORDING)]
    if not folders:
        message = (
            f"{folder}: no results; expected {RESULT} there or in folders below, as plait run --out writes"
        )
        raise otherwise(ScenarioError(message), folder, "results")
    return [read_result(one) for one in _as_run(folders)]


def read_result(folder: Path) -> Result:
    """Return the result in a run's folder.

    Raises:
        ScenarioError: the folder has no result, or a file cannot be read.
    """
    run, scenario = RecordedRun(folder), folder / SCENARIO
    document = _parsed(folder / RESULT, run.json)
    known = ("scenario", "scheduler", "seed", "engine", "metrics", "paths")
    if not isinstance(document, Mapping) or not all(key in document for key in known):
        message = f"{folder / RESULT}: not a result; expected an object with {', '.join(known)}"
        raise ScenarioError(message)
    text = _text(scenario).strip() if scenario.is_file() else None
    if text is not None:
        _parsed(scenario, text)
    return Result(run, scenario_json=text)


def read_origins(folder: Path) -> list[dict[str, Any]]:
    """Return the commands that wrote a folder, from `run.json` there or beside a run's folder."""
    places = [folder / ORIGIN, folder.absolute().parent / ORIGIN]
    for place, run in zip(places, (None, folder.absolute().name), strict=True):
        if place.is_file():
            document = _parsed(place, _text(place))
            commands = document.get("commands") if isinstance(document, Mapping) else None
            if not isinstance(commands, list) or not all("folders" in one for one in commands):
                message = f"{place}: not written by plait; expected an object with commands and their folders"
                raise ScenarioError(message)
            return [one for one in commands if run is None or run in one["folders"]]
    return []


def origins_with(folder: Path, command: dict[str, Any]) -> dict[str, Any]:
    """Return the new content of `run.json` with `command` added.

    An older command stays with those of its folders that `command` did not write again.
    """
    try:
        older = read_origins(folder) if (folder / ORIGIN).is_file() else []
    except ScenarioError:  # damaged file: start a new one
        older = []
    commands = []
    for one in older:
        left = [
            name for name in one["folders"] if name not in command["folders"] and (folder / name).is_dir()
        ]
        commands += [one | {"folders": left}] if left else []
    return {"commands": [*commands, command]}


def read_parquet(file: Path) -> pl.DataFrame:
    """Read a Parquet file; ScenarioError if that is impossible."""
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        message = f"{file}: cannot be read as Parquet: {error}"
        raise ScenarioError(message) from error


def _as_run(folders: Sequence[Path]) -> list[Path]:
    """Sort the folders by the order of the runs in `run.json`; unknown folders come last."""
    order = [name for one in read_origins(folders[0].parent) for name in one["folders"]]
    places = {name: index for index, name in enumerate(order)}
    return sorted(folders, key=lambda folder: places.get(folder.name, len(places)))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError(message) from error


def _parsed(file: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        message = f"{file}: not JSON: {error}"
        raise ScenarioError(message) from error
