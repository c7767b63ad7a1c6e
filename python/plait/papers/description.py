"""A paper as data: scenarios, schedulers, printed values and figures, from `papers/<paper>/`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from plait._core import ScenarioError
from plait.engines.names import EngineName
from plait.papers.adaptation import Adaptation, Skip
from plait.papers.family import Member, expand
from plait.scenarios.models import PathModel
from plait.scenarios.template import Variables
from plait.support import words
from plait.support.papers import DATA, names


@dataclass(frozen=True)
class PaperScheduler:
    """A scheduler of the evaluation: its label and its choice.

    `paths` and `set` change the scenario for it: single-path TCP, which is compared with the
    schedulers, uses one of the paths with another protocol.
    """

    label: str
    choice: Mapping[str, Any]
    note: str = ""
    paths: tuple[str, ...] = ()
    set: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PaperScenario:
    """A case of the paper. Without a `file` only the models use it.

    With several `members` (seeds, points of a design) its metrics are statistics over them.
    `variables` are those of its family.
    """

    id: str
    title: str
    paths: tuple[PathModel, ...] = ()
    file: Path | None = None
    schedulers: tuple[str, ...] = ()
    members: tuple[Member, ...] = (Member(),)
    variables: Variables = field(default_factory=dict)


@dataclass(frozen=True)
class PaperFigure:
    """A reproduced figure: its kind, its runs, and its window of time in seconds.

    Some kinds draw a `metric`, or draw over a `variable` of a family; `log` makes that axis
    logarithmic. `beside` are schedulers that are drawn as a mark beside the others.
    """

    id: str
    kind: str
    title: str
    scenarios: tuple[str, ...]
    schedulers: tuple[str, ...]
    window: tuple[float, float] | None = None
    metric: str = ""
    variable: str = ""
    label: str = ""
    log: bool = False
    beside: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measure:
    """Metrics to be measured for each of the scenarios and schedulers."""

    scenarios: tuple[str, ...]
    schedulers: tuple[str, ...]
    metrics: tuple[str, ...]

    def cells(self) -> Iterator[tuple[tuple[str, str], str]]:
        """Yield each (scenario, scheduler) with each metric."""
        for scenario in self.scenarios:
            for scheduler in self.schedulers:
                for name in self.metrics:
                    yield (scenario, scheduler), name


@dataclass(frozen=True)
class Headline:
    """The paper's main result: a table of schedulers (lines) and (scenario, metric) (columns)."""

    schedulers: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Claim:
    """Bounds of a value that the paper describes in words, not as a number.

    With `interval` the whole confidence interval must be within the bounds, which excludes chance.
    """

    at_least: float | None = None
    at_most: float | None = None
    interval: bool = False

    def holds(self, value: float) -> bool:
        """Return whether the value is within the bounds."""
        return (self.at_least is None or value >= self.at_least) and (
            self.at_most is None or value <= self.at_most
        )


@dataclass(frozen=True)
class Expected:
    """The paper's statement about one metric: a value with a relative tolerance, or a claim.

    `note` has its place in the paper, or the interpretation of its words. `reason` explains a
    different measured value.
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
class ReceiveOrder:
    """The printed order of packet arrivals; packets are numbered from 1."""

    scenario: str
    scheduler: str
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Paper:
    """A paper's description, complete and checked.

    `rates` is the unit of its rates. `varied` are the transport options that differ between its
    scenarios; all other options are the same everywhere. `expected` has the statements for
    `engine`, and `adaptation` its changes. `core_seconds` is the measured duration of a
    reproduction in the simulator on one core.
    """

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
    orders: Mapping[tuple[str, str], ReceiveOrder] = field(default_factory=dict)
    rates: str = "kbit/s"
    varied: tuple[str, ...] = ("receive_buffer",)
    engine: EngineName = "sim"
    adaptation: Adaptation = field(default_factory=Adaptation)
    core_seconds: float = 0.0


def load_paper(name: str, engine: EngineName = "sim") -> Paper:
    """Read a paper's description for an engine.

    Raises:
        ScenarioError: there is no such paper, or its files use an undefined name.
    """
    if name not in names():
        message = f"paper {name!r}: unknown{words.expected(name, names())}"
        raise ScenarioError(message)
    folder = DATA / name
    head = _read(folder / "paper.toml")
    values = _read(folder / "expected.toml")
    schedulers = [_make(PaperScheduler, table, folder) for table in head.pop("scheduler", [])]
    scenarios = [_scenario(table, folder) for table in head.pop("scenario", [])]
    for family in head.pop("family", []):
        scenarios += [_make(PaperScenario, table, folder) for table in expand(family, folder)]
    ids = [one.id for one in scenarios]
    figures = [_make(PaperFigure, _spread(table, ids), folder) for table in head.pop("figure", [])]
    expected = [
        _expected(one, folder) for table in values.pop("expected", []) for one in _each(table, ids, folder)
    ]
    measures = [_make(Measure, _spread(table, ids), folder) for table in values.pop("measure", [])]
    orders = [_make(ReceiveOrder, table, folder) for table in values.pop("receive_order", [])]
    by_key = {(one.scenario, one.scheduler, one.metric): one for one in expected}
    adaptation = Adaptation()
    if engine != "sim":
        table = _read(folder / f"{engine}.toml") if name in names(engine) else {}
        skips = [_make(Skip, _spread(one, ids), folder) for one in table.pop("skip", [])]
        adaptation = Adaptation(table.pop("set", {}), skips)
        by_key = _adapted(
            by_key, [one for given in table.pop("expected", []) for one in _each(given, ids, folder)], folder
        )
    headline = _headline(head.pop("headline"), folder)
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in head.items()
    }
    paper = Paper(
        **fields,
        schedulers={one.label: one for one in schedulers},
        scenarios={one.id: one for one in scenarios},
        figures=tuple(figures),
        measures=tuple(measures),
        expected=by_key,
        headline=headline,
        orders={(one.scenario, one.scheduler): one for one in orders},
        engine=engine,
        adaptation=adaptation,
    )
    _check(paper)
    return paper


def restricted(paper: Paper, patterns: Sequence[str]) -> Paper:
    """Return the paper with only the scenarios whose ids match one of the patterns.

    Raises:
        ScenarioError: a pattern matches none.
    """
    for pattern in patterns:
        if not any(fnmatchcase(one, pattern) for one in paper.scenarios):
            message = (
                f"{paper.id}: scenario {pattern!r}: none; expected some of: {', '.join(paper.scenarios)}"
            )
            raise ScenarioError(message)
    kept = {
        key: one
        for key, one in paper.scenarios.items()
        if any(fnmatchcase(key, pattern) for pattern in patterns)
    }

    def only(parts: Iterable[Part]) -> tuple[Part, ...]:
        remaining = [
            replace(part, scenarios=tuple(one for one in part.scenarios if one in kept)) for part in parts
        ]
        return tuple(part for part in remaining if part.scenarios)

    return replace(
        paper,
        scenarios=kept,
        figures=only(paper.figures),
        measures=only(paper.measures),
        expected={
            key: one
            for key, one in paper.expected.items()
            if key[0] in kept and _other_scenario(one.metric) in {None, *kept}
        },
        headline=replace(
            paper.headline, columns=tuple(one for one in paper.headline.columns if one[0] in kept)
        ),
        orders={key: one for key, one in paper.orders.items() if key[0] in kept},
    )


def _other_scenario(metric: str) -> str | None:
    """Return the scenario that a metric compares with."""
    return metric.split(".")[1] if metric.startswith("since.") else None


def _adapted(
    expected: Mapping[tuple[str, str, str], Expected], tables: Sequence[Mapping[str, Any]], folder: Path
) -> dict[tuple[str, str, str], Expected]:
    """Return the statements for another engine: the paper's without reasons, with replacements."""
    made = {key: replace(one, reason="") for key, one in expected.items()}
    for table in tables:
        given = _expected(table, folder)
        key = (given.scenario, given.scheduler, given.metric)
        base = made.get(key)
        stated = {name: getattr(given, name) for name in table}
        made[key] = given if base is None else replace(base, **stated)
    return made


