"""The schedulers of a plan, whose parameters may be templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from plait._core import ScenarioError
from plait.scenarios.own import Own
from plait.scenarios.parameters import plain_value
from plait.scenarios.scheduler import ALL, built_in, distinct, label_all, parse_list
from plait.scenarios.template import fill
from plait.statistics import axes


@dataclass(frozen=True)
class PlannedScheduler:
    """A scheduler of the plan: its label, and a built-in one's name or table, or a custom one.

    Values of its parameters may be templates; see `at`.
    """

    label: str
    choice: str | Mapping[str, Any] | Own

    @property
    def built_in(self) -> str | None:
        """The choice as JSON; None for a custom scheduler."""
        return None if isinstance(self.choice, Own) else built_in(self.choice)

    @property
    def own(self) -> Own | None:
        """The choice, if it is a custom scheduler."""
        return self.choice if isinstance(self.choice, Own) else None

    @cached_property
    def templates(self) -> Mapping[str, str]:
        """The parameters whose values are templates."""
        if isinstance(self.choice, str):
            return {}
        given = self.choice.given if isinstance(self.choice, Own) else self.choice.items()
        return {key: value for key, value in given if isinstance(value, str) and "{" in value}

    def at(self, values: axes.Step) -> PlannedScheduler:
        """Return the scheduler with its templates filled."""
        if not self.templates or isinstance(self.choice, str):
            return self
        if isinstance(self.choice, Own):
            return replace(self, choice=self.choice.changed(lambda text: str(fill(text, values))))
        filled = {key: plain_value(fill(text, values)) for key, text in self.templates.items()}
        return replace(self, choice={**self.choice, **filled})


def planned(given: Any, folder: Path, origin: str) -> tuple[PlannedScheduler, ...]:
    """Return the schedulers of a plan; ScenarioError if there are none, or one is twice."""
    given = [given] if given == ALL else given
    if not isinstance(given, list) or not given:
        message = f'{origin}: schedulers: expected a list of schedulers, or "all", got {given!r}'
        raise ScenarioError(message)
    choices = parse_list(given, f"{origin}: schedulers", folder)
    labels = [str(one) for one in label_all(choices)]
    distinct(labels, f"{origin}: schedulers")
    return tuple(PlannedScheduler(name, choice) for name, choice in zip(labels, choices, strict=True))
