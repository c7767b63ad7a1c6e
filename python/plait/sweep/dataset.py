"""Reading the dataset of a sweep."""

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
from plait.scenarios.repetition import identical_note
from plait.support.kinds import otherwise
from plait.support.words import expected
from plait.sweep.store import PLAN

PART_FILES = "part-*.parquet"
"""The files of a dataset's rows."""


@dataclass(frozen=True)
class Identical:
    """Points of a dataset whose repetitions are identical: in every metric, with every scheduler."""

    points: pl.Series
    of: int
    """Points in all."""
    seeds: int
    """Of a point."""
    perturbed: bool

    @property
    def note(self) -> str | None:
        """A sentence for tables and pages; None if repetitions differ at every point."""
        if self.points.is_empty():
            return None
        note = identical_note(self.seeds, perturb=self.perturbed)
        return note if self.of == 1 else f"at {len(self.points):,} of {self.of:,} points {note}"

    def once(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows (with columns point and seed) without those that repeat others."""
        if self.points.is_empty():
            return frame
        first = pl.col("seed") == pl.col("seed").min().over("point")
        return frame.filter(first | ~pl.col("point").is_in(self.points.to_list()))


def identical(rows: pl.LazyFrame, metrics: Sequence[str], *, perturbed: bool) -> Identical:
    """Where a dataset's repetitions are identical; a point at which a run failed is left out."""
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
    """The rows of a sweep, one per run, read as they are needed.

    folder: where it is. about: the plan in full, with the version of Plait that made it.
    """

    folder: Path
    about: Mapping[str, Any]

    @property
    def lazy(self) -> pl.LazyFrame:
        """The rows, not read yet, for datasets larger than memory."""
        # By name, not by a pattern: Polars leaves out empty files that a pattern finds.
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
        """Some columns only, which is faster; ScenarioError as for `frame`, or if there is no such column."""
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
        """How many runs the plan has."""
        return int(self.about["runs"])

    @property
    def schedulers(self) -> list[str]:
        """The labels of the schedulers, in the plan's order."""
        return list(self.about["labels"])

    @property
    def variables(self) -> list[str]:
        """The columns that vary."""
        return list(self.about["variables"])

    @property
    def metrics(self) -> list[str]:
        """The columns that were measured."""
        return list(self.about["metrics"])

    @property
    def perturbed(self) -> bool:
        """Whether its runs are repetitions (`plait.scenarios.repetition`), and not as written."""
        return self.about.get("perturbed") is not None

    @cached_property
    def identical(self) -> Identical:
        """Where its repetitions are identical; ScenarioError as for `frame`."""
        columns = ["point", "seed", "scheduler", "error", *self.metrics]
        rows = self._collect(self.lazy.select(columns))
        return identical(rows.lazy(), self.metrics, perturbed=self.perturbed)

    @property
    def failures(self) -> int:
        """How many runs failed."""
        return int(self._collect(self.lazy.select(pl.col("error").count())).item())

    @property
    def reasons(self) -> dict[str, str]:
        """Why runs of a scheduler failed: the most frequent reason, the first of equals; of those that failed."""
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
        """The first part that cannot be read by itself; the folder if each can."""
        for part in sorted(self.folder.glob(PART_FILES)):
            try:
                pl.read_parquet(part)
            except (pl.exceptions.PolarsError, OSError):
                return part
        return self.folder


def about(folder: Path) -> dict[str, Any]:
    """The plan in full, as the folder of a dataset has it.

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
    """The dataset in a folder, complete or not.

    Rows of an unfinished sweep are there as far as their parts are complete.

    Raises:
        ScenarioError: there is no dataset, or none of its parts is complete.
    """
    folder = Path(folder)
    told = about(folder)
    if not any(folder.glob(PART_FILES)):
        message = f"{folder}: no part is complete yet; run plait sweep with its plan again"
        raise ScenarioError(message)
    return Dataset(folder, told)
