"""FreeBSD's SCTP stack in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from plait import _core
from plait.engines import Ability, Engine, Order, Refused
from plait.usrsctp import program


class Usrsctp(Engine):
    """CMT-SCTP of FreeBSD's stack on the simulator's links, a process per run (`plait.usrsctp`).

    The association is opened before the run begins. Congestion control is the stack's own, and so
    is round-robin. Any other scheduler decides for the stack from outside.
    """

    name = "usrsctp"
    lacks: ClassVar[Mapping[Ability, str]] = {
        "workload": "its stack reports no messages to a class of yours; sim and quic do",
        "controller": "the stack has its own controller; expected newreno",
        "pcap": "it writes no captures yet; --engine sim writes the simulator's",
    }

    def refusal(self, order: Order) -> str | None:
        """Return the scenario feature that the stack cannot express, if any."""
        refused = order.job.refusal_of_usrsctp()
        return None if refused is None else ": ".join(refused)

    def key(self, order: Order) -> str:
        """Return the scenario, and hashes of the extension and of the stack."""
        return f"{super().key(order)} {program.identity()}"

    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """See `Engine.run`."""
        for order in orders:
            if (refused := order.job.refusal_of_usrsctp()) is not None:
                raise Refused(self.name, order.job.scenario.name, *refused)
        jobs = [order.job for order in orders]
        return _core.run(jobs, threads=workers, progress=progress, usrsctp=program.require())
