"""The simulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from plait import _core
from plait.engines import Engine, Order


class Simulator(Engine):
    """Virtual time, in this process."""

    name = "sim"

    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """See `Engine.run`."""
        return _core.run([order.job for order in orders], threads=workers, progress=progress)
