"""The kernel's own counters of a host, those of its management information base (MIB), and what they tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .system import Namespaces

FILES = ("snmp", "netstat")
GROUPS = ("Tcp", "TcpExt", "MPTcpExt")
STATES = frozenset({"RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab", "MPCurrEstab"})
"""What is there among the counters and counts nothing."""

Counters = Mapping[str, Mapping[str, int]]
"""By group and name, as the kernel calls them; those that are zero are left out."""

FALLBACKS: Mapping[str, str] = {
    "MPCapableFallbackSYNACK": "the SYN/ACK came without MP_CAPABLE",
    "MPCapableFallbackACK": "the packet that ended the handshake came without MP_CAPABLE",
    "MPCapableDataFallback": "the first data came without MP_CAPABLE",
    "DssFallback": "data came without a mapping that holds for it",
    "DSSCorruptionFallback": "data and its mapping contradicted each other",
    "SimultConnectFallback": "both ends connected at the same time",
    "MD5SigFallback": "MD5 signatures exclude MPTCP",
    "MPFallbackTokenInit": "no token was free",
}
"""Why the kernel gives up MPTCP: the counters of 6.12, in the order of a connection's life."""


def read(namespaces: Namespaces, host: str) -> Counters:
    """All since the machine started."""
    found: dict[str, dict[str, int]] = {}
    with namespaces.inside(host):
        texts = [Path("/proc/thread-self/net", file).read_text(encoding="ascii") for file in FILES]
    for text in texts:
        lines = text.splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group, *columns = names.split()
            counts = zip(columns, map(int, values.split()[1:]), strict=True)
            if group.rstrip(":") in GROUPS:
                counted = {name: count for name, count in counts if count and name not in STATES}
                found[group.rstrip(":")] = counted
    return found


def why_fallen_back(sender: Counters, receiver: Counters) -> str:
    """Why a connection became one of TCP, and who found out."""
    reasons = [
        f"{host}: {reason} ({name})"
        for name, reason in FALLBACKS.items()
        for host, counters in (("sender", sender), ("receiver", receiver))
        if name in counters.get("MPTcpExt", {})
    ]
    return "; ".join(reasons) or "the kernel does not say why"
