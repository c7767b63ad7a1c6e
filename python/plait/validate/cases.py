"""The cases of a validation: scenarios with their schedulers and seeds, read from a description."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

from plait import _core
from plait._core import ScenarioError
from plait.scenarios.changes import change
from plait.scenarios.scenario import Scenario, from_table, load
from plait.scenarios.template import fill
from plait.scenarios.units import rate_text
from plait.scenarios.workloads import ConstantRate
from plait.statistics import axes
from plait.support.papers import DATA as PAPERS
from plait.support.words import expected
from plait.validate import space
from plait.validate.regions import facets, has_chance

HERE = Path(__file__).parent
KEYS = ("group", "id", "title", "scenario", "schedulers", "axis", "design", "cycle", "set", "draw")
DIGITS = 3
"""Significant digits of a design's values."""

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A scenario that both engines run.

    source: a scenario file, or its table. changes: changes of the scenario. simulator: further
    changes for the simulator.
    """

    id: str
    group: str
    title: str
    source: Path | Table
    schedulers: tuple[str, ...]
    changes: Table
    simulator: Table = field(default_factory=dict)

    @cached_property
    def scenario(self) -> Scenario:
        """The kernel's scenario; ScenarioError if it is not valid."""
        return self._load({})

    @cached_property
    def simulated(self) -> Scenario:
        """The simulator's scenario; ScenarioError if it is not valid."""
        return self._load(self.simulator)

    @cached_property
    def has_chance(self) -> bool:
        """Whether an engine draws random numbers in it."""
        return has_chance(json.loads(self.scenario.json))

    def _load(self, more: Table) -> Scenario:
        changes = {**self.changes, **more}
        if isinstance(self.source, Path):
            return replace(load(self.source, changes), name=self.id)
        return from_table({**change(self.source, changes, name=self.id), "name": self.id}, self.id)

    @cached_property
    def facets(self) -> Mapping[str, str]:
        """The place of the case in the domain."""
        return facets(json.loads(self.scenario.json))

    @property
    def offered_bps(self) -> float | None:
        """The mean rate of an application with its own rate; None for endless data or a file."""
        workload = self.scenario.workload
        if isinstance(workload, ConstantRate):
            return float(_core.parse_rate(rate_text(workload.rate)))
        return None


@dataclass(frozen=True)
class Explanation:
    """The cause of differences in some cases: a mechanism that only one engine has."""

    cases: tuple[str, ...]
    mechanism: str
    schedulers: tuple[str, ...] = ("*",)

    def covers(self, case: str, scheduler: str) -> bool:
        """Whether it applies to a case with a scheduler."""
        return _any(case, self.cases) and _any(scheduler, self.schedulers)


@dataclass(frozen=True)
class Goals:
    """The required accuracy of the simulator, in percent.

    goodput, delay: bounds of percentiles of differences without sign. beyond: share of rows beyond
    noise. ranking: share of pairs of schedulers ranked alike, of those with goodputs in the kernel
    that are `apart` percent and more than noise apart.
    """

    goodput: Mapping[int, float]
    delay: Mapping[int, float]
    beyond: float
    ranking: float
    apart: float


@dataclass(frozen=True)
class Runs:
    """The number of runs of a case with a scheduler, each with another seed.

    simulator: runs of the simulator. least, most: bounds for the kernel; `plait.validate.enough`
    chooses between them. error: goal for the standard error of the kernel's mean, as a share of the
    highest percentile's goal.
    """

    simulator: int
    least: int
    most: int
    error: float


@dataclass(frozen=True)
class Validation:
    """The cases to run, and the required accuracy."""

    cases: tuple[Case, ...]
    quick: tuple[str, ...]
    goals: Goals
    runs: Runs
    explanations: tuple[Explanation, ...] = ()

    def is_quick(self, case: Case) -> bool:
        """Whether a case is one of the quick selection."""
        return _any(case.id, self.quick)

    def select(self, patterns: Sequence[str] = (), *, quick: bool = False) -> Validation:
        """Select the cases with these names, which may have * and ?; with `quick` only quick cases.

        Raises:
            ScenarioError: a pattern matches no case, or no selected case is quick.
        """
        for pattern in patterns:
            if not any(fnmatchcase(case.id, pattern) for case in self.cases):
                known = [case.id for case in self.cases]
                message = f"case {pattern!r}: unknown{expected(pattern, known)}"
                raise ScenarioError(message)
        chosen = [
            case
            for case in self.cases
            if (not patterns or _any(case.id, patterns)) and (not quick or self.is_quick(case))
        ]
        if not chosen:
            message = f"no case is both quick and {' or '.join(patterns)}; quick are: {', '.join(self.quick)}"
            raise ScenarioError(message)
        return replace(self, cases=tuple(chosen))


