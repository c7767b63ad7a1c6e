"""Reads the dataset of a sweep."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, cast

import polars as pl

from plait._core import ScenarioError
from plait.results.catalogue import LESS, MORE
from plait.results.metrics import direction
from plait.scenarios.own import is_own
from plait.scenarios.repetition import identical_note
from plait.scenarios.scheduler import distinct
from plait.statistics import axes
from plait.support.kinds import otherwise
from plait.support.words import expected
from plait.sweep.dataset_writer import PLAN
from plait.sweep.distinct import Distinct

PART_FILES = "part-*.parquet"
"""The files of a dataset's rows."""


UNITS = {"kbit": "kbit/s", "Mbit": "Mbit/s", "Gbit": "Gbit/s", "p": "packets"}
"""Units of scenario files, with their names in tables and figures."""
SCENARIO = "number of scenario"
"""A column that is not in files: the first point with the same scenario."""


@dataclass(frozen=True)
class Identical:
    """Scenarios of a dataset with identical repetitions: in every metric, with every scheduler."""

    points: pl.Series
    of: int
    """Number of all scenarios."""
    seeds: int
    """Number of seeds of a scenario."""
    perturbed: bool

    @property
    def note(self) -> str | None:
        """A sentence for tables and pages; None if repetitions differ at every point."""
        if self.points.is_empty():
            return None
        note = identical_note(self.seeds, perturb=self.perturbed)
        return note if self.of == 1 else f"at {len(self.points):,} of {self.of:,} points {note}"

    def once(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows (with columns `SCENARIO` and seed) without identical repetitions."""
        if self.points.is_empty():
            return frame
        first = pl.col("seed") == pl.col("seed").min().over(SCENARIO)
        return frame.filter(first | ~pl.col(SCENARIO).is_in(self.points.to_list()))


def identical(rows: pl.LazyFrame, metrics: Sequence[str], *, perturbed: bool) -> Identical:
    """Find the scenarios with identical repetitions; leave out those with a failed run.

    `rows` has the column `SCENARIO`.
    """
    runs = rows.select(
        SCENARIO,
        "point",
        "seed",
        "scheduler",
        failed=pl.col("error").is_not_null(),
        told=pl.struct(metrics).hash(),
    )
    of_scheduler = runs.group_by(SCENARIO, "point", "scheduler").agg(
        pl.col("seed").n_unique(), pl.col("told").n_unique(), pl.col("failed").any()
    )
    same = (pl.col("seed") > 1) & (pl.col("told") == 1) & ~pl.col("failed")
    points = of_scheduler.group_by(SCENARIO).agg(same.all().alias("same"), pl.col("seed").max()).collect()
    seeds = points["seed"].max() if len(points) else 0
    found = points.filter("same")[SCENARIO].sort()
    return Identical(found, len(points), int(cast("int", seeds)), perturbed)


def distinct_of(about: Mapping[str, Any]) -> Distinct | None:
    """Return the equal runs of a full plan; None for rows that are not of a plan."""
    if not about.get("axis"):
        return None
    steps = axes.all_steps(about["axis"], str(about.get("name", "plan")))
    labels = about["labels"]
    return Distinct(steps, about.get("set", {}), dict(zip(labels, about.get("written", labels), strict=True)))


def with_scenario(frame: pl.DataFrame, distinct: Distinct | None) -> pl.DataFrame:
    """Add the column `SCENARIO` to rows with their points."""
    numbers = frame["point"]
    if distinct is not None:
        numbers = pl.Series(distinct.scenarios(numbers.cast(pl.Int64).to_numpy()), dtype=pl.Int64)
    return frame.with_columns(numbers.alias(SCENARIO))


def once(frame: pl.DataFrame, distinct: Distinct | None) -> pl.DataFrame:
    """Return rows, with point, seed and scheduler, of which each is a run of its own."""
    if distinct is None:
        return frame
    points = frame["point"].cast(pl.Int64).to_numpy()
    first = pl.lit(pl.Series(points))
    for label in frame["scheduler"].unique():
        own = pl.Series(distinct.runs(label, points))
        first = pl.when(scheduler=label).then(pl.lit(own)).otherwise(first)
    keys = ["scheduler", "seed", "first of equals"]
    return frame.with_columns(first.alias(keys[-1])).unique(keys, maintain_order=True).drop(keys[-1])


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
        """The number of different runs of the plan (`plait.sweep.distinct`)."""
        if self.distinct is None or "counted" in self.about:
            return int(self.about.get("counted", self.about["runs"]))
        seeds = self.about["seeds"]
        seeds = seeds if isinstance(seeds, int) else len(seeds)
        return int(seeds * sum(map(self.distinct.count, self.schedulers)))

    @cached_property
    def distinct(self) -> Distinct | None:
        """The equal runs of the plan; None if the rows are not of a plan."""
        return distinct_of(self.about)

    def scheduler(self, name: str) -> str:
        """Return the label of a scheduler, which may be named as in the plan: ``FILE.py:CLASS``.

        Raises:
            ScenarioError: there is none of this name.
        """
        labels = self.schedulers
        bare = name.partition(":")[2] if is_own(name) else name
        for known in (labels, self.about.get("written", labels)):
            for one in (name, bare):
                if one in known:
                    return labels[list(known).index(one)]
        message = f"scheduler {name!r}: unknown{expected(name, labels)}"
        raise ScenarioError(message)

    def labelled(self, labels: Mapping[str, str]) -> Dataset:
        """Return the rows with other labels of schedulers, for tables and figures.

        Raises:
            ScenarioError: a scheduler is unknown, or two have the same label.
        """
        if not labels:
            return self
        new = {self.scheduler(name): text for name, text in labels.items()}
        names = [new.get(one, one) for one in self.schedulers]
        distinct(names, "--label")
        about = {**self.about, "labels": names, "written": self.about.get("written", self.schedulers)}
        return replace(self, held=self.lazy.with_columns(pl.col("scheduler").replace(new)), about=about)

    @cached_property
    def several(self) -> list[str]:
        """The variables with several values in the rows."""
        if not self.variables:
            return []
        levels = self._collect(self.lazy.select(pl.col(self.variables).n_unique())).row(0)
        return [name for name, count in zip(self.variables, levels, strict=True) if count > 1]

    @property
    def varied(self) -> list[str]:
        """The variables in which scenarios differ."""
        return [name for name in self.several if self.distinct is None or name in self.distinct.setting]

    @property
    def averaged(self) -> dict[str, list[str]]:
        """The variables in parameters of a scheduler, whose values its means average."""
        if self.distinct is None:
            return {}
        given = {label: set(self.distinct.variables(label)) for label in self.schedulers}
        found = {label: [name for name in self.several if name in names] for label, names in given.items()}
        return {label: names for label, names in found.items() if names}

    def pairs(self, *names: str) -> pl.DataFrame:
        """Return rows for statistics: point, `SCENARIO`, seed, scheduler, error and some columns.

        Identical repetitions are left out. ScenarioError as for `columns`.
        """
        frame = self.columns("point", "seed", "scheduler", "error", *names)
        return self.identical.once(with_scenario(frame, self.distinct))

    def unit(self, variable: str) -> str:
        """Return the unit of a variable in the plan's templates, such as ms of ``"{rtt}ms"``; or ""."""
        template = re.compile(rf"\{{(?:round\()?{re.escape(variable)}(?:\))?\}}([A-Za-z%]+)")
        templates = self.about.get("set", {})
        found = {match[1] for value in templates.values() if (match := template.fullmatch(str(value)))}
        unit = found.pop() if len(found) == 1 else ""
        return UNITS.get(unit, unit)

    def where(self, conditions: Mapping[str, Any]) -> Dataset:
        """Return the rows with these values of variables.

        Raises:
            ScenarioError: a variable is unknown, or has no such value.
        """
        if not conditions:
            return self
        rows = self.lazy
        for name, value in conditions.items():
            if name not in self.variables:
                message = f"variable {name!r}: unknown{expected(name, self.variables)}"
                raise ScenarioError(message)
            levels = self._collect(rows.select(pl.col(name).unique(maintain_order=True)))[name].to_list()
            same = [one for one in levels if _same(one, value)]
            if not same:
                known = [f"{one:g}" if isinstance(one, float) else str(one) for one in levels]
                message = f"{name}: no run with {value!r}{expected(str(value), known)}"
                raise ScenarioError(message)
            rows = rows.filter(pl.col(name).is_in(same))
        frame = self._collect(rows.select("point", "seed", "scheduler"))
        return replace(self, held=rows, about={**self.about, "counted": len(once(frame, self.distinct))})

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
        rows = with_scenario(self._collect(self.lazy.select(columns)), self.distinct)
        return identical(rows.lazy(), self.metrics, perturbed=self.perturbed)

    @property
    def failed(self) -> dict[str, int]:
        """The number of failed runs of each scheduler that has any; ScenarioError as for `frame`."""
        columns = ["point", "seed", "scheduler", "error"]
        rows = once(
            self._collect(self.lazy.filter(pl.col("error").is_not_null()).select(columns)), self.distinct
        )
        return {name: count for name in self.schedulers if (count := len(rows.filter(scheduler=name)))}

    @property
    def failures(self) -> int:
        """The number of failed runs."""
        return sum(self.failed.values())

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


def _same(level: Any, value: Any) -> bool:
    """Whether a variable's value is the given one, which may be text of a number."""
    if isinstance(level, str):
        return level == str(value)
    try:
        return math.isclose(level, float(value), rel_tol=1e-9)
    except ValueError:
        return False


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
