"""The captures of both hosts, which the kernel itself writes into the run's folder."""

from __future__ import annotations

from pathlib import Path

from .plan import CLIENT_PORTS, RECEIVER, SENDER, Plan
from .system import Namespaces

CONTROL = Path("/sys/kernel/debug/capture")
"""Control file of the captures: `arch/um/drivers/capture_kern.c`, in Plait's patches."""
FILES = {SENDER: "sender.pcap", RECEIVER: "receiver.pcap"}
"""File names as the host's process opens them; its current folder is the run's."""
DROPS = "drops.bin"
"""Packets that MPTCP dropped although the captures show their arrival."""


class Captures:
    """Captures of all data of the connection and of the flows, selected by their ports."""

    def __init__(self, plan: Plan, namespaces: Namespaces) -> None:
        ports = [plan.connection.port, *(flow.port for flow in plan.flows)]
        if plan.connection.opener == RECEIVER:
            ports += CLIENT_PORTS
        for name, file in FILES.items():
            with namespaces.inside(name):
                CONTROL.write_text(f"start {file} {min(ports)} {max(ports)}", encoding="ascii")
        for queue in plan.queues:
            with namespaces.inside(queue.place.namespace):
                CONTROL.write_text(f"start {queue.capture} 0 65535", encoding="ascii")
        CONTROL.write_text(f"drops {DROPS}", encoding="ascii")

    def close(self) -> None:
        """End the captures; OSError if one is incomplete."""
        CONTROL.write_text("stop", encoding="ascii")