def load_validation(
    file: Path | None = None,
    *,
    plain: bool = False,
    draw: str | None = None,
    points: int | None = None,
    control: str | None = None,
) -> Validation:
    """Read a description.

    Args:
        file: by default `linux.toml` beside this file.
        plain: do not make the simulator behave like the other engine.
        draw: the name or the seed of a draw from the domain, whose cases are added; families that
            belong to another draw are left out. Without it there is no draw, and all families are
            used.
        points: number of points to draw; by default the number in the domain's description.
        control: the congestion control of all drawn cases, instead of the drawn one; then there are
            no other cases.

    Raises:
        ScenarioError: a key is unknown, two cases have the same name, or there is no such draw.
    """
    file = file or HERE / "linux.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    simulator = table.get("plain", {}) if plain else {}
    cases = [
        case
        for family in table["family"]
        if control is None and (draw is None or family.get("draw", draw) == draw)
        for case in _expand(family, file, table.get("both", {}), simulator)
    ]
    if draw is not None:
        cases += _drawn(draw, points, control, simulator)
    for first, second in itertools.combinations(cases, 2):
        if first.id == second.id:
            message = f"{file.name}: case {first.id}: there are two of that name"
            raise ScenarioError(message)
    quick = tuple(table.get("quick", ()))
    unknown = {
        name
        for name in quick
        # Drawn cases exist only with a draw.
        if draw is None and "*" not in name and not any(fnmatchcase(case.id, name) for case in cases)
    }
    if unknown:
        message = f"{file.name}: quick: no such case: {', '.join(sorted(unknown))}"
        raise ScenarioError(message)
    explanations = [
        Explanation(tuple(one["cases"]), one["mechanism"], tuple(one.get("schedulers", ("*",))))
        for one in table.get("explanation", ())
    ]
    return Validation(tuple(cases), quick, _goals(table["goals"]), Runs(**table["runs"]), tuple(explanations))


def _goals(table: Table) -> Goals:
    def bounds(name: str) -> dict[int, float]:
        return {int(key.removeprefix("p")): value for key, value in table[name].items()}

    return Goals(bounds("goodput"), bounds("delay"), table["beyond"], table["ranking"], table["apart"])


def _drawn(draw: str, points: int | None, control: str | None, simulator: Table) -> Iterator[Case]:
    """Yield the cases of a draw."""
    for drawn in space.draw(draw, points, control):
        yield Case(
            id=drawn.id,
            group=draw,
            title=drawn.title,
            source=drawn.table,
            schedulers=drawn.schedulers,
            changes={},
            simulator=simulator,
        )


def _any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _expand(family: Table, file: Path, both: Table, simulator: Table) -> Iterator[Case]:
    axes.check_keys(family, KEYS, f"{file.name}: family")
    kind, _, rest = family["scenario"].partition("/")
    for variables in _variables(family):
        yield Case(
            id=fill(family["id"], variables),
            group=family["group"],
            title=fill(family["title"], variables),
            source=PAPERS / rest if kind == "papers" else file.parent / family["scenario"],
            schedulers=tuple(family["schedulers"]),
            changes={
                **both,
                **{key: _filled(value, variables) for key, value in family.get("set", {}).items()},
            },
            simulator=simulator,
        )


def _filled(template: Any, variables: Table) -> Any:
    """Fill in the template; a template that is only a variable gives its value unchanged."""
    if isinstance(template, Mapping):
        return {key: _filled(value, variables) for key, value in template.items()}
    if isinstance(template, str) and template[1:-1] in variables and template == f"{{{template[1:-1]}}}":
        return variables[template[1:-1]]
    return fill(template, variables)


def _variables(family: Table) -> Iterator[dict[str, Any]]:
    """Yield the variables of each case: axes' values combined with every point of the design."""
    points = _points(family["design"]) if "design" in family else [{}]
    number = itertools.count()
    for steps in axes.product(axes.all_steps(family.get("axis", ()), "family")):
        for point in points:
            index = next(number)
            cycle = {key: values[index % len(values)] for key, values in family.get("cycle", {}).items()}
            yield {**steps, **point, **cycle, "number": index + 1}


def _points(design: Table) -> list[dict[str, Any]]:
    """Return the points of a design, rounded."""
    return [
        {name: float(f"{value:.{DIGITS}g}") for name, value in point.items()}
        for point in axes.steps(design, "family: design")
    ]
