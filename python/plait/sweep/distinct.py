"""The different runs of a plan: equal scenario, seed and scheduler make one run.

A variable that only a scheduler uses does not change the scenario, and one that a scheduler does
not use does not change its runs. Such runs have a row for each value of the variable, but they are
made once. Statistics count them once, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plait._core import ScenarioError
from plait.scenarios.template import fill_value, used
from plait.statistics import axes

Points = NDArray[np.int64]


class Distinct:
    """The equal points of a plan, for its scenarios and for each scheduler.

    `setting` has the variables that the scenarios use.

    Args:
        steps: the steps of each axis; points are numbered with the last axis inside.
        setting: the keys of the scenario with their templates (`set` of a plan).
        schedulers: the schedulers with their parameters, which may be templates, by label.
    """

    def __init__(
        self,
        steps: Sequence[Sequence[axes.Step]],
        setting: Mapping[str, Any],
        schedulers: Mapping[str, str],
    ) -> None:
        values = {name: value for one in steps for name, value in one[0].items()}
        needs = [(template, used({"": template}, values)) for template in setting.values()]
        self._variables = {label: sorted(used({"": text}, values)) for label, text in schedulers.items()}
        self.setting = {name for _, names in needs for name in names}
        own = {label: [*needs, (schedulers[label], set(names))] for label, names in self._variables.items()}
        self._lengths = [len(one) for one in steps]
        self._scenario = [_first_steps(one, needs) for one in steps]
        self._runs = {label: [_first_steps(one, more) for one in steps] for label, more in own.items()}

    def scenarios(self, points: Points) -> Points:
        """Return for each point the first point with the same scenario."""
        return self._first(points, self._scenario)

    def runs(self, label: str, points: Points) -> Points:
        """Return for each point the first point with the same run of a scheduler."""
        return self._first(points, self._runs.get(label, [None] * len(self._lengths)))

    def variables(self, label: str) -> list[str]:
        """Return the variables in the parameters of a scheduler."""
        return self._variables[label]

    def run(self, label: str, point: int) -> int:
        """Return the first point with the same run of a scheduler as this one."""
        firsts = self._runs[label]
        if all(first is None for first in firsts):
            return point
        found, unit = 0, 1
        for length, first in zip(reversed(self._lengths), reversed(firsts), strict=True):
            point, step = divmod(point, length)
            found += unit * (step if first is None else int(first[step]))
            unit *= length
        return found

    def count(self, label: str) -> int:
        """Return the number of different runs of a scheduler with one seed."""
        return math.prod(
            length if first is None else len(np.unique(first))
            for length, first in zip(self._lengths, self._runs[label], strict=True)
        )

    def _first(self, points: Points, firsts: Sequence[Points | None]) -> Points:
        found, unit = np.zeros_like(points), 1
        for length, first in zip(reversed(self._lengths), reversed(firsts), strict=True):
            points, step = np.divmod(points, length)
            found += unit * (step if first is None else first[step])
            unit *= length
        return found


def _first_steps(steps: Sequence[axes.Step], needs: Sequence[tuple[Any, set[str]]]) -> Points | None:
    """Return for each step of an axis the first step with the same result; None if all differ.

    `needs` has templates with their variables. A template with variables of other axes, too,
    counts as different for different values of this axis.
    """
    names = set(steps[0])
    inside = [template for template, variables in needs if variables and variables <= names]
    shared = sorted({one for _, variables in needs if not variables <= names for one in variables & names})
    firsts: dict[str, int] = {}
    found = [
        firsts.setdefault(repr([*(_filled(one, step) for one in inside), *map(step.get, shared)]), number)
        for number, step in enumerate(steps)
    ]
    return None if len(firsts) == len(steps) else np.array(found, dtype=np.int64)


def _filled(template: Any, step: axes.Step) -> Any:
    try:
        return fill_value(template, step)
    except ScenarioError:  # the run fails; its variables may be in the message
        return step
