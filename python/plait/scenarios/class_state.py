"""Detects changes of the attributes of a user's class, which would affect the next run."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plait import _core
from plait.scenarios.roles import role_of


class ClassState:
    """The data attributes of classes, for a comparison after runs.

    Objects that pickle refuses are left out.

    Args:
        kinds: subclasses of `Scheduler`, `Workload` and `CongestionController`.
    """

    def __init__(self, kinds: Iterable[type]) -> None:
        self._before = {kind: _attributes(kind) for kind in kinds}

    def check(self) -> None:
        """Check that no attribute has changed.

        Raises:
            ScenarioError: a run changed an attribute of its class, so that the next run would begin
                with it.
        """
        for kind, before in self._before.items():
            now = _attributes(kind)
            changed = [name for name in {**before, **now} if before.get(name) != now.get(name)]
            if changed:
                name = f"{kind.__name__}.{changed[0]}"
                message = (
                    f"{role_of(kind).name} {kind.__name__}: the run changed {name}, an attribute of the class, "
                    f"with which the next run would begin; expected self.{changed[0]} = … in __init__"
                )
                raise _core.ScenarioError(message)


def _attributes(kind: type) -> Mapping[str, bytes]:
    """Return the data of a class and of its base classes, by name."""
    found: dict[str, bytes] = {}
    base = role_of(kind).base
    for one in reversed(kind.__mro__):
        if issubclass(one, base) and one is not base:
            found |= dict(_pickled(vars(one)))
    return found


def _pickled(values: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name, value in values.items():
        if name.startswith("__") or callable(value) or hasattr(value, "__get__"):
            continue
        try:
            yield name, pickle.dumps(value)
        except Exception:
            continue
