"""The plan of a sweep: a base scenario, variables, schedulers and seeds.

    scenario = "my-links.toml"                  # relative to the plan
    schedulers = ["lowest-rtt", "daps"]         # as for the command; tables, "all", "mine.py:Mine"
    seeds = 5                                   # 1 to 5; or a list
    perturb = true                              # seeds are repetitions; default with several
    metric = [{ name = "mine.py:stall_ms" }]    # see `plait.sweep.own_metric`
    set = { "path.lte.rtt" = "{rtt}ms", "transport.receive_buffer" = "{round(buffer)}kB" }

    [[axis]]                                    # see `plait.statistics.axes`; axes make a grid
    rtt = { range = [20, 200], points = 7 }

    [[axis]]
    buffer = { log-range = [32, 2048], points = 7 }

Values of schedulers' parameters may be templates as well: ``"mine.py:Mine:share={share}"`` varies
with the axis `share`. Runs are numbered from 0: points in the outer loop, then seeds, then
schedulers. Plan and number determine a run. Equal runs are made once (`plait.sweep.distinct`).
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from plait import _core
from plait._core import ScenarioError
from plait.scenarios.changes import change
from plait.scenarios.controller import own_controllers
from plait.scenarios.files import CLASS_KEYS, FILE_KEYS, named_files
from plait.scenarios.own import Own, may_name_class
from plait.scenarios.own_workload import own_workload
from plait.scenarios.repetition import BOUNDS, perturbed
from plait.scenarios.template import fill_value, used
from plait.statistics import axes
from plait.support.kinds import otherwise
from plait.support.machine import plait_version
from plait.sweep.columns import Columns
from plait.sweep.distinct import Distinct
from plait.sweep.own_metric import read_metrics
from plait.sweep.planned_scheduler import PlannedScheduler, planned

KEYS = ("name", "scenario", "schedulers", "seeds", "perturb", "set", "axis", "metric")
MOST_RUNS = 2**32
"""Maximum number of runs of one plan."""
MOST_CHECKED = 10_000
"""Maximum number of points whose scenario is validated before the first run."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of the plan: its number, and the corresponding point, seed and scheduler."""

    index: int
    point: int
    seed: int
    scheduler: PlannedScheduler


