"""Dropped packets of queueing disciplines, asked of the kernel without starting a program."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence

from .plan import Counter
from .system import Namespaces

RTM_GETQDISC = 38
NLM_F_REQUEST_DUMP = 0x301
NLMSG_DONE = 3
TCA_STATS2 = 7
TCA_STATS_QUEUE = 3
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=BxxxiIII")
_ATTRIBUTE = struct.Struct("=HH")
_QUEUE = struct.Struct("=IIIII")


class Drops:
    """The drops of the devices of a namespace."""

    def __init__(self, namespaces: Namespaces, name: str) -> None:
        with namespaces.inside(name):
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
            self._devices = dict(socket.if_nameindex())

    def read(self) -> dict[str, int]:
        """Packets dropped so far, by device."""
        body = _TCMSG.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        header = _HEADER.pack(_HEADER.size + len(body), RTM_GETQDISC, NLM_F_REQUEST_DUMP, 1, 0)
        self._socket.send(header + body)
        found: dict[str, int] = {}
        while True:
            for kind, message in _messages(self._socket.recv(1 << 20)):
                if kind == NLMSG_DONE:
                    return found
                index = _TCMSG.unpack_from(message)[1]
                device = self._devices[index]
                found[device] = found.get(device, 0) + _drops(message[_TCMSG.size :])


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


def _drops(attributes: bytes) -> int:
    for kind, nested in _attributes(attributes):
        if kind != TCA_STATS2:
            continue
        for inner, queue in _attributes(nested):
            if inner == TCA_STATS_QUEUE:
                return int(_QUEUE.unpack_from(queue)[2])
    return 0


class Counters:
    """All counters of a run."""

    def __init__(self, namespaces: Namespaces, watched: Sequence[Counter]) -> None:
        names = sorted({counter.namespace for counter in watched})
        self._drops = {name: Drops(namespaces, name) for name in names}

    def read(self) -> dict[str, dict[str, int]]:
        """Packets dropped so far, by namespace and device."""
        return {name: drops.read() for name, drops in self._drops.items()}
