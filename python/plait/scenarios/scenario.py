"""Scenarios in Python: the tables and keys of a scenario file, checked by the same code.

Durations are text with a unit or seconds, rates text or bits per second, sizes text or bytes,
shares text such as ``"0.2%"``. For a delay, `rtt` or `jitter`, a number of seconds must be less
than 1. Larger values need a unit, because ``rtt=20`` probably means 20 ms. A value of None means
the default, which `scenario_keys` tells.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path as FilePath
from typing import Any

from plait import _core
from plait.scenarios.changes import change
from plait.scenarios.flows import FLOWS, Flow
from plait.scenarios.keys import keyed
from plait.scenarios.tables import Table, table_json, table_of, with_unit
from plait.scenarios.topology import Direction, Link, Path
from plait.scenarios.transport import Transport
from plait.scenarios.units import Duration
from plait.scenarios.workloads import Bulk, Workload, workload_of
from plait.support.kinds import otherwise


@keyed("(top)")
@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Paths, shared links, traffic and transport of a run; trace files are relative to `base`.

    Raises:
        ScenarioError: a value is not valid; the message names the key, the value and the valid
            choices.
    """

    paths: Sequence[Path]
    links: Sequence[Link] = ()
    flows: Sequence[Flow] = ()
    name: str = "scenario"
    seed: int | None = None
    duration: Duration | None = None
    warmup: Duration | None = None
    scheduler: str | Table | None = None
    transport: Transport = field(default_factory=Transport)
    workload: Workload = field(default_factory=Bulk)
    base: str | PathLike[str] = "."

    def __post_init__(self) -> None:
        _ = self._parsed  # validates

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario as the table of a scenario file, with the given values only."""
        lists = {"path": self.paths, "link": self.links, "flow": self.flows}
        return table_of(self, without=("base", "paths", "links", "flows")) | {
            key: [table_of(one, f"{key}[{index}].") for index, one in enumerate(some)]
            for key, some in lists.items()
            if some
        }

    @property
    def json(self) -> str:
        """Canonical JSON, with every default filled in."""
        return self._parsed.json

    @cached_property
    def _parsed(self) -> _core.Scenario:
        return _parse(self.to_dict(), self.name, self.base)


AnyScenario = Scenario | str | PathLike[str]
"""A scenario, or the name of a scenario file."""


def load(
    file: str | PathLike[str], changes: Mapping[str, Any] | None = None, only: Sequence[str] = ()
) -> Scenario:
    """Read and validate a scenario file (TOML); every default is filled in.

    Args:
        file: its name.
        changes: values that replace the file's, by dotted key: ``{"path.slow.rate": "2Mbit"}`` for
            the path of that name, ``{"transport.receive_buffer": "1MB"}``. Numbers are as in `Path`
            and the other classes.
        only: names of the paths to keep; empty keeps all.

    Raises:
        ScenarioError: the file cannot be read or is not a valid scenario; one line with file, key,
            value, choices.
    """
    name = fspath(file)
    parsed = _changed(name, changes or {}, only) if changes or only else _read(name)
    return _built(parsed, FilePath(file).parent)


def from_table(table: Table, name: str = "scenario", base: str | PathLike[str] = ".") -> Scenario:
    """Return a scenario from the table of a scenario file; every default is filled in.

    `name` is for messages; traces are relative to `base`.

    Raises:
        ScenarioError: the table is not a valid scenario; one line with key, value, choices.
    """
    return _built(_parse(table, name, base), FilePath(base))


def _parse(table: Table, name: str, base: str | PathLike[str]) -> _core.Scenario:
    return _core.Scenario(table_json(table, name), name, base, format="json")


def _built(parsed: _core.Scenario, base: FilePath) -> Scenario:
    """Return the scenario of the core's one, which is not read again."""
    table = json.loads(parsed.json)
    paths, links, flows = (table.pop(key, []) for key in ("path", "link", "flow"))
    workload = table.pop("workload")
    scenario = object.__new__(Scenario)
    vars(scenario).update(
        table,
        paths=[Path(**_with_directions(path)) for path in paths],
        links=[Link(**_with_directions(link)) for link in links],
        flows=[FLOWS[flow.pop("kind")](**flow) for flow in flows],
        transport=Transport(**table["transport"]),
        workload=workload_of(workload),
        base=base,
        _parsed=parsed,
    )
    return scenario


def _changed(file: str, changes: Mapping[str, Any], only: Sequence[str]) -> _core.Scenario:
    """Return a scenario file with other values."""
    name = _read(file).name
    given = {
        key: with_unit(key.rpartition(".")[2], value, f"{file}: {key}")
        if isinstance(value, int | float)
        else value
        for key, value in changes.items()
    }
    table = change(tomllib.loads(FilePath(file).read_text(encoding="utf-8")), given, only, file)
    return _parse({"name": name, **table}, file, FilePath(file).parent)


def _with_directions(table: dict[str, Any]) -> dict[str, Any]:
    return table | {key: Direction(**table[key]) for key in ("forward", "backward") if key in table}


def parsed_scenario(scenario: AnyScenario) -> _core.Scenario:
    """Return the core's scenario of a scenario or of a scenario file.

    Raises:
        ScenarioError: the value is neither, or not valid.
    """
    if isinstance(scenario, Scenario):
        return scenario._parsed
    given: object = scenario
    if not isinstance(given, str | PathLike):
        kind = type(given).__name__
        message = f"scenario: expected a plait.Scenario or the name of a file, got a {kind}"
        if isinstance(given, Mapping):
            message += "; plait.scenarios.scenario.from_table makes a scenario of a table"
        raise _core.ScenarioError(message)
    return _read(fspath(scenario))


def _read(file: str) -> _core.Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: the file is not valid, or it is another kind of Plait's files.
    """
    try:
        return _core.Scenario.load(file)
    except _core.ScenarioError as error:
        raise otherwise(error, file, "scenario") from error
