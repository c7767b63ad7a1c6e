"""Competing traffic."""

from __future__ import annotations

import socket
import struct
import threading
import time
from typing import Protocol

from .content import CHUNK
from .pace import moments, sleep_until
from .plan import FlowPlan
from .sockets import set_receive_memory, stream_socket
from .stream import READ
from .system import Namespaces

RECEIVE_MEMORY = 26_600_000
"""Receive buffer of a stream in bytes: a window of 16 MiB, more than any link holds, as in the
simulator.

The scenario's receive buffer applies to its own connection only.
"""
DATAGRAM_HEADERS = 36
"""Bytes of the IP header, the UDP header, and the datagram's number, which identifies it in
captures."""


class Flow(Protocol):
    """A flow that waits for its start."""

    completed_ns: int | None

    def start(self, start_ns: int) -> None:
        """Start the flow; the run begins at `start_ns` of the clock."""


class TcpFlow:
    """A stream over one path, which falls silent at its stop."""

    def __init__(self, plan: FlowPlan, namespaces: Namespaces) -> None:
        self._plan = plan
        self.completed_ns: int | None = None
        with namespaces.inside(plan.receiver_namespace):
            self._listener = stream_socket("tcp")
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        set_receive_memory(self._listener, RECEIVE_MEMORY)
        self._listener.bind((plan.receiver, plan.port))
        self._listener.listen()
        with namespaces.inside(plan.sender_namespace):
            self._sender = stream_socket("tcp")
        if plan.congestion_control is not None:
            name = plan.congestion_control.encode()
            self._sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
        self._sender.bind((plan.sender, 0))

    def start(self, start_ns: int) -> None:
        """Start the threads that connect and send, and that read."""
        threading.Thread(target=self._send, args=(start_ns,), daemon=True).start()
        threading.Thread(target=self._receive, daemon=True).start()
        if self._plan.source.stop_ns is not None:
            stop = start_ns + self._plan.source.stop_ns
            threading.Thread(target=self._stop, args=(stop,), daemon=True).start()

    def _send(self, start_ns: int) -> None:
        source, data, sent = self._plan.source, bytes(CHUNK), 0
        sleep_until(start_ns + source.start_ns)
        try:
            self._sender.connect((self._plan.receiver, self._plan.port))
            while source.size is None or sent < source.size:
                part = data if source.size is None else data[: source.size - sent]
                sent += self._sender.send(part)
        except OSError:
            return  # stopped

    def _stop(self, moment_ns: int) -> None:
        sleep_until(moment_ns)
        # The receiver gets no FIN, and losses up to this time are not retransmitted.
        self._sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sender.shutdown(socket.SHUT_RDWR)
        self._sender.close()

    def _receive(self) -> None:
        connection, _ = self._listener.accept()
        buffer, received, expected = bytearray(READ), 0, self._plan.source.size
        while expected is None or received < expected:
            left = READ if expected is None else min(READ, expected - received)
            try:
                size = connection.recv_into(buffer, left, socket.MSG_WAITALL)
            except OSError:
                return  # stopped
            if size == 0:
                return
            received += size
        self.completed_ns = time.time_ns()


class DatagramFlow:
    """Datagrams without acknowledgements and without a reader: the capture counts them."""

    def __init__(self, plan: FlowPlan, namespaces: Namespaces) -> None:
        self._plan = plan
        self.completed_ns: int | None = None
        with namespaces.inside(plan.receiver_namespace):
            self._receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._receiver.bind((plan.receiver, plan.port))
        with namespaces.inside(plan.sender_namespace):
            self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sender.bind((plan.sender, 0))
        self._sender.connect((plan.receiver, plan.port))

    def start(self, start_ns: int) -> None:
        """Start the thread that sends each datagram when it is due."""
        threading.Thread(target=self._send, args=(start_ns,), daemon=True).start()

    def _send(self, start_ns: int) -> None:
        assert self._plan.source.block is not None
        rest = bytes(self._plan.source.block - DATAGRAM_HEADERS)
        for number, moment in enumerate(moments(self._plan.source)):
            sleep_until(start_ns + moment)
            self._sender.send(number.to_bytes(8, "big") + rest)


def make_flow(plan: FlowPlan, namespaces: Namespaces) -> Flow:
    """Return the flow, ready to start."""
    return TcpFlow(plan, namespaces) if plan.kind == "tcp" else DatagramFlow(plan, namespaces)
