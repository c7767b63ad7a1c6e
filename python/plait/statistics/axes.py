"""Axes: the variables of scenarios, in the form of plans and papers.

An axis is a table. It gives its variables lists of values, which vary together:

    { rtt = [20, 40, 80], rate = [16, 8, 4] }

or ranges, both ends included, with equal steps or equal ratios:

    { rtt = { range = [20, 100], step = 20 } }            # or points = 5
    { buffer = { log-range = [32, 2048], points = 7 } }

or it is a space-filling design of several variables:

    { design = "wsp", points = 200, ranges = { rtt = [1, 200], loss = { log-range = [0.01, 1] } } }

Several axes make a grid of all combinations.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from plait._core import ScenarioError
from plait.support.words import expected

if TYPE_CHECKING:
    from plait.statistics.designs import Design

Value = float | int | str
"""Type of a variable's value."""
Step = dict[str, Value]
"""The variables of an axis at one of its steps."""

DESIGN_KEYS = ("design", "points", "ranges", "seed")
RANGE_KEYS = ("range", "log-range", "step", "points")
MOST_STEPS = 10_000_000
"""Maximum steps of one axis; a larger number is considered a mistake."""


def steps(axis: Mapping[str, Any], place: str) -> list[Step]:
    """Return the steps of an axis; `place` names it in messages.

    Raises:
        ScenarioError: a key, a design or a range is invalid, or the lists have different lengths.
    """
    if "design" in axis:
        return _design(axis, place)
    if not axis:
        message = f"{place}: empty; expected a variable with its values, or a design"
        raise ScenarioError(message)
    columns = {name: _values(given, f"{place}: {name}") for name, given in axis.items()}
    if len({len(values) for values in columns.values()}) != 1:
        message = f"{place}: {', '.join(axis)}: expected lists of equal length"
        raise ScenarioError(message)
    rows = list(zip(*columns.values(), strict=True))
    if len(set(rows)) < len(rows):
        twice = next(row for number, row in enumerate(rows) if row in rows[:number])
        said = ", ".join(f"{name} = {value!r}" for name, value in zip(columns, twice, strict=True))
        message = f"{place}: {said} is there twice"
        raise ScenarioError(message)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def all_steps(axes: Sequence[Mapping[str, Any]], place: str) -> list[list[Step]]:
    """Return the steps of each axis; `place` names the list in messages."""
    return [steps(axis, f"{place}: axis {number}") for number, axis in enumerate(axes, 1)]


def product(axes: Sequence[Sequence[Step]]) -> Iterator[Step]:
    """Yield every combination of the axes' steps; the last axis varies fastest."""
    for combination in itertools.product(*axes):
        yield {name: value for step in combination for name, value in step.items()}


def _values(given: Any, place: str) -> list[Value]:
    if isinstance(given, Mapping):
        return _spread(given, place)
    if not isinstance(given, list) or not given:
        message = f"{place}: expected a list of values, or a table with range or log-range, got {given!r}"
        raise ScenarioError(message)
    for value in given:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            message = f"{place}: expected numbers or strings, got {value!r}"
            raise ScenarioError(message)
    if len({isinstance(value, str) for value in given}) > 1:
        message = f"{place}: expected only numbers or only strings, got {given!r}"
        raise ScenarioError(message)
    return given


def _spread(given: Mapping[str, Any], place: str) -> list[Value]:
    """Return the values of a range."""
    check_keys(given, RANGE_KEYS, place)
    low, high, logarithmic = _ends(given, place)
    if "step" in given:
        if logarithmic or "points" in given:
            message = f"{place}: step goes with range alone; expected points"
            raise ScenarioError(message)
        step = _number(given["step"], f"{place}: step")
        if step <= 0:
            message = f"{place}: step: expected more than 0, got {step!r}"
            raise ScenarioError(message)
        count = math.floor((high - low) / step * (1 + 1e-12)) + 1
        _check_count(count, place)
        return [_rounded(low + index * step, whole=_whole(low, step)) for index in range(count)]
    count = _count(given, place)
    if count == 1:
        message = f"{place}: points: expected at least 2, got 1"
        raise ScenarioError(message)
    shares = [index / (count - 1) for index in range(count)]
    return [_rounded(_at(share, low, high, logarithmic)) for share in shares]


