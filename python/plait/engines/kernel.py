"""The real kernel in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from plait import _core
from plait.engines import Ability, Engine, Order, Refused
from plait.linux import engine as lab
from plait.linux import kernel
from plait.linux.plan import make_plan


class Kernel(Engine):
    """Linux' own TCP and MPTCP, each run in a guest of its own (`plait.linux`)."""

    name = "linux"
    lacks: ClassVar[Mapping[Ability, str]] = {
        "python": "the kernel runs no Python",
        "workload": "the guests run no class of yours; sim and quic do",
        "library": "the kernel runs no shared library, only schedulers compiled into it (linux/schedulers)",
        "controller": "the kernel has its own controllers; expected cubic, newreno or bbr",
        "pcap": f"the kernel makes its own captures; {lab.KEEP}=DIR keeps them: DIR/run-0/sender.pcap, …",
    }

    def refusal(self, order: Order) -> str | None:
        """Return the refusal of the run's plan, if any."""
        try:
            make_plan(order.job)
        except Refused as refused:
            return refused.why
        return None

    def key(self, order: Order) -> str:
        """Return the run's plan, and hashes of the kernel and of the evaluation of captures."""
        return make_plan(order.job).to_json() + kernel.identity() + _core.measurement()

    def run(
        self, orders: Sequence[Order], *, workers: int, progress: Callable[[float], None] | None
    ) -> list[_core.Run]:
        """See `Engine.run`."""
        return lab.run(orders, processes=workers, progress=progress)
