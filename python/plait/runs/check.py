"""Conformance check of a custom scheduler: the rules that every engine relies on."""

from __future__ import annotations

from collections.abc import Callable

from plait import _core
from plait.runs.watchdog import Watchdog
from plait.scenarios.class_state import ClassState


def check_scheduler(factory: Callable[[], _core.Scheduler]) -> str:
    """Test with random situations whether a scheduler obeys the rules.

    Args:
        factory: makes a fresh instance, such as a class.

    Returns:
        A summary in one line.

    Raises:
        ConformanceError: a rule is broken; names the first one. ScenarioError: runs change the
            class itself. RunError: a call did not return.
    """
    kinds = [factory] if isinstance(factory, type) else []
    state = ClassState(kinds)
    with Watchdog(kinds):
        summary = _core.check_scheduler(factory)
    state.check()
    return summary
