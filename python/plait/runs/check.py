"""Conformance check of a custom scheduler: the rules that every engine relies on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plait import _core
from plait.runs.watchdog import Watchdog
from plait.scenarios.class_state import ClassState
from plait.scenarios.own import Own
from plait.scenarios.python_class import checked, make
from plait.scenarios.scheduler import Choice, choice_of, label

EXPECTED = "expected FILE.py:CLASS:parameter=value:…, a class, or a function that makes instances"


def check_scheduler(scheduler: Choice | Callable[[], _core.Scheduler]) -> str:
    """Test with random situations whether a scheduler obeys the rules.

    Args:
        scheduler: as `run` takes one of the user: ``"mine.py:Mine:share=0.5"``, a table, or a
            class; or a function that makes instances, such as ``lambda: Mine(share=0.5)``.

    Returns:
        A summary in one line.

    Raises:
        ConformanceError: a rule is broken; names the first one. ScenarioError: bad input, or runs
            change the class itself. RunError: a call did not return.
    """
    name, create = _maker(scheduler)
    kinds = [type(create())]
    state = ClassState(kinds)
    with Watchdog(kinds):
        summary = _core.check_scheduler(create, name)
    state.check()
    return summary


def _maker(scheduler: Any) -> tuple[str, Callable[[], _core.Scheduler]]:
    """Return the scheduler's label, and a function that makes instances."""
    choice = choice_of(scheduler)
    if isinstance(choice, Own) and not choice.is_library:
        return choice.label, choice.maker()[1]
    if isinstance(choice, type):
        origin = f"scheduler {choice.__name__}"
        return choice.__name__, lambda: make(choice, (), origin)
    if callable(choice) and not isinstance(choice, _core.Scheduler):
        first = choice()
        return label(checked(first, f"scheduler {type(first).__name__}")), choice
    message = f"check_scheduler: {EXPECTED}; got {scheduler!r}"
    raise _core.ScenarioError(message)
