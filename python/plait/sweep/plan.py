"""The plan of a sweep: a base scenario, what varies, schedulers and seeds.

    scenario = "my-links.toml"                  # relative to the plan
    schedulers = ["lowest-rtt", "daps"]         # as on the command line, tables with parameters, or "all"
    seeds = 5                                   # 1 to 5; or a list
    set = { "path.lte.rtt" = "{rtt}ms", "transport.receive_buffer" = "{round(buffer)}kB" }

    [[axis]]                                    # see `plait.statistics.axes`; several axes make a grid
    rtt = { range = [20, 200], points = 7 }

    [[axis]]
    buffer = { log-range = [32, 2048], points = 7 }

Runs are numbered from 0: points outside, then seeds, then schedulers. What a run does follows from plan and number.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from plait import _core
from plait._core import ScenarioError
from plait.scenarios.changes import change
from plait.scenarios.scheduler import Source, label, override, parse_choice, read_source, schedulers
from plait.scenarios.template import fill
from plait.statistics import axes
from plait.support.machine import plait_version
from plait.sweep.columns import Columns

KEYS = ("name", "scenario", "schedulers", "seeds", "set", "axis")
MOST_RUNS = 2**32
"""Of one plan."""
MOST_CHECKED = 10_000
"""Points whose scenario is validated before the first run."""


@dataclass(frozen=True)
class Contender:
    """A scheduler of the plan: its label, and its choice as JSON or the source of a class."""

    label: str
    built_in: str | None = None
    source: Source | None = None


@dataclass(frozen=True)
class Run:
    """A run of the plan: its number, and where that stands."""

    index: int
    point: int
    seed: int
    contender: Contender


class Plan:
    """What a sweep runs.

    Args:
        table: as a plan file has it; see the module. `scenario` may be a table too.
        base: the folder in which the scenario, traces and classes of schedulers are found.
        origin: names the plan in messages; its name, without another.

    Raises:
        ScenarioError: the plan, or a scenario that it makes, is not valid. Of very many points a sample is looked at.
    """

    def __init__(
        self, table: Mapping[str, Any], base: str | PathLike[str] = "", origin: str = "plan"
    ) -> None:
        self.origin, folder = origin, Path(base)
        _check_keys(table, origin)
        self.name = str(table.get("name", Path(origin).stem))
        self.table, self.base = _scenario(table["scenario"], folder, origin)
        self.seeds = _seeds(table.get("seeds", 1), origin)
        self.contenders = _contenders(table["schedulers"], folder, origin)
        self.set = _mapping(table.get("set", {}), f"{origin}: set")
        for key in ("seed", "scheduler"):
            if key in self.set:
                message = f"{origin}: set: {key}: cannot vary here; expected {key}s of the plan"
                raise ScenarioError(message)
        self.axes: Sequence[Mapping[str, Any]] = table.get("axis", [])
        if not isinstance(self.axes, list) or not all(isinstance(axis, dict) for axis in self.axes):
            message = f"{origin}: axis: expected tables, [[axis]]"
            raise ScenarioError(message)
        self.steps = [
            axes.steps(axis, f"{origin}: axis {number}") for number, axis in enumerate(self.axes, 1)
        ]
        self.variables = tuple(self._variables())
        self.points = math.prod(len(steps) for steps in self.steps)
        if len(self) > MOST_RUNS:
            message = f"{origin}: {len(self):,} runs; expected at most {MOST_RUNS:,}"
            raise ScenarioError(message)
        self._validate()

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Plan:
        """Read a plan file (TOML).

        Raises:
            ScenarioError: see the class.
        """
        return cls(_toml(Path(file)), Path(file).parent, fspath(file))

    def __len__(self) -> int:
        return self.points * len(self.seeds) * len(self.contenders)

    def run(self, index: int) -> Run:
        """The run of this number."""
        rest, contender = divmod(index, len(self.contenders))
        point, seed = divmod(rest, len(self.seeds))
        return Run(index, point, self.seeds[seed], self.contenders[contender])

    def values(self, point: int) -> axes.Step:
        """The variables at a point."""
        values: axes.Step = {}
        for steps in reversed(self.steps):
            point, at = divmod(point, len(steps))
            values = {**steps[at], **values}
        return values

    def scenario(self, point: int) -> str:
        """The scenario at a point, as the JSON of its table."""
        return json.dumps(change(self.table, self._changes(self.values(point)), name=self.origin))

    def where(self, point: int) -> str:
        """A point in words, for messages."""
        values = ", ".join(f"{name} = {value}" for name, value in self.values(point).items())
        return f"{self.origin}: point {point}" + (f" ({values})" if values else "")

    @cached_property
    def columns(self) -> Columns:
        """The columns of the dataset."""
        document = json.loads(self._canonical(0))
        paths, flows = ([one["name"] for one in document.get(key, [])] for key in ("path", "flow"))
        kinds = {
            name: _kind([step[name] for steps in self.steps for step in steps if name in step])
            for name in self.variables
        }
        queues = list(dict.fromkeys(queue for point in self._disciplines() for queue in self._queues(point)))
        return Columns(kinds, paths=paths, flows=flows, queues=queues, place=self.origin)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The plan in full: two plans with the same identity make the same dataset, whatever their names and places."""
        return {
            "format": 1,
            "version": plait_version(),
            "scenario": self.table,
            "set": dict(self.set),
            "axis": list(self.axes),
            "schedulers": [
                one.label if one.source is None else {"class": one.label, "sha256": _sha256(one.source.text)}
                for one in self.contenders
            ],
            "seeds": len(self.seeds) if isinstance(self.seeds, range) else list(self.seeds),
            "traces": {name: _sha256((self.base / name).read_bytes()) for name in sorted(self._traces())},
            # Designs are drawn by libraries, whose versions may draw differently.
            "points": _sha256(json.dumps(self.steps)),
        }

    def _changes(self, values: axes.Step) -> dict[str, Any]:
        return {key: fill(template, values) for key, template in self.set.items()}

    def _canonical(self, point: int) -> str:
        return _core.parse_scenario(self.scenario(point), self.where(point), fspath(self.base), format="json")

    def _queues(self, point: int) -> Iterator[tuple[str, str]]:
        """The active queues at a point: the name of the link or of the path whose wire it is, and the direction."""
        document = json.loads(self._canonical(point))
        for one in (*document["path"], *document.get("link", [])):
            for direction in ("forward", "backward"):
                if "discipline" in one.get(direction, {}):
                    yield one["name"], direction

    def _disciplines(self) -> Iterable[int]:
        """A point for each way in which the plan sets queueing disciplines: their columns are those of all points."""
        setting = {key: value for key, value in self.set.items() if "discipline" in f"{key} {value}"}
        names = _used(setting, self.values(0))
        points: dict[tuple[Any, ...], int] = {}
        for point in range(self.points) if names else (0,):
            values = self.values(point)
            points.setdefault(tuple(values[name] for name in sorted(names)), point)
        return points.values()

    def _variables(self) -> Iterator[str]:
        seen: set[str] = set()
        for number, steps in enumerate(self.steps, 1):
            for name in steps[0]:
                if name in seen:
                    message = f"{self.origin}: axis {number}: {name}: an axis before has it already"
                    raise ScenarioError(message)
                seen.add(name)
                yield name

    def _validate(self) -> None:
        """Every scheduler at the first point; the scenarios of all points, or of many."""
        _ = self.columns
        for contender in self.contenders:
            if contender.source is None:
                _core.Job(self._canonical(0), scheduler=contender.built_in)
            else:
                override(contender.source.load())
        unused = set(self.variables) - _used(self.set, self.values(0))
        if unused:
            example = f"'{{{min(unused)}}}ms'"
            names = ", ".join(sorted(unused))
            message = f"{self.origin}: set: nothing uses {names}; expected a template like {example}"
            raise ScenarioError(message)
        step = -(-self.points // MOST_CHECKED)
        for point in {*range(0, self.points, step), self.points - 1}:
            self._canonical(point)

    def _traces(self) -> set[str]:
        """The files of recorded links that the scenarios name."""
        changing = {key: value for key, value in self.set.items() if key.split(".")[-1] == "trace"}
        filled = {
            str(fill(template, self.values(point)))
            for template in changing.values()
            for point in range(self.points)
        }
        return filled | set(_trace_names(self.table))


def _check_keys(table: Mapping[str, Any], origin: str) -> None:
    for key in table:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            message = f"{origin}: {key}: unknown key; {hint}expected one of: {', '.join(KEYS)}"
            raise ScenarioError(message)
    for key in ("scenario", "schedulers"):
        if key not in table:
            message = f"{origin}: {key}: missing"
            raise ScenarioError(message)


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}"
        raise ScenarioError(message) from error


