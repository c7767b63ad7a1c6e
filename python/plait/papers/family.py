"""Families of scenarios: one file with variations.

A `[[family]]` of a paper's description stands for many scenarios. Its keys are those of a sweep's
plan (`plait.sweep.plan`), with `id`, `title` and `design`:

    [[family]]
    id = "n{n}"                                  # of each scenario
    title = "n = {n}"
    scenario = "scenarios/four-paths.toml"
    schedulers = ["dqs", "round-robin"]
    axis = [{ n = [0, 1, 2] }]                   # one scenario per combination of the axes' values
    seeds = 20                                   # each scenario is run with the seeds 1 to 20
    set = { "path.second.rtt" = "{20 + 5*n}ms" } # variations, by dotted key

Variables of one axis vary together. Seeds, and the points of a `design`, do not make scenarios of
their own: they are the *members* of one scenario, and its metrics are statistics over them, such as
``mean.goodput_bps``:

    design = { design = "wsp", points = 200, ranges = { rate = [0.1, 100], rtt = [1, 50] } }
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plait.scenarios.template import Variables, fill
from plait.statistics import axes

KEYS = ("id", "title", "scenario", "schedulers", "axis", "seeds", "design", "set")


@dataclass(frozen=True)
class Member:
    """One run of a scenario per scheduler: its changes of the file, its seed, and its variables."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    variables: Variables = field(default_factory=dict)


def expand(table: Mapping[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the scenarios of a family, as tables of their fields.

    Raises:
        ScenarioError: a key, a design or a template is not valid.
    """
    place = f"{folder.name}: family"
    axes.check_keys(table, KEYS, place)
    pool = list(_pool(table, place))
    for variables in axes.product(axes.all_steps(table.get("axis", []), place)):
        members = [_member(table.get("set", {}), {**variables, **more}, seed) for more, seed in pool]
        yield {
            "id": fill(table["id"], variables),
            "title": fill(table["title"], variables),
            "file": folder / table["scenario"],
            "schedulers": tuple(table["schedulers"]),
            "members": tuple(members),
            "variables": variables,
        }


def _member(changes: Mapping[str, Any], variables: Variables, seed: int | None) -> Member:
    return Member({key: fill(value, variables) for key, value in changes.items()}, seed, variables)


def _pool(table: Mapping[str, Any], place: str) -> Iterator[tuple[axes.Step, int | None]]:
    """Yield variables and seed of each member."""
    seeds: Sequence[int | None] = range(1, table["seeds"] + 1) if "seeds" in table else [None]
    points: Sequence[axes.Step] = (
        axes.steps(table["design"], f"{place}: design") if "design" in table else [{}]
    )
    for point in points:
        for seed in seeds:
            yield point, seed
