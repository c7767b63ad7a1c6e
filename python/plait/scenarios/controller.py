"""Users' congestion controllers: those that a scenario names, ``FILE:CLASS:parameter=value``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from plait import _core
from plait.scenarios.own import Own, read_own
from plait.scenarios.roles import CONTROLLER


@dataclass(frozen=True)
class Maker:
    """Creates instances of a class: one for each path of each end of a connection."""

    kind: type[_core.CongestionController]
    create: Callable[[], _core.CongestionController]

    def __call__(self) -> _core.CongestionController:
        """Return a new instance."""
        return self.create()


def own_controllers(scenario: _core.Scenario) -> tuple[Own, ...]:
    """Return the classes of the controllers that a scenario names, in its order.

    Raises:
        ScenarioError: a file cannot be read. The files are not run yet.
    """
    return tuple(read_own(name, role=CONTROLLER) for name in scenario.own_controllers)


def controllers_of(
    scenario: _core.Scenario, classes: Sequence[Own] | None = None
) -> dict[str, Maker | _core.ForeignController]:
    """Return the makers of a run's controllers, by their names in the scenario.

    A library's class is a maker by itself. Each call also creates fresh modules, so that runs are
    independent.

    Args:
        scenario: the scenario of the run.
        classes: its `own_controllers`, if they have been read.

    Raises:
        ScenarioError: a controller cannot be created; the message names the problem and its place.
    """
    makers = dict[str, Maker | _core.ForeignController]()
    classes = own_controllers(scenario) if classes is None else classes
    for name, own in zip(scenario.own_controllers, classes, strict=True):
        if own.is_library:
            makers[name] = own.make()
            continue
        maker = Maker(*own.maker())
        maker()  # checks the parameters
        makers[name] = maker
    return makers


def python_code(
    scheduler: _core.Scheduler | None,
    workload: object,
    controllers: Mapping[str, Maker | _core.ForeignController],
) -> list[object]:
    """Return a run's Python code: scheduler, workload, and the classes of controllers."""
    kinds = [maker.kind for maker in controllers.values() if isinstance(maker, Maker)]
    written = [scheduler, workload if isinstance(workload, _core.Workload) else None, *kinds]
    return [one for one in written if one is not None]