def _read(file: Path) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8"))


Kind = TypeVar("Kind")


Part = TypeVar("Part", PaperFigure, Measure)


def _make(kind: type[Kind], table: Mapping[str, Any], folder: Path) -> Kind:
    """Create an instance from a table, with lists as tuples; its keys must be fields of `kind`."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    try:
        return kind(**values)
    except TypeError as error:
        message = f"{folder.name}: {kind.__name__}: {error}"
        raise ScenarioError(message) from error


def _scenario(table: Mapping[str, Any], folder: Path) -> PaperScenario:
    paths = tuple(_make(PathModel, path, folder) for path in table.get("paths", []))
    file = folder / table["file"] if "file" in table else None
    return _make(PaperScenario, {**table, "paths": paths, "file": file}, folder)


def _spread(table: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Replace a table's scenario patterns, such as ``H_*``, by the matching scenarios."""
    found = [
        one
        for pattern in table["scenarios"]
        for one in ([one for one in ids if fnmatchcase(one, pattern)] or [pattern])
    ]
    return {**table, "scenarios": list(dict.fromkeys(found))}


def _each(table: Mapping[str, Any], ids: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield one statement per scenario and scheduler from a statement about several."""
    rest = dict(table)
    try:
        scenarios = rest.pop("scenarios", None) or [rest.pop("scenario")]
        schedulers = rest.pop("schedulers", None) or [rest.pop("scheduler")]
    except KeyError as error:
        message = f"{folder.name}: expected: {error} is missing"
        raise ScenarioError(message) from error
    for scenario in _spread({"scenarios": scenarios}, ids)["scenarios"]:
        for scheduler in schedulers:
            yield {**rest, "scenario": scenario, "scheduler": scheduler}


def _headline(table: Mapping[str, Any], folder: Path) -> Headline:
    columns = [(column["scenario"], column["metric"]) for column in table["columns"]]
    return _make(Headline, {**table, "columns": columns}, folder)


def _expected(table: Mapping[str, Any], folder: Path) -> Expected:
    claim = _make(Claim, table["claim"], folder) if "claim" in table else None
    return _make(Expected, {**table, "claim": claim}, folder)


def _check(paper: Paper) -> None:
    """Check that every used name is defined, and that the paper requests every necessary run."""
    used: list[tuple[str, str]] = [
        *((one.scenario, one.scheduler) for one in paper.expected.values()),
        *paper.orders,
    ]
    used += [
        (scenario, scheduler)
        for skip in paper.adaptation.skip
        for scenario in skip.scenarios
        for scheduler in (
            skip.schedulers or paper.scenarios.get(scenario, PaperScenario(scenario, "")).schedulers
        )
    ]
    parts: list[PaperFigure | Measure] = [*paper.figures, *paper.measures]
    for part in parts:
        used += [
            (scenario, scheduler)
            for scenario in part.scenarios
            for scheduler in (*part.schedulers, *getattr(part, "beside", ()))
        ]
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
