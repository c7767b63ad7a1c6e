"""Queueing disciplines: what waits and what was dropped, asked of the kernel without starting a program."""

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
TCA_STATS2 = 7
TCA_STATS_QUEUE = 3
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_QUEUE = struct.Struct("=IIIII")


@dataclass(frozen=True)
class Queue:
    """Packets that wait, and packets dropped so far."""

    packets: int
    drops: int


Queues = Mapping[str, Mapping[str, Queue]]
"""By namespace and device."""


class _Namespace:
    """The queueing disciplines of a namespace."""

    def __init__(self, namespaces: Namespaces, name: str) -> None:
        with namespaces.inside(name):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self._devices = dict(socket.if_nameindex())

    def read(self) -> dict[str, Queue]:
        """All of them, by device."""
        body = _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        header = _HEADER.pack(_HEADER.size + len(body), RTM_GETQDISC, NLM_F_REQUEST_DUMP, 1, 0)
        self._socket.send(header + body)
        found: dict[str, Queue] = {}
        while True:
            for kind, message in _messages(self._socket.recv(1 << 20)):
                if kind == NLMSG_DONE:
                    return found
                _, index, _, parent, _ = _TCMSG.unpack_from(message)
                if parent == TC_H_ROOT:
                    found[self._devices[index]] = _queue(message[_TCMSG.size :])


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


def _queue(attributes: bytes) -> Queue:
    for kind, nested in _attributes(attributes):
        if kind != TCA_STATS2:
            continue
        for inner, queue in _attributes(nested):
            if inner == TCA_STATS_QUEUE:
                packets, _, drops, *_ = _QUEUE.unpack_from(queue)
                return Queue(packets=packets, drops=drops)
    return Queue(packets=0, drops=0)


class Counters:
    """All that a plan watches."""

    def __init__(self, namespaces: Namespaces, watched: Sequence[Counter]) -> None:
        names = sorted({counter.namespace for counter in watched})
        self._namespaces = {name: _Namespace(namespaces, name) for name in names}

    def read(self) -> Queues:
        """As they are now."""
        return {name: namespace.read() for name, namespace in self._namespaces.items()}
