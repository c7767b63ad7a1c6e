"""The rules that every engine relies on, tried on a scheduler of one's own."""

from __future__ import annotations

from collections.abc import Callable

from plait import _core
from plait.runs.watchdog import Watchdog
from plait.scenarios.class_state import ClassState


def check_scheduler(factory: Callable[[], _core.Scheduler]) -> str:
    """Drive a scheduler through random situations, and see that it keeps the rules.

    Args:
        factory: makes a fresh instance; a class does.

    Returns:
        A summary in one line.

    Raises:
        ConformanceError: a rule is broken; names the first one. ScenarioError: runs change the class itself.
            RunError: a call did not return.
    """
    kinds = [factory] if isinstance(factory, type) else []
    state = ClassState(kinds)
    with Watchdog(kinds):
        summary = _core.check_scheduler(factory)
    state.check()
    return summary
