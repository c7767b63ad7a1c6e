"""Users' congestion controllers: those that a scenario names, ``FILE.py:CLASS:parameter=value``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from plait import _core
from plait.scenarios.files import CONTROLLER_KEY
from plait.scenarios.own import read_own
from plait.scenarios.python_class import CONTROLLER


@dataclass(frozen=True)
class Maker:
    """Creates instances of a class: one for each path of each end of a connection."""

    kind: type[_core.CongestionController]
    create: Callable[[], _core.CongestionController]

    def __call__(self) -> _core.CongestionController:
        """Return a new instance."""
        return self.create()


def has_controllers(text: str) -> bool:
    """Return whether a scenario, as JSON, may name such controllers: quick, and seldom too often."""
    return ".py" in text and CONTROLLER_KEY in text


def controllers_of(scenario: _core.Scenario) -> dict[str, Maker]:
    """Return what creates the controllers of a run, by their names in the scenario.

    Each call also creates fresh modules, so that runs are independent.

    Raises:
        ScenarioError: a controller cannot be created; the message names the problem and its place.
    """
    makers = {}
    for name in scenario.own_controllers:
        maker = Maker(*read_own(name, word=CONTROLLER.word).maker(CONTROLLER))
        maker()  # checks the parameters
        makers[name] = maker
    return makers
