"""The roles that a class of the user may have: its base class, and the methods that are called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from plait import _core


@dataclass(frozen=True, eq=False)
class Role:
    """A role.

    name: its name in messages. base: the base class of its classes. methods: the arguments of each
    method, without `self`; the class must have the first one. answer: an answer of the methods, if
    they have one.
    """

    name: str
    base: type
    methods: Mapping[str, str]
    answer: str | None = None

    @property
    def required(self) -> str:
        """The method that the class must have."""
        return next(iter(self.methods))

    def signature(self, method: str) -> str:
        """Return the definition of a method."""
        return f"def {method}({', '.join(filter(None, ('self', self.methods[method])))})"


SCHEDULER = Role(
    "scheduler",
    _core.Scheduler,
    {"decide": "now, connection, paths", "on_event": "event, connection, paths"},
    "a decision, such as plait.Wait()",
)
WORKLOAD = Role(
    "workload",
    _core.Workload,
    {"begin": "", "on_time": "now", "on_delivered": "now, delivery"},
    "a step, such as plait.Write(1000)",
)
CONTROLLER = Role(
    "controller",
    _core.CongestionController,
    {"on_ack": "ack", "on_event": "event", "start": ""},
)
ROLES = (SCHEDULER, WORKLOAD, CONTROLLER)


def role_of(kind: type) -> Role:
    """Return the role of a class; that of schedulers for a class without one."""
    return next((role for role in ROLES if issubclass(kind, role.base)), SCHEDULER)
