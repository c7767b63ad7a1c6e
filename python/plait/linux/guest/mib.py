"""The kernel's own counters (MIBs) of both hosts: what TCP and MPTCP did, as /proc shows it to `nstat`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .plan import RECEIVER, SENDER
from .system import Namespaces

FILES = ("netstat", "snmp")
GROUPS = ("Tcp", "TcpExt", "MPTcpExt")
HOSTS = {"sender": SENDER, "receiver": RECEIVER}


def read(namespaces: Namespaces) -> dict[str, dict[str, int]]:
    """By host, by group and name such as ``TcpExt.TCPTimeouts``, since the host is there; without those that are 0.

    Competing flows are between the same hosts, and count too.
    """
    found = {}
    for host, namespace in HOSTS.items():
        with namespaces.inside(namespace):
            # /proc/net is the process's, not this thread's.
            texts = [Path(f"/proc/thread-self/net/{name}").read_text(encoding="ascii") for name in FILES]
        found[host] = {name: value for text in texts for name, value in counters(text) if value}
    return found


def counters(text: str) -> Iterator[tuple[str, int]]:
    """The counters in a file: of each group a line of names, then one of values."""
    lines = [line.split() for line in text.splitlines()]
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        group = names[0].removesuffix(":")
        if group in GROUPS:
            yield from (
                (f"{group}.{name}", int(value)) for name, value in zip(names[1:], values[1:], strict=True)
            )