def _scenario(given: Any, folder: Path, origin: str) -> tuple[dict[str, Any], Path]:
    """The base scenario's table, with its name, and the folder in which its traces are."""
    if isinstance(given, str):
        file = folder / given
        table = _toml(file)
        return {"name": file.stem, **table}, file.parent
    return {"name": Path(origin).stem, **_mapping(given, f"{origin}: scenario")}, folder


def _mapping(given: Any, place: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        message = f"{place}: expected a table, got {given!r}"
        raise ScenarioError(message)
    return given


def _seeds(given: Any, origin: str) -> Sequence[int]:
    if _natural(given) and 0 < given <= MOST_RUNS:
        return range(1, given + 1)
    whole = isinstance(given, list) and given and all(map(_natural, given))
    if not whole or len(set(given)) < len(given) or max(given) >= 2**63:
        message = f"{origin}: seeds: expected how many, or a list of different whole numbers, got {given!r}"
        raise ScenarioError(message)
    return tuple(given)


def _natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _contenders(given: Any, folder: Path, origin: str) -> tuple[Contender, ...]:
    if given == "all":
        given = [one["name"] for one in schedulers()]
    if not isinstance(given, list) or not given:
        message = f'{origin}: schedulers: expected a list of schedulers, or "all", got {given!r}'
        raise ScenarioError(message)
    contenders = tuple(_contender(one, folder, origin) for one in given)
    labels = [one.label for one in contenders]
    for name in labels:
        if labels.count(name) > 1:
            message = f"{origin}: schedulers: {name!r} is there twice"
            raise ScenarioError(message)
    return contenders


def _contender(given: Any, folder: Path, origin: str) -> Contender:
    if isinstance(given, str):
        source = read_source(given, folder)
        if source is not None:
            return Contender(source.name, source=source)
        given = parse_choice(given)
    if not isinstance(given, str | dict):
        message = f"{origin}: schedulers: expected a name or a table with a name, got {given!r}"
        raise ScenarioError(message)
    return Contender(label(given), built_in=override(given).built_in)


def _kind(values: Sequence[axes.Value]) -> Any:
    if isinstance(values[0], str):
        return pl.String
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


def _used(templates: Mapping[str, Any], values: axes.Step) -> set[str]:
    """The variables without which a template cannot be filled."""
    used = set()
    for name in values:
        rest = {key: value for key, value in values.items() if key != name}
        for template in templates.values():
            try:
                fill(template, rest)
            except ScenarioError:
                used.add(name)
                break
    return used


def _trace_names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "trace" and isinstance(inner, str):
                yield inner
            else:
                yield from _trace_names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _trace_names(inner)


def _sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()
