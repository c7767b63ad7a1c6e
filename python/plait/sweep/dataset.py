"""Reads the dataset of a sweep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, cast

import polars as pl

from plait._core import ScenarioError
from plait.results.catalogue import LESS, MORE
from plait.results.metrics import direction
from plait.scenarios.repetition import identical_note
from plait.support.kinds import otherwise
from plait.support.words import expected
from plait.sweep.dataset_writer import PLAN

PART_FILES = "part-*.parquet"
"""The files of a dataset's rows."""


@dataclass(frozen=True)
class Identical:
    """Points of a dataset with identical repetitions: in every metric, with every scheduler."""

    points: pl.Series
    of: int
    """Number of all points."""
    seeds: int
    """Number of seeds of a point."""
    perturbed: bool

    @property
    def note(self) -> str | None:
        """A sentence for tables and pages; None if repetitions differ at every point."""
        if self.points.is_empty():
            return None
        note = identical_note(self.seeds, perturb=self.perturbed)
        return note if self.of == 1 else f"at {len(self.points):,} of {self.of:,} points {note}"

    def once(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows (with columns point and seed) without identical repetitions."""
        if self.points.is_empty():
            return frame
        first = pl.col("seed") == pl.col("seed").min().over("point")
        return frame.filter(first | ~pl.col("point").is_in(self.points.to_list()))


def identical(rows: pl.LazyFrame, metrics: Sequence[str], *, perturbed: bool) -> Identical:
    """Find the points with identical repetitions; leave out points with a failed run."""
    runs = rows.select(
        "point", "seed", "scheduler", failed=pl.col("error").is_not_null(), told=pl.struct(metrics).hash()
    )
    of_scheduler = runs.group_by("point", "scheduler").agg(
        pl.col("seed").n_unique(), pl.col("told").n_unique(), pl.col("failed").any()
    )
    same = (pl.col("seed") > 1) & (pl.col("told") == 1) & ~pl.col("failed")
    points = of_scheduler.group_by("point").agg(same.all().alias("same"), pl.col("seed").max()).collect()
    seeds = points["seed"].max() if len(points) else 0
    return Identical(points.filter("same")["point"].sort(), len(points), int(cast("int", seeds)), perturbed)


@dataclass(frozen=True)
class Dataset:
    """The rows of a sweep, one per run, read on demand.

    folder: its folder. about: the full plan, with the version of Plait that made the dataset. held:
    the rows, if the folder has no parts with them (`plait.sweep.results`).
    """

    folder: Path
    about: Mapping[str, Any]
    held: pl.LazyFrame | None = None

    @property
    def lazy(self) -> pl.LazyFrame:
        """The rows, not read yet, for datasets larger than memory."""
        if self.held is not None:
            return self.held
        # By name, not by a pattern: with a pattern Polars leaves out empty files.
        return pl.scan_parquet(sorted(self.folder.glob(PART_FILES)))

    @property
    def frame(self) -> pl.DataFrame:
        """The rows.

        Raises:
            ScenarioError: a part cannot be read.
        """
        return self._collect(self.lazy)

    @property
    def names(self) -> list[str]:
        """The columns' names; ScenarioError as for `frame`."""
        return self._collect(self.lazy.limit(0)).columns

    def columns(self, *names: str) -> pl.DataFrame:
        """Read only some columns, which is faster; ScenarioError as for `frame`, or if unknown."""
        known = self.names
        for name in names:
            if name not in known:
                message = f"{self.folder}: column {name!r}: unknown{expected(name, known)}"
                raise ScenarioError(message)
        return self._collect(self.lazy.select(names))

    @property
    def name(self) -> str:
        """The plan's name."""
        return str(self.about["name"])

    @property
    def runs(self) -> int:
        """The number of runs of the plan."""
        return int(self.about["runs"])

    @property
    def schedulers(self) -> list[str]:
        """The labels of the schedulers, in the plan's order."""
        return list(self.about["labels"])

    @property
    def variables(self) -> list[str]:
        """The columns of variables."""
        return list(self.about["variables"])

    @property
    def metrics(self) -> list[str]:
        """The columns of metrics."""
        return list(self.about["metrics"])

    def direction(self, name: str) -> int:
        """Return 1 if more of a metric is better, −1 if less is, otherwise 0."""
        return direction_of(self.about, name)

    @property
    def perturbed(self) -> bool:
        """Whether its runs are repetitions (`plait.scenarios.repetition`)."""
        return self.about.get("perturbed") is not None

    @cached_property
    def identical(self) -> Identical:
        """The points with identical repetitions; ScenarioError as for `frame`."""
        columns = ["point", "seed", "scheduler", "error", *self.metrics]
        rows = self._collect(self.lazy.select(columns))
        return identical(rows.lazy(), self.metrics, perturbed=self.perturbed)

    @property
    def failures(self) -> int:
        """The number of failed runs."""
        return int(self._collect(self.lazy.select(pl.col("error").count())).item())

    @property
    def reasons(self) -> dict[str, str]:
        """For each scheduler with failed runs, the most frequent reason, the first of equals."""
        frame = self._collect(self.lazy.filter(pl.col("error").is_not_null()).select("scheduler", "error"))
        return {
            label: Counter(own["error"]).most_common(1)[0][0]
            for label in self.schedulers
            if len(own := frame.filter(scheduler=label))
        }

    def _collect(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        try:
            return lazy.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            first = str(error).split("\n", 1)[0]
            message = f"{self._unreadable()}: cannot be read as Parquet: {first}"
            raise ScenarioError(message) from error

    def _unreadable(self) -> Path:
        """Return the first part that cannot be read by itself; the folder if each can."""
        for part in sorted(self.folder.glob(PART_FILES)):
            try:
                pl.read_parquet(part)
            except (pl.exceptions.PolarsError, OSError):
                return part
        return self.folder


def direction_of(about: Mapping[str, Any], name: str) -> int:
    """Return the direction of a metric (`direction`), which may be one of the plan's own."""
    for one in about.get("metric", []):
        if one["name"] == name:
            return MORE if one["better"] == "more" else LESS
    return direction(name)


def about(folder: Path) -> dict[str, Any]:
    """Return the full plan from the folder of a dataset.

    Raises:
        ScenarioError: there is no dataset.
    """
    file = folder / PLAN
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"{folder}: not a sweep's dataset: {file.name}: {reason}"
        raise otherwise(ScenarioError(message), folder, "dataset") from error
    lists = ("labels", "variables", "metrics")
    if not isinstance(document, dict) or not all(isinstance(document.get(key), list) for key in lists):
        message = f"{file}: not a plan; expected an object with lists {', '.join(lists)}"
        raise ScenarioError(message)
    return document


def read(folder: str | PathLike[str]) -> Dataset:
    """Return the dataset in a folder, complete or not.

    An unfinished sweep has the rows of its complete parts.

    Raises:
        ScenarioError: there is no dataset, or none of its parts is complete.
    """
    folder = Path(folder)
    told = about(folder)
    if not any(folder.glob(PART_FILES)):
        message = f"{folder}: no part is complete yet; run plait sweep with its plan again"
        raise ScenarioError(message)
    return Dataset(folder, told)
