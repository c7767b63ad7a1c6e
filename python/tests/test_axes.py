from typing import Any

import pytest

from plait import ScenarioError
from plait.statistics import axes


def values(axis: dict[str, Any], name: str) -> list[axes.Value]:
    return [step[name] for step in axes.steps(axis, "axis 1")]


def test_lists_vary_together_and_axes_make_a_grid() -> None:
    first = axes.steps({"rtt": [20, 40], "rate": [16, 8]}, "axis 1")
    second = axes.steps({"buffer": ["small", "large"]}, "axis 2")
    assert first == [{"rtt": 20, "rate": 16}, {"rtt": 40, "rate": 8}]
    assert list(axes.product([first, second])) == [
        {"rtt": 20, "rate": 16, "buffer": "small"},
        {"rtt": 20, "rate": 16, "buffer": "large"},
        {"rtt": 40, "rate": 8, "buffer": "small"},
        {"rtt": 40, "rate": 8, "buffer": "large"},
    ]
    assert list(axes.product([])) == [{}]


def test_ranges_include_both_ends() -> None:
    assert values({"a": {"range": [1, 10], "step": 3}}, "a") == [1, 4, 7, 10]
    assert values({"a": {"range": [1, 11], "step": 3}}, "a") == [1, 4, 7, 10]
    assert values({"a": {"range": [0.1, 0.5], "step": 0.1}}, "a") == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert values({"a": {"range": [0, 1], "points": 5}}, "a") == [0, 0.25, 0.5, 0.75, 1]
    assert values({"a": {"log-range": [1, 10_000], "points": 5}}, "a") == [1, 10, 100, 1000, 10_000]


@pytest.mark.parametrize("design", ["wsp", "latin-hypercube", "sobol", "uniform"])
def test_a_design_fills_its_ranges(design: str) -> None:
    axis = {"design": design, "points": 40, "ranges": {"a": [10, 20], "b": {"log-range": [1, 10_000]}}}
    steps = axes.steps(axis, "axis 1")
    assert len(steps) == 40
    assert all(10 <= float(step["a"]) <= 20 and 1 <= float(step["b"]) <= 10_000 for step in steps)
    # About half of the values, because the range is logarithmic.
    assert 10 <= sum(float(step["b"]) < 100 for step in steps) <= 30
    assert steps == axes.steps(axis, "axis 1")


def test_a_design_has_a_seed() -> None:
    axis = {"design": "latin-hypercube", "points": 4, "ranges": {"a": [0, 1]}}
    assert axes.steps(axis, "x") == axes.steps({**axis, "seed": 1}, "x")
    assert axes.steps(axis, "x") != axes.steps({**axis, "seed": 2}, "x")


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ({}, "axis 1: empty"),
        ({"a": [1, 2], "b": [1]}, "a, b: expected lists of equal length"),
        ({"a": 3}, "a: expected a list of values, or a table"),
        ({"a": []}, "a: expected a list"),
        ({"a": [True]}, "a: expected numbers or strings, got True"),
        ({"a": [1, "1"]}, "only numbers or only strings"),
        ({"a": [1, 2, 1]}, "a = 1 is there twice"),
        ({"a": [1, 2, 1], "b": [1, 1, 1]}, "a = 1, b = 1 is there twice"),
        ({"a": {"range": [1, 2]}}, "points: expected a whole number"),
        ({"a": {"range": [1, 2], "points": 1}}, "at least 2"),
        ({"a": {"range": [2, 1], "points": 3}}, "lowest < highest"),
        ({"a": {"range": [1, 2, 3], "points": 3}}, "expected \\[lowest, highest\\]"),
        ({"a": {"range": [1, "2"], "points": 3}}, "expected a number, got '2'"),
        ({"a": {"range": [1, 2], "step": 0}}, "step: expected more than 0"),
        ({"a": {"range": [1, 1e9], "step": 1e-3}}, "at most 10,000,000"),
        ({"a": {"log-range": [0, 2], "points": 3}}, "0 < lowest"),
        ({"a": {"log-range": [1, 2], "step": 1}}, "step goes with range alone"),
        ({"a": {"range": [1, 2], "log-range": [1, 2], "points": 3}}, "either range or log-range"),
        ({"a": {"points": 3}}, "got neither"),
        ({"a": {"range": [1, 2], "count": 3}}, "count: unknown key; expected one of: range"),
        ({"design": "cube", "points": 3, "ranges": {"a": [0, 1]}}, "'cube': unknown; expected one of: wsp"),
        ({"design": "wsp", "points": 3}, "ranges: expected a table"),
        ({"design": "wsp", "points": 0, "ranges": {"a": [0, 1]}}, "points: expected a whole number from 1"),
        ({"design": "wsp", "points": 3, "ranges": {"a": [1, 0]}}, "a: range: expected lowest < highest"),
        ({"design": "sobol", "points": 3, "ranges": {"a": [0, 1]}, "seed": -1}, "seed: expected"),
        ({"design": "sobol", "point": 3, "ranges": {"a": [0, 1]}}, "point: unknown key"),
    ],
)
def test_mistakes_are_named(axis: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        axes.steps(axis, "axis 1")
