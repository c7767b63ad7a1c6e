"""Metrics of one's own in plans: a Python function of a `plait.Result`, in a file.

    [[metric]]
    name = "mine.py:longest_stall_ms"   # FILE.py:FUNCTION, relative to the plan
    better = "less"                     # or "more"; default "less"
    packets = true                      # tables that the runs record, as for `plait.run`:
    series = "10ms"                     # packets, series, decisions

The function returns a number, or None, NaN or ∞ where the run has no value. The column has its name.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

from plait._core import RunError, ScenarioError
from plait.results.result import Result
from plait.scenarios import python_class
from plait.scenarios.own import PYTHON
from plait.scenarios.units import duration_ns
from plait.statistics import axes

KEYS = ("name", "better", "packets", "series", "decisions")
BETTER = ("less", "more")


@dataclass(frozen=True)
class OwnMetric:
    """A metric of the plan, with all data to compute it, also on another machine.

    file: its path. Datasets have only the last part, which does not depend on the plan's folder.
    """

    file: str
    name: str
    better: str
    content: bytes = field(repr=False)
    packets: bool = False
    series: str | float | None = None
    decisions: bool = False

    def document(self) -> dict[str, Any]:
        """Return the metric's description in datasets."""
        return {
            "file": Path(self.file).name,
            "name": self.name,
            "better": self.better,
            "sha256": hashlib.sha256(self.content).hexdigest(),
            "packets": self.packets,
            "series": self.series,
            "decisions": self.decisions,
        }

    @property
    def origin(self) -> str:
        """Name of the metric in messages."""
        return f"metric '{Path(self.file).name}:{self.name}'"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the function: its module does not exist in other processes."""
        return {key: value for key, value in vars(self).items() if key != "function"}

    @cached_property
    def function(self) -> Any:
        """The function.

        Raises:
            ScenarioError: the file cannot be run, or has no such function.
        """
        module = python_class.module_of(self.content.decode("utf-8"), self.file, self.origin)
        known = [
            name
            for name, one in vars(module).items()
            if getattr(one, "__module__", "") == module.__name__
            and callable(one)
            and not isinstance(one, type)
        ]
        if self.name not in known:
            choices = ", ".join(known) or "none defined there"
            message = f"{self.origin}: expected {self.file}:FUNCTION with one of: {choices}"
            raise ScenarioError(message)
        return getattr(module, self.name)

    def value(self, result: Result) -> float | None:
        """Return the metric of a run; None where it has no value.

        Raises:
            RunError: the function failed, or returned something else. ScenarioError: the file
                cannot be run on this machine.
        """
        function = self.function
        try:
            return _number(function(result))
        except Exception as error:
            where = python_class.place(error)
            message = f"{self.origin}: {type(error).__name__}: {error}{f' ({where})' if where else ''}"
            raise RunError(message) from error


def _number(found: object) -> float | None:
    if found is None:
        return None
    if not isinstance(found, Real):  # float() would also take text
        message = f"returned {type(found).__name__}; expected a number or None"
        raise TypeError(message)
    value = float(found)
    return value if math.isfinite(value) else None


def planned(told: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return the plan's table of a metric, from its description in a dataset and its file."""
    given = {key: told[key] for key in KEYS[1:] if told[key] is not None}
    return {"name": f"{file}:{told['name']}", **given}


def read_metrics(given: Any, folder: Path, origin: str) -> tuple[OwnMetric, ...]:
    """Read the tables `metric` of a plan.

    Raises:
        ScenarioError: a table or a function is not valid.
    """
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        message = f"{origin}: metric: expected tables, [[metric]]"
        raise ScenarioError(message)
    return tuple(_read(one, folder, f"{origin}: metric {number}") for number, one in enumerate(given, 1))


def _read(table: dict[str, Any], folder: Path, origin: str) -> OwnMetric:
    axes.check_keys(table, KEYS, origin)
    text, better = table.get("name"), table.get("better", BETTER[0])
    file, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not file.endswith(PYTHON) or not name:
        message = f"{origin}: name: expected FILE.py:FUNCTION, got {text!r}"
        raise ScenarioError(message)
    if better not in BETTER:
        message = f"{origin}: better: expected one of: {', '.join(BETTER)}; got {better!r}"
        raise ScenarioError(message)
    for key in ("packets", "decisions"):
        if not isinstance(table.get(key, False), bool):
            message = f"{origin}: {key}: expected true or false, got {table[key]!r}"
            raise ScenarioError(message)
    if not isinstance(table.get("series", 0), str | int | float):
        message = f"{origin}: series: expected a duration, got {table['series']!r}"
        raise ScenarioError(message)
    try:
        content = (folder / file).read_bytes()
    except OSError as error:
        message = f"{origin}: name: {folder / file} cannot be read: {error.strerror or error}"
        raise ScenarioError(message) from error
    recorded = {key: table[key] for key in ("packets", "series", "decisions") if key in table}
    found = OwnMetric(str(folder / file), name, better, content, **recorded)
    _ = found.function, series_ns([found])  # validates
    return found


def series_ns(metrics: Sequence[OwnMetric]) -> int | None:
    """Return the shortest interval of the series that metrics need; None without a series."""
    return min((duration_ns(one.series) for one in metrics if one.series is not None), default=None)
