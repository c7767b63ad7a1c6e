"""Folders of results: what ``plait run --out`` and ``plait compare --out`` write, read again.

A folder has one folder per run and one `run.json`, which says what made them:

| file | what |
|---|---|
| `run.json` | commands as typed, versions, machine, time of day, and the folders that each command wrote |
| `<run>/result.json` | metrics |
| `<run>/scenario.json` | the scenario as it was run, defaults, scheduler and seed included; ``plait run`` takes it |
| `<run>/<table>.parquet` | the recorded tables |
| `recording` | of a transfer by a program that writes no tables, or one that was broken off: read instead |

Everything below a run's folder is the same for the same scenario and seed; what is not is in `run.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.recordings import RECORDING
from plait.recordings.reading import read_recording
from plait.results.result import Result
from plait.support.kinds import otherwise

ORIGIN = "run.json"
RESULT = "result.json"
SCENARIO = "scenario.json"


class RecordedRun:
    """The JSON and the tables of a run in its folder; tables are read when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.json = _text(folder / RESULT)

    def packets(self) -> pl.DataFrame | None:
        """The table, None without a file of it; ScenarioError if the file cannot be read. So are the others."""
        return self._table("packets")

    def requests(self) -> pl.DataFrame | None:
        """A table."""
        return self._table("requests")

    def path_series(self) -> pl.DataFrame | None:
        """A table."""
        return self._table("path_series")

    def connection_series(self) -> pl.DataFrame | None:
        """A table."""
        return self._table("connection_series")

    def decisions(self) -> pl.DataFrame | None:
        """A table."""
        return self._table("decisions")

    def decision_paths(self) -> pl.DataFrame | None:
        """A table."""
        return self._table("decision_paths")

    def _table(self, name: str) -> pl.DataFrame | None:
        file = self.folder / f"{name}.parquet"
        return read_parquet(file) if file.is_file() else None


def holds_results(folder: Path) -> bool:
    """Whether there is something for `read_results`."""
    places = (folder / RESULT, folder / RECORDING)
    return any(place.is_file() for place in places) or any(folder.glob(f"*/{RESULT}"))


def read_results(folder: Path) -> list[Result]:
    """The results in a run's folder, or in all folders below, by name; or that of the recording of a transfer there.

    Raises:
        ScenarioError: there are none, or a file cannot be read.
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
    """The result in a run's folder.

    Raises:
        ScenarioError: it is none, or a file cannot be read.
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
    """The commands that wrote a folder, as `run.json` there or, for a run's folder, beside it tells them."""
    places = [folder / ORIGIN, folder.absolute().parent / ORIGIN]
    for place, run in zip(places, (None, folder.absolute().name), strict=True):
        if place.is_file():
            document = _parsed(place, _text(place))
            commands = document.get("commands") if isinstance(document, Mapping) else None
            if not isinstance(commands, list) or not all("folders" in one for one in commands):
                message = (
                    f"{place}: not what plait writes; expected an object with commands and their folders"
                )
                raise ScenarioError(message)
            return [one for one in commands if run is None or run in one["folders"]]
    return []


def origins_with(folder: Path, command: dict[str, Any]) -> dict[str, Any]:
    """What `run.json` says after `command`: older commands stay as long as it did not write their folders anew."""
    try:
        older = read_origins(folder) if (folder / ORIGIN).is_file() else []
    except ScenarioError:  # damaged: begin anew
        older = []
    commands = []
    for one in older:
        left = [
            name for name in one["folders"] if name not in command["folders"] and (folder / name).is_dir()
        ]
        commands += [one | {"folders": left}] if left else []
    return {"commands": [*commands, command]}


def read_parquet(file: Path) -> pl.DataFrame:
    """A Parquet file; ScenarioError if it cannot be read."""
    try:
        return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        message = f"{file}: cannot be read as Parquet: {error}"
        raise ScenarioError(message) from error


def _as_run(folders: Sequence[Path]) -> list[Path]:
    """The folders in the order in which their commands ran them, then those that `run.json` does not know."""
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
