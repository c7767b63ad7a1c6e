"""The kernel's MIB counters of a host (management information base), and fallback reasons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .system import Namespaces

FILES = ("snmp", "netstat")
GROUPS = ("Tcp", "TcpExt", "MPTcpExt")
STATES = frozenset({"RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn", "CurrEstab", "MPCurrEstab"})
"""Entries among the counters that are states and count nothing."""

Counters = Mapping[str, Mapping[str, int]]
"""Keys are group and name in the kernel's spelling; counters of zero are left out."""

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
"""Reasons of a fallback to TCP: the counters of Linux 6.12, in the order of a connection's life."""


def read(namespaces: Namespaces, host: str) -> Counters:
    """Return all counters since the machine's start."""
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
    """Return the reason of a fallback to TCP, and the host that detected it."""
    reasons = [
        f"{host}: {reason} ({name})"
        for name, reason in FALLBACKS.items()
        for host, counters in (("sender", sender), ("receiver", receiver))
        if name in counters.get("MPTcpExt", {})
    ]
    return "; ".join(reasons) or "the kernel does not say why"
