"""Bounds that no scheduler beats."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from plait.scenarios.scenario import AnyScenario, from_table, parsed_scenario


@dataclass(frozen=True)
class Bound:
    """A bound of a metric, or a reference beside it.

    name: its name on the page of the proofs. metric: the metric, as a run's JSON has it, with dots.
    value: the largest possible goodput in bit/s, or the least possible delay in ms or time in s.
    valid: whether it holds for every run of the simulator. Otherwise the note names the runs for
    which it holds, or says that it is only a reference. note: the limits that it counts, and its
    known looseness.
    """

    name: str
    metric: str
    value: float
    valid: bool
    note: str


def bound(scenario: AnyScenario) -> list[Bound]:
    """Return the bounds of a scenario, the tightest valid one first.

    The list is empty for requests, for random on times and for traces of writes.

    Raises:
        ScenarioError: the scenario is not valid.
    """
    return [Bound(**one) for one in bound_document(scenario)["bounds"]]


def bound_document(scenario: AnyScenario) -> dict[str, Any]:
    """Return the bounds of a scenario as the document that `plait bound --json` prints."""
    document: dict[str, Any] = json.loads(parsed_scenario(scenario).bounds())
    return document


def tightest(scenario_json: str) -> Mapping[str, float]:
    """Return the tightest bound of each metric that holds for every run of a scenario in JSON.

    Bounds do not depend on the scheduler, so they are computed once for all schedulers.
    """
    table = json.loads(scenario_json)
    table.pop("scheduler", None)
    return _tightest(json.dumps(table))


@lru_cache(maxsize=1024)
def _tightest(scenario_json: str) -> Mapping[str, float]:
    valid = [one for one in bound(from_table(json.loads(scenario_json))) if one.valid]
    return {one.metric: one.value for one in reversed(valid)}
