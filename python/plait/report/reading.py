"""What is to be reported: results, a folder of them, or the dataset of a sweep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.machine import surroundings
from plait.recorded import RESULT, read_origins, read_parquet, read_results
from plait.result import Result

PLAN = "_plan.json"
PARTS = "part-*.parquet"
KEYS = ("index", "point", "seed", "scheduler", "error")
"""Columns of a dataset that are neither variables nor metrics."""


@dataclass(frozen=True)
class Runs:
    """Results, and what is known of the commands that made them."""

    results: Sequence[Result]
    origins: Sequence[dict[str, Any]]

    @property
    def groups(self) -> list[list[Result]]:
        """The runs of each scenario: those that differ in scheduler, seed and engine alone."""
        groups: dict[Any, list[Result]] = {}
        for result in self.results:
            groups.setdefault(_network(result), []).append(result)
        return list(groups.values())


@dataclass(frozen=True)
class Dataset:
    """The runs of a sweep: a row each.

    frame: columns `index`, `point`, `seed`, `scheduler`, the variables, `error`, and metrics by their dotted names.
    variables: the columns that were varied. schedulers: their labels, in the plan's order. about: the plan.
    """

    frame: pl.DataFrame
    variables: list[str]
    schedulers: list[str]
    about: dict[str, Any] = field(default_factory=dict)


def subject(what: str | PathLike[str] | Result | Sequence[Result] | Dataset) -> Runs | Dataset:
    """What is to be reported, read if it is a folder.

    Raises:
        ScenarioError: there is nothing to report, or a file cannot be read.
    """
    if isinstance(what, Dataset):
        return _checked(what, "dataset")
    if isinstance(what, Result):
        return Runs([what], [_here()])
    if not isinstance(what, str | PathLike):
        if not what:
            message = "report: no results; expected at least one"
            raise ScenarioError(message)
        return Runs(list(what), [_here()])
    folder = Path(fspath(what))
    if not folder.is_dir():
        message = f"{folder}: not a folder" if folder.exists() else f"{folder}: no such folder"
        raise ScenarioError(message)
    if (folder / PLAN).is_file() or any(folder.glob(PARTS)):
        return _checked(read_dataset(folder), str(folder))
    if not (folder / RESULT).is_file() and not any(folder.glob(f"*/{RESULT}")):
        message = (
            f"{folder}: nothing to report; expected results (plait run --out, plait compare --out) "
            "or a dataset (plait sweep)"
        )
        raise ScenarioError(message)
    return Runs(read_results(folder), read_origins(folder))


def read_dataset(folder: Path) -> Dataset:
    """The dataset in a sweep's folder: all complete parts.

    Raises:
        ScenarioError: there are none, or a file cannot be read.
    """
    plan = _plan(folder / PLAN)
    parts = sorted(folder.glob(PARTS))
    if not parts:
        message = f"{folder}: no runs; expected {PARTS}"
        raise ScenarioError(message)
    frame = pl.concat([read_parquet(part) for part in parts], how="diagonal_relaxed")
    return Dataset(frame, plan["variables"], plan["schedulers"], plan)


def _plan(file: Path) -> dict[str, Any]:
    try:
        plan = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError(message) from error
    if not isinstance(plan, dict) or not all(
        isinstance(plan.get(key), list) for key in ("variables", "schedulers")
    ):
        message = f"{file}: not a plan; expected an object with lists variables and schedulers"
        raise ScenarioError(message)
    return plan


def _network(result: Result) -> Any:
    if result.scenario_json is None:
        return result.scenario, *result.path_names
    table = json.loads(result.scenario_json)
    return json.dumps(
        {key: value for key, value in table.items() if key not in ("scheduler", "seed")}, sort_keys=True
    )


def _checked(dataset: Dataset, name: str) -> Dataset:
    lacking = [one for one in (*KEYS, *dataset.variables) if one not in dataset.frame.columns]
    if lacking:
        message = f"{name}: not a dataset; no column {', '.join(lacking)}"
        raise ScenarioError(message)
    if dataset.frame.is_empty():
        message = f"{name}: no runs; expected at least one row"
        raise ScenarioError(message)
    return dataset


def _here() -> dict[str, Any]:
    """What is known of results that were made in this process."""
    return {"command": "plait.report(…) in Python", **surroundings()}
