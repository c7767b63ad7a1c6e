"""Reads queue lengths and drops of queueing disciplines from the kernel, without a program."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .plan import Counter
from .system import Namespaces

RTM_GETQDISC = 38
NLM_F_REQUEST_DUMP = 0x301
NLMSG_DONE = 3
TC_H_ROOT = 0xFFFFFFFF
TCA_KIND = 1
TCA_STATS2 = 7
TCA_STATS_QUEUE = 3
TCA_STATS_APP = 4
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_QUEUE = struct.Struct("=IIIII")
_OWN = {
    # struct tc_codel_xstats: the sixth and seventh numbers.
    "codel": struct.Struct("=20xII"),
    # struct tc_fq_codel_xstats: type, largest packet, then these numbers.
    "fq_codel": struct.Struct("=8xII"),
}
"""Position of the disciplines' counters of drops because of a full queue, and of marks."""


@dataclass(frozen=True)
class Queue:
    """Packets in a queue, and packets dropped so far."""

    packets: int
    drops: int
    over_limit: int = 0
    marks: int = 0


Queues = Mapping[str, Mapping[str, Queue]]
"""Keys are namespace and device."""


class _Namespace:
    """The queueing disciplines of a namespace."""

    def __init__(self, namespaces: Namespaces, name: str) -> None:
        with namespaces.inside(name):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self._devices = dict(socket.if_nameindex())

    def read(self) -> dict[str, Queue]:
        """Return the queues of all devices."""
        body = _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        header = _HEADER.pack(_HEADER.size + len(body), RTM_GETQDISC, NLM_F_REQUEST_DUMP, 1, 0)
        self._socket.send(header + body)
        found: dict[str, Queue] = {}
        active: dict[str, Queue] = {}
        while True:
            for kind, message in _messages(self._socket.recv(1 << 20)):
                if kind == NLMSG_DONE:
                    return found | active
                _, index, _, parent, _ = _TCMSG.unpack_from(message)
                attributes = dict(_attributes(message[_TCMSG.size :]))
                queue = _queue(attributes)
                if parent == TC_H_ROOT:
                    found[self._devices[index]] = queue
                elif _kind(attributes) in _OWN:
                    # The discipline above it only sets the rate.
                    active[self._devices[index]] = queue


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while data:
        length, kind, *_ = _HEADER.unpack_from(data)
        yield kind, data[_HEADER.size : length]
        data = data[(length + 3) & ~3 :]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        yield kind & 0x3FFF, data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]


def _kind(attributes: Mapping[int, bytes]) -> str:
    return attributes.get(TCA_KIND, b"").rstrip(b"\0").decode("ascii")


def _queue(attributes: Mapping[int, bytes]) -> Queue:
    statistics = dict(_attributes(attributes.get(TCA_STATS2, b"")))
    if TCA_STATS_QUEUE not in statistics:
        return Queue(packets=0, drops=0)
    packets, _, drops, *_ = _QUEUE.unpack_from(statistics[TCA_STATS_QUEUE])
    own = _OWN.get(_kind(attributes))
    if own is None or TCA_STATS_APP not in statistics:
        return Queue(packets=packets, drops=drops)
    over_limit, marks = own.unpack_from(statistics[TCA_STATS_APP])
    return Queue(packets=packets, drops=drops, over_limit=over_limit, marks=marks)


class Counters:
    """All queues that a plan watches."""

    def __init__(self, namespaces: Namespaces, watched: Sequence[Counter]) -> None:
        names = sorted({counter.namespace for counter in watched})
        self._namespaces = {name: _Namespace(namespaces, name) for name in names}

    def read(self) -> Queues:
        """Return the present counters."""
        return {name: namespace.read() for name, namespace in self._namespaces.items()}
