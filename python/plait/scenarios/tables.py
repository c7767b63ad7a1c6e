"""Tables of scenario files from Python's classes: given values only, numbers with their units."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from plait._core import ScenarioError
from plait.scenarios.keys import TEXTS

Table = Mapping[str, Any]
"""A table of the scenario file.

Example: ``{"model": "gilbert-elliott", "to_bad": "1%", "to_good": "30%"}``.
"""


SHORT = ("delay", "rtt", "jitter")
"""Keys whose values are usually fractions of a second."""


def with_unit(key: str, value: Any, place: str) -> Any:
    """Return a value in the form of scenario files: numbers that are amounts get their unit.

    Raises:
        ScenarioError: the value is no such amount; the message begins with `place`.
    """
    if key not in TEXTS or isinstance(value, Mapping):
        return value
    if key in SHORT and isinstance(value, int | float) and 1 <= value < math.inf:
        message = (
            f'{place}: {value:g} without a unit would be seconds; expected "{value:g}ms" or "{value:g}s"'
        )
        raise ScenarioError(message)
    try:
        return TEXTS[key](value)
    except ScenarioError as error:
        message = f"{place}: {str(error).partition(': ')[2]}"
        raise ScenarioError(message) from error


def table_json(table: Table, name: str) -> str:
    """Return a table as JSON.

    Raises:
        ScenarioError: the table has a number that JSON cannot hold; the message names its place.
    """
    for place, value in _numbers(table):
        if not math.isfinite(value):
            message = f"{name}: {place}: expected a finite number, got {value}"
            raise ScenarioError(message)
    return json.dumps(table)


def _numbers(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _numbers(one, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for index, one in enumerate(value):
            yield from _numbers(one, f"{place}[{index}]")


def table_of(builder: Any, place: str = "", without: Collection[str] = ()) -> dict[str, Any]:
    """Return a builder's table for scenario files: the given values, numbers with their units.

    `place` is the table's place, for messages; fields `without` are left out.
    """
    table: dict[str, Any] = {}
    name = getattr(builder, "name", None)
    behind = f" ({name})" if place and name else ""
    for key in (one.name for one in fields(builder)):
        value = getattr(builder, key)
        if value is None or key in without:
            continue
        if is_dataclass(value) and not isinstance(value, type):
            own = getattr(value, "table", None)
            table[key] = table_of(value, f"{place}{key}.") if own is None else own()
        else:
            table[key] = with_unit(key, value, f"{place}{key}{behind}")
    return table
