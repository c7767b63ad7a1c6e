"""Input of a report: results, a folder of results, or the dataset of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.results.recorded import holds_results, read_origins, read_results
from plait.results.result import Result
from plait.support.kinds import otherwise
from plait.support.machine import surroundings
from plait.sweep import Dataset, read
from plait.sweep.dataset import direction_of
from plait.sweep.dataset_writer import PLAN

KEYS = ("index", "point", "seed", "scheduler", "error")
"""Columns of a dataset that are neither variables nor metrics."""


@dataclass(frozen=True)
class Runs:
    """Results, and information about the commands that made them."""

    results: Sequence[Result]
    origins: Sequence[dict[str, Any]]

    @property
    def groups(self) -> list[list[Result]]:
        """The runs of each scenario: they differ only in scheduler, seed and engine."""
        groups: dict[Any, list[Result]] = {}
        for result in self.results:
            groups.setdefault(result.network, []).append(result)
        return list(groups.values())


@dataclass(frozen=True)
class Rows:
    """The runs of a sweep, one row each.

    frame: columns `index`, `point`, `seed`, `scheduler`, the variables, `error`, and metrics by
        their dotted names.
    variables: the columns that were varied.
    schedulers: their labels, in the plan's order.
    about: the plan.
    """

    frame: pl.DataFrame
    variables: list[str]
    schedulers: list[str]
    about: dict[str, Any] = field(default_factory=dict)

    def direction(self, name: str) -> int:
        """Return 1 if more of a metric is better, −1 if less is, otherwise 0."""
        return direction_of(self.about, name)


def subject(what: str | PathLike[str] | Result | Sequence[Result] | Dataset | Rows) -> Runs | Rows:
    """Return the input of a report; a folder is read.

    Raises:
        ScenarioError: there is nothing to report, or a file cannot be read.
    """
    if isinstance(what, Rows):
        return what
    if isinstance(what, Dataset):
        return _rows(what)
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
        raise otherwise(ScenarioError(message), folder, "results")
    if (folder / PLAN).is_file():
        return _rows(read(folder))
    if not holds_results(folder):
        message = (
            f"{folder}: nothing to report; expected results (plait run --out, plait compare --out, "
            "plait send --record) or a dataset (plait sweep)"
        )
        raise ScenarioError(message)
    return Runs(read_results(folder), read_origins(folder))


def _rows(dataset: Dataset) -> Rows:
    frame = dataset.frame
    lacking = [one for one in (*KEYS, *dataset.variables) if one not in frame.columns]
    if lacking:
        message = f"{dataset.folder}: not a dataset; no column {', '.join(lacking)}"
        raise ScenarioError(message)
    return Rows(frame, dataset.variables, dataset.schedulers, dict(dataset.about))


def _here() -> dict[str, Any]:
    """Return the origin of results that were made in this process."""
    return {"command": "plait.report(…) in Python", **surroundings()}
