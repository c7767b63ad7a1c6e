"""The captures of both hosts, which the kernel writes into the run's folder by itself."""

from __future__ import annotations

from pathlib import Path

from .plan import CLIENT_PORTS, RECEIVER, SENDER, Plan
from .system import Namespaces

CONTROL = Path("/sys/kernel/debug/capture")
"""What the kernel takes its orders by: `arch/um/drivers/capture_kern.c`, in our patches."""
FILES = {SENDER: "sender.pcap", RECEIVER: "receiver.pcap"}
"""As the host's process opens them, whose current folder is the run's."""
DROPS = "drops.bin"
"""What MPTCP dropped although the captures show that it arrived."""


class Captures:
    """Everything that carries data, of the connection and of the flows: it goes to their ports."""

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
        """Ends them; OSError if one could not be written whole."""
        CONTROL.write_text("stop", encoding="ascii")