def _design(axis: Mapping[str, Any], place: str) -> list[Step]:
    from plait.statistics import designs  # noqa: PLC0415 - SciPy takes longest to load

    check_keys(axis, DESIGN_KEYS, place)
    kind, ranges = axis["design"], axis.get("ranges")
    if kind not in designs.DESIGNS:
        message = f"{place}: design {kind!r}: unknown{expected(str(kind), list(designs.DESIGNS))}"
        raise ScenarioError(message)
    if not isinstance(ranges, Mapping) or not ranges:
        message = (
            f"{place}: ranges: expected a table of variables such as {{ rtt = [1, 200] }}, got {ranges!r}"
        )
        raise ScenarioError(message)
    seed = axis.get("seed", 1)
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        message = f"{place}: seed: expected a whole number from 0 on, got {seed!r}"
        raise ScenarioError(message)
    ends = {name: _range(given, f"{place}: {name}") for name, given in ranges.items()}
    return [
        {
            name: _rounded(_at(float(share), *end))
            for (name, end), share in zip(ends.items(), point, strict=True)
        }
        for point in _points(kind, _count(axis, place), len(ends), seed)
    ]


@lru_cache
def _points(kind: str, points: int, factors: int, seed: int) -> Design:
    from plait.statistics import designs  # noqa: PLC0415

    return designs.DESIGNS[kind](points, factors, seed)


def _range(given: Any, place: str) -> tuple[float, float, bool]:
    """Read a range of a design: two numbers, or a table with range or log-range."""
    table = given if isinstance(given, Mapping) else {"range": given}
    check_keys(table, ("range", "log-range"), place)
    return _ends(table, place)


def _ends(given: Mapping[str, Any], place: str) -> tuple[float, float, bool]:
    """Return the lowest and highest value of a range, and whether it is logarithmic."""
    kinds = [key for key in ("range", "log-range") if key in given]
    if len(kinds) != 1:
        message = f"{place}: expected either range or log-range, got {', '.join(kinds) or 'neither'}"
        raise ScenarioError(message)
    ends, logarithmic = given[kinds[0]], kinds[0] == "log-range"
    if not isinstance(ends, list) or len(ends) != 2:
        message = f"{place}: {kinds[0]}: expected [lowest, highest], got {ends!r}"
        raise ScenarioError(message)
    low, high = (_number(end, f"{place}: {kinds[0]}") for end in ends)
    if low >= high or (logarithmic and low <= 0):
        least = "0 < lowest < highest" if logarithmic else "lowest < highest"
        message = f"{place}: {kinds[0]}: expected {least}, got {ends!r}"
        raise ScenarioError(message)
    return low, high, logarithmic


def _at(share: float, low: float, high: float, logarithmic: bool) -> float:
    return low * (high / low) ** share if logarithmic else low + share * (high - low)


def _rounded(value: float, *, whole: bool = False) -> Value:
    """Round to twelve digits: no 0.30000000000000004 in a table, and equal on every machine."""
    return round(value) if whole else float(f"{value:.12g}")


def _whole(*values: float) -> bool:
    return all(isinstance(value, int) for value in values)


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        message = f"{place}: expected a number, got {value!r}"
        raise ScenarioError(message)
    return value


def _count(given: Mapping[str, Any], place: str) -> int:
    count = given.get("points")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        message = f"{place}: points: expected a whole number from 1 on, got {count!r}"
        raise ScenarioError(message)
    _check_count(count, place)
    return count


def _check_count(count: int, place: str) -> None:
    if count > MOST_STEPS:
        message = f"{place}: expected at most {MOST_STEPS:,} values, got {count:,}"
        raise ScenarioError(message)


def check_keys(table: Mapping[str, Any], keys: Sequence[str], place: str) -> None:
    """Raise ScenarioError if a table has another key; `place` names the table."""
    for key in table:
        if key not in keys:
            message = f"{place}: {key}: unknown key{expected(key, keys)}"
            raise ScenarioError(message)
