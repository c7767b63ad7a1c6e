"""A paper as data: its scenarios, schedulers, printed values and figures, read from `papers/<paper>/`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from plait._core import ScenarioError
from plait.models import PathModel

DATA = Path(__file__).parent / "data"
"""The papers; in the source tree a link to the folder `papers` at its top."""


@dataclass(frozen=True)
class PaperScheduler:
    """A scheduler of the evaluation: a label and the choice it stands for."""

    label: str
    choice: Mapping[str, Any]
    note: str = ""


@dataclass(frozen=True)
class PaperScenario:
    """A case of the paper. Without a `file` it is only put into the models."""

    id: str
    title: str
    paths: tuple[PathModel, ...]
    file: Path | None = None
    schedulers: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperFigure:
    """A figure drawn again: what kind, of which runs, and the window of time in seconds."""

    id: str
    kind: str
    title: str
    scenarios: tuple[str, ...]
    schedulers: tuple[str, ...]
    window: tuple[float, float] | None = None


@dataclass(frozen=True)
class Measure:
    """Metrics to be measured for each of the scenarios and schedulers."""

    scenarios: tuple[str, ...]
    schedulers: tuple[str, ...]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Headline:
    """What the paper is known for: a table with one line per scheduler, one column per (scenario, metric)."""

    schedulers: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Claim:
    """Bounds of a value for which the paper prints words, not a number."""

    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        """True if the value is within the bounds."""
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


@dataclass(frozen=True)
class Expected:
    """What the paper says of one metric: a value with a tolerance (a share of the value), or a claim.

    `note` says where it is printed, or how the words are read; `reason` why the measured value differs, where it does.
    """

    scenario: str
    scheduler: str
    metric: str
    paper: float | None = None
    tolerance: float | None = None
    claim: Claim | None = None
    note: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper's description, complete and checked."""

    id: str
    title: str
    authors: str
    venue: str
    summary: str
    baseline: str
    schedulers: Mapping[str, PaperScheduler]
    scenarios: Mapping[str, PaperScenario]
    figures: tuple[PaperFigure, ...]
    measures: tuple[Measure, ...]
    expected: Mapping[tuple[str, str, str], Expected]
    headline: Headline


def names() -> list[str]:
    """The papers that can be reproduced."""
    return sorted(folder.name for folder in DATA.iterdir() if (folder / "paper.toml").is_file())


def load_paper(name: str) -> Paper:
    """Read a paper's description.

    Raises:
        ScenarioError: there is no such paper, or its files name something that they do not define.
    """
    if name not in names():
        message = f"paper {name!r}: unknown; expected one of: {', '.join(names())}"
        raise ScenarioError(message)
    folder = DATA / name
    head = _read(folder / "paper.toml")
    values = _read(folder / "expected.toml")
    schedulers = [_make(PaperScheduler, table, folder) for table in head.pop("scheduler", [])]
    scenarios = [_scenario(table, folder) for table in head.pop("scenario", [])]
    figures = [_make(PaperFigure, table, folder) for table in head.pop("figure", [])]
    expected = [_expected(table, folder) for table in values.pop("expected", [])]
    headline = _headline(head.pop("headline"), folder)
    paper = Paper(
        **head,
        schedulers={one.label: one for one in schedulers},
        scenarios={one.id: one for one in scenarios},
        figures=tuple(figures),
        measures=tuple(_make(Measure, table, folder) for table in values.pop("measure", [])),
        expected={(one.scenario, one.scheduler, one.metric): one for one in expected},
        headline=headline,
    )
    _check(paper)
    return paper


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


Kind = TypeVar("Kind")


def _make(kind: type[Kind], table: Mapping[str, Any], folder: Path) -> Kind:
    """An instance from a table, lists as tuples; the table's keys must be fields of `kind`."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except TypeError as error:
        message = f"{folder.name}: {kind.__name__}: {error}"
        raise ScenarioError(message) from error


def _scenario(table: Mapping[str, Any], folder: Path) -> PaperScenario:
    paths = tuple(_make(PathModel, path, folder) for path in table["paths"])
    file = folder / table["file"] if "file" in table else None
    return _make(PaperScenario, {**table, "paths": paths, "file": file}, folder)


def _headline(table: Mapping[str, Any], folder: Path) -> Headline:
    columns = [(column["scenario"], column["metric"]) for column in table["columns"]]
    return _make(Headline, {**table, "columns": columns}, folder)


def _expected(table: Mapping[str, Any], folder: Path) -> Expected:
    claim = _make(Claim, table["claim"], folder) if "claim" in table else None
    return _make(Expected, {**table, "claim": claim}, folder)


def _check(paper: Paper) -> None:
    """Every name that is used is defined, and every run that is needed is asked for."""
    used: list[tuple[str, str]] = [(one.scenario, one.scheduler) for one in paper.expected.values()]
    parts: list[PaperFigure | Measure] = [*paper.figures, *paper.measures]
    for part in parts:
        used += [(scenario, scheduler) for scenario in part.scenarios for scheduler in part.schedulers]
    used += [
        (scenario, label) for scenario, _ in paper.headline.columns for label in paper.headline.schedulers
    ]
    for scenario, scheduler in used:
        if scenario not in paper.scenarios:
            message = f"{paper.id}: scenario {scenario!r} is not defined"
            raise ScenarioError(message)
        if scheduler != "model" and scheduler not in paper.scenarios[scenario].schedulers:
            message = f"{paper.id}: scenario {scenario!r} does not run scheduler {scheduler!r}"
            raise ScenarioError(message)
    for one in paper.scenarios.values():
        for scheduler in one.schedulers:
            if scheduler not in paper.schedulers:
                message = f"{paper.id}: scheduler {scheduler!r} is not defined"
                raise ScenarioError(message)
