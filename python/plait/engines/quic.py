"""Real QUIC connections in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from plait import _core
from plait.engines import Ability, Engine, Order, Refused


class Quic(Engine):
    """Protocol of `plait send` on the simulator's links: a QUIC connection with TLS per path.

    The endpoints are those of `transport.protocol = "mpquic"`. A run adds the connections' headers,
    acknowledgements and probes. The connections are opened before the run begins.
    """

    name = "quic"
    lacks: ClassVar[Mapping[Ability, str]] = {
        "pcap": "its packets are encrypted; --engine sim writes their content",
    }

    def refusal(self, order: Order) -> str | None:
        """Return the scenario feature that QUIC connections cannot carry, if any."""
        refused = order.job.refusal_of_quic()
        return None if refused is None else ": ".join(refused)

    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """See `Engine.run`."""
        for order in orders:
            if (refused := order.job.refusal_of_quic()) is not None:
                raise Refused(self.name, order.job.scenario.name, *refused)
        return _core.run([order.job for order in orders], threads=workers, progress=progress, quic=True)
