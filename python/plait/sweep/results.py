"""Folders of results in the form of a dataset, so that figures and statistics take both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from plait._core import ScenarioError
from plait.results.metrics import metric_if_known, names_of
from plait.results.recorded import holds_results, read_results
from plait.results.result import Result
from plait.support.kinds import otherwise
from plait.sweep.dataset import Dataset, read
from plait.sweep.dataset_writer import PLAN


def dataset_of(folder: Path) -> Dataset:
    """Return the dataset of a sweep, or the results of ``plait compare --out`` as one.

    Raises:
        ScenarioError: the folder has neither, or a file cannot be read.
    """
    check_folder(folder)
    return of_results(read_results(folder), folder) if holds_results(folder) else read(folder)


def check_folder(folder: Path) -> None:
    """Check that a folder has results or a dataset; ScenarioError if it has neither."""
    if not holds_results(folder) and not (folder / PLAN).is_file():
        found = "neither results nor a dataset" if folder.exists() else "no such folder"
        message = (
            f"{folder}: {found}; expected an output of plait run --out, plait compare --out or plait sweep"
        )
        raise otherwise(ScenarioError(message), folder, "dataset")


def of_results(results: Sequence[Result], folder: Path) -> Dataset:
    """Return the dataset of results: a row each, a point per network, no variables.

    `folder` is their place, for messages.
    """
    points: dict[Any, int] = {}
    names = list(dict.fromkeys(name for result in results for name in names_of(result)))
    rows = [
        {
            "point": points.setdefault(result.network, len(points)),
            "seed": result.seed,
            "scheduler": result.scheduler,
            "error": None,
            **{name: metric_if_known(result, name) for name in names},
        }
        for result in results
    ]
    texts = {"scheduler": pl.String, "error": pl.String}
    types: dict[str, Any] = {"point": pl.Int64, "seed": pl.Int64, **texts, **dict.fromkeys(names, pl.Float64)}
    about = {
        "name": " and ".join(dict.fromkeys(result.scenario for result in results)),
        "runs": len(results),
        "labels": list(dict.fromkeys(result.scheduler for result in results)),
        "variables": [],
        "metrics": names,
        "perturbed": True if any(result.repetition_of is not None for result in results) else None,
    }
    return Dataset(folder, about, pl.DataFrame(rows, schema=types).lazy())
