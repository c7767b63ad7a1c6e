"""What the compiler watches before it builds the extension for good: runs like those that people make.

The profile says which branches are taken and what is worth inlining, so it has to have every protocol, schedulers of
several kinds, losses, queues that overflow, small windows and short runs. The runs are of the instrumented extension;
what they measure is nobody's result.

``python packaging/training.py``: maturin calls it, see ``pgo-command`` in pyproject.toml.
"""

from __future__ import annotations

import dataclasses
import itertools

import plait

TRANSPORTS = (
    plait.Transport(protocol="cmt-sctp"),
    plait.Transport(protocol="mptcp", profile="linux"),
    plait.Transport(protocol="mptcp", profile="standard"),
    plait.Transport(protocol="mpquic"),
)
SCHEDULERS = (
    "round-robin",
    "lowest-rtt",
    "linux-default",
    "blest",
    "delivery-delay+rp",
    "daps-rounds",
    "ecf",
)
BUFFERS = ("256kB", "4MB")
NETWORKS = (
    ("1.5s", "100Mbit", "1000p", "0%"),
    ("8s", "10Mbit", "bdp", "0%"),
    ("8s", "20Mbit", "bdp", "0.5%"),
)
"""Duration, and each path's rate, queue and loss."""


def main() -> None:
    """Runs each transport over each network with each scheduler and buffer."""
    for protocol, (duration, rate, queue, loss), buffer in itertools.product(TRANSPORTS, NETWORKS, BUFFERS):
        transport = dataclasses.replace(protocol, receive_buffer=buffer)
        paths = [plait.Path(rate=rate, rtt=rtt, queue=queue, loss=loss) for rtt in ("20ms", "100ms")]
        scenario = plait.Scenario(paths=paths, duration=duration, transport=transport)
        for scheduler in SCHEDULERS:
            plait.run(scenario, scheduler)


if __name__ == "__main__":
    main()