class Plan:
    """The plan of a sweep.

    Args:
        table: content of a plan file; see the module. `scenario` may be a table too.
        base: the folder of the scenario, of traces and of schedulers' classes.
        origin: name of the plan in messages; its name, without another.
        of_one: whether only one of its schedulers is given; then variables may be unused.

    Raises:
        ScenarioError: the plan, or one of its scenarios, is not valid. Of very many points only a
            sample is checked.
    """

    def __init__(
        self,
        table: Mapping[str, Any],
        base: str | PathLike[str] = "",
        origin: str = "plan",
        *,
        of_one: bool = False,
    ) -> None:
        self.origin, folder = origin, Path(base)
        _check_keys(table, origin)
        self.name = str(table.get("name", Path(origin).stem))
        self.table, self.base = _scenario(table["scenario"], folder, origin)
        self.seeds = _seeds(table.get("seeds", 1), origin)
        self.perturb = _flag(table, "perturb", len(self.seeds) > 1, origin)
        self.schedulers = planned(table["schedulers"], folder, origin)
        self.folder = folder
        self.metrics = read_metrics(table.get("metric", []), folder, origin)
        self.set = _mapping(table.get("set", {}), f"{origin}: set")
        for key in ("seed", "scheduler"):
            if key in self.set:
                message = f"{origin}: set: {key}: cannot vary here; expected {key}s of the plan"
                raise ScenarioError(message)
        self.axes: Sequence[Mapping[str, Any]] = table.get("axis", [])
        if not isinstance(self.axes, list) or not all(isinstance(axis, dict) for axis in self.axes):
            message = f"{origin}: axis: expected tables, [[axis]]"
            raise ScenarioError(message)
        self.steps = axes.all_steps(self.axes, origin)
        self.variables = tuple(self._variables())
        self.points = math.prod(len(steps) for steps in self.steps)
        if len(self) > MOST_RUNS:
            message = f"{origin}: {len(self):,} runs; expected at most {MOST_RUNS:,}"
            raise ScenarioError(message)
        self._validate(of_one)

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Plan:
        """Read a plan file (TOML).

        Raises:
            ScenarioError: see the class.
        """
        try:
            return cls(_toml(Path(file)), Path(file).parent, fspath(file))
        except ScenarioError as error:
            raise otherwise(error, fspath(file), "plan") from error

    def __len__(self) -> int:
        return self.points * len(self.seeds) * len(self.schedulers)

    def run(self, index: int) -> PlannedRun:
        """Return the run with this number."""
        rest, scheduler = divmod(index, len(self.schedulers))
        point, seed = divmod(rest, len(self.seeds))
        return PlannedRun(index, point, self.seeds[seed], self.schedulers[scheduler])

    @cached_property
    def distinct(self) -> Distinct:
        """The equal runs of the plan."""
        return Distinct(self.steps, self.set, {one.label: one.label for one in self.schedulers})

    @property
    def runs(self) -> int:
        """The number of different runs; `len` counts the rows."""
        return len(self.seeds) * sum(self.distinct.count(one.label) for one in self.schedulers)

    def first(self, index: int) -> int:
        """Return the number of the first run that equals the run with this number."""
        rest, scheduler = divmod(index, len(self.schedulers))
        point, seed = divmod(rest, len(self.seeds))
        same = self.distinct.run(self.schedulers[scheduler].label, point)
        return (same * len(self.seeds) + seed) * len(self.schedulers) + scheduler

    def values(self, point: int) -> axes.Step:
        """Return the variables at a point."""
        values: axes.Step = {}
        for steps in reversed(self.steps):
            point, at = divmod(point, len(steps))
            values = {**steps[at], **values}
        return values

    def scenario(self, point: int) -> str:
        """Return the scenario at a point, as the JSON of its table."""
        return json.dumps(change(self.table, self._changes(self.values(point)), name=self.origin))

    def repetition(self, point: int, seed: int) -> str:
        """Return the scenario of a run at a point with this seed, as the JSON of its table."""
        return perturbed(self._parsed(point).json, seed) if self.perturb else self.scenario(point)

    def classes(self, point: int) -> tuple[Own | None, tuple[Own, ...]]:
        """Return the user's classes at a point: the workload, None for a built-in one; controllers."""
        if not may_name_class(self.scenario(point)):
            return None, ()
        scenario = self._parsed(point)
        return own_workload(scenario.json), own_controllers(scenario)

    def where(self, point: int) -> str:
        """Describe a point, for messages."""
        values = ", ".join(f"{name} = {value}" for name, value in self.values(point).items())
        return f"{self.origin}: point {point}" + (f" ({values})" if values else "")

    @cached_property
    def columns(self) -> Columns:
        """The columns of the dataset."""
        document = json.loads(self._parsed(0).json)
        paths, flows = ([one["name"] for one in document.get(key, [])] for key in ("path", "flow"))
        kinds = {
            name: _kind([step[name] for steps in self.steps for step in steps if name in step])
            for name in self.variables
        }
        disciplines = [key for key, value in self.set.items() if "discipline" in f"{key} {value}"]
        queues = [queue for point in self._distinct(disciplines) for queue in self._queues(point)]
        queues = list(dict.fromkeys(queues))
        own = [one.name for one in self.metrics]
        return Columns(kinds, paths=paths, flows=flows, queues=queues, own=own, place=self.origin)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The full plan: plans with the same identity make the same dataset under any name."""
        return {
            "format": 1,
            "version": plait_version(),
            "scenario": self.table,
            "set": dict(self.set),
            "axis": list(self.axes),
            "schedulers": [
                one.label if one.own is None else {"class": one.label, "sha256": one.own.sha256}
                for one in self.schedulers
            ],
            "metric": [one.document() for one in self.metrics],
            "seeds": len(self.seeds) if isinstance(self.seeds, range) else list(self.seeds),
            "perturbed": BOUNDS if self.perturb else None,
            "traces": {name: _sha256((self.base / name).read_bytes()) for name in sorted(self._files())},
            # Designs come from libraries, whose versions may differ in them.
            "points": _sha256(json.dumps(self.steps)),
        }

    def _changes(self, values: axes.Step) -> dict[str, Any]:
        return {key: fill_value(template, values) for key, template in self.set.items()}

    def _parsed(self, point: int) -> _core.Scenario:
        return _core.Scenario(self.scenario(point), self.where(point), self.base, format="json")

    def _queues(self, point: int) -> Iterator[tuple[str, str]]:
        """Yield the active queues at a point: name of the link or its only path, and direction."""
        document = json.loads(self._parsed(point).json)
        for one in (*document["path"], *document.get("link", [])):
            for direction in ("forward", "backward"):
                if "discipline" in one.get(direction, {}):
                    yield one["name"], direction

    def _distinct(self, keys: Iterable[str]) -> Iterable[int]:
        """Return a point for each different setting of these keys of `set`."""
        names = used({key: self.set[key] for key in keys}, self.values(0))
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

    def _validate(self, of_one: bool) -> None:
        """Check every scheduler at the first point, and the scenarios of all points or a sample."""
        _ = self.columns
        step = -(-self.points // MOST_CHECKED)
        looked_at = sorted({*range(0, self.points, step), self.points - 1})
        for scheduler in self.schedulers:
            self._check(scheduler, looked_at if scheduler.templates else [0])
        parameters = {
            f"{one.label}:{key}": text for one in self.schedulers for key, text in one.templates.items()
        }
        unused = set(self.variables) - used({**self.set, **parameters}, self.values(0))
        if unused and not of_one:
            example = f"'{{{min(unused)}}}ms'"
            names = ", ".join(sorted(unused))
            message = f"{self.origin}: set: nothing uses {names}; expected a template like {example}"
            raise ScenarioError(message)
        for point in looked_at:
            self._parsed(point)
        classes = [one for own, more in map(self.classes, looked_at) for one in (own, *more)]
        for one in filter(None, dict.fromkeys(classes)):
            one.make()

    def _check(self, scheduler: PlannedScheduler, points: Iterable[int]) -> None:
        """Check that a scheduler can be made with its parameters at these points."""
        seen, scenario = set(), self._parsed(0)
        for point in points:
            try:
                one = scheduler.at(self.values(point))
                filled = str(one.choice)
                if filled in seen:
                    continue
                seen.add(filled)
                if one.own is None:
                    _core.Job(scenario, scheduler=one.built_in)
                else:
                    one.own.make()
            except ScenarioError as error:
                if not scheduler.templates:
                    raise
                message = f"{self.where(point)}: {error}"
                raise ScenarioError(message) from error

    def _files(self) -> set[str]:
        """Return the files that the scenarios name."""
        naming = [
            key
            for key, value in self.set.items()
            if key.split(".")[-1] in (*FILE_KEYS, *CLASS_KEYS) or isinstance(value, (dict, list))
        ]
        scenarios = (json.loads(self.scenario(point)) for point in self._distinct(naming))
        return {name for scenario in scenarios for name in named_files(scenario)}


def _check_keys(table: Mapping[str, Any], origin: str) -> None:
    axes.check_keys(table, KEYS, origin)
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
    """Return the base scenario's table, with its name, and the folder of its traces."""
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


def _flag(table: Mapping[str, Any], key: str, default: bool, origin: str) -> bool:
    given = table.get(key, default)
    if not isinstance(given, bool):
        message = f"{origin}: {key}: expected true or false, got {given!r}"
        raise ScenarioError(message)
    return given


def _natural(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _kind(values: Sequence[axes.Value]) -> Any:
    if isinstance(values[0], str):
        return pl.String
    return pl.Int64 if all(isinstance(value, int) for value in values) else pl.Float64


def _sha256(data: str | bytes) -> str:
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()
