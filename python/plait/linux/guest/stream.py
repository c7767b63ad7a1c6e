"""The scenario's own connection: who writes into it, who reads from it, and what they note down."""

from __future__ import annotations

import array
import hashlib
import socket
import threading
import time
from pathlib import Path

from .content import Content
from .pace import moments, sleep_until
from .plan import Connection

READ = 1 << 20
"""Bytes that one call reads; it returns when they are there, or when the stream ends."""


class Log:
    """Moments and cumulative bytes."""

    def __init__(self) -> None:
        self._times = array.array("q")
        self._bytes = array.array("Q")

    def add(self, moment_ns: int, total: int) -> None:
        """`total` bytes so far."""
        self._times.append(moment_ns)
        self._bytes.append(total)

    def write(self, file: Path) -> None:
        """As pairs of 64-bit numbers, little-endian like every machine that UML runs on."""
        both = array.array("q", bytes(16 * len(self._times)))
        both[0::2] = self._times
        both[1::2] = array.array("q", self._bytes.tobytes())
        file.write_bytes(both.tobytes())


class Writer(threading.Thread):
    """Connects, and writes what the plan's source says, from `start_ns` of the clock on."""

    def __init__(self, connection: socket.socket, plan: Connection, seed: int, start_ns: int) -> None:
        super().__init__(daemon=True)
        self._connection = connection
        self._receiver = (plan.receiver, plan.port)
        self._source = plan.source
        self._content = Content(seed)
        self._start_ns = start_ns
        self.log = Log()
        self.written = 0
        self.offered = 0
        """What is written, with a write that has not returned: the kernel may have taken, and sent, a part of it."""
        self.connected = False
        self.error: OSError | None = None

    def run(self) -> None:
        """Ends when all is written, or when the run is over."""
        try:
            self._connection.connect(self._receiver)
            self.connected = True
            if self._source.kind == "blocks":
                self._blocks()
            else:
                self._whole()
        except OSError as error:
            self.error = error

    def _whole(self) -> None:
        size = self._source.size
        due = self._start_ns + self._source.start_ns
        sleep_until(due)
        if size is not None:
            self.log.add(due, size)
        for chunk in self._content.chunks():
            if size is not None and self.written >= size:
                break
            self._send(chunk if size is None else chunk[: size - self.written])
        # The connection stays open: after the last byte has been announced the kernel would open no more subflows.

    def _blocks(self) -> None:
        size = self._source.block
        assert size is not None
        for moment in moments(self._source):
            due = self._start_ns + moment
            sleep_until(due)
            self.log.add(due, self.written + size)
            self._send(self._content.part(self.written, size))

    def _send(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view:
            self.offered = self.written + len(view)
            sent = self._connection.send(view)
            self.written += sent
            view = view[sent:]


class Reader(threading.Thread):
    """Accepts the connection and reads everything as it arrives; `done` is set when `expected` bytes have."""

    def __init__(self, listener: socket.socket, expected: int | None, logs: bool) -> None:
        super().__init__(daemon=True)
        self._listener = listener
        self._connection: socket.socket | None = None
        self._expected = expected
        self.logs = logs
        self._digest = hashlib.sha256()
        self.log = Log()
        self.received = 0
        self.completed_ns: int | None = None
        self.done = threading.Event()

    def run(self) -> None:
        """Ends when the stream does, or the connection is shut down."""
        connection, _ = self._listener.accept()
        self._connection = connection
        buffer = bytearray(READ)
        # The kernel takes data out of the receive buffer as it arrives while it waits for the rest; only who notes
        # down every arrival has to be woken by each.
        flags = 0 if self.logs else socket.MSG_WAITALL
        while True:
            left = READ if self._expected is None else min(READ, self._expected - self.received)
            size = connection.recv_into(buffer, left, flags) if left else 0
            if size == 0:
                break
            self.received += size
            if self.logs or self.received == self._expected:
                now = time.time_ns()
                self.log.add(now, self.received)
                if self.received == self._expected:
                    self.completed_ns = now
                    self.done.set()
            self._digest.update(memoryview(buffer)[:size])

    def stop(self) -> None:
        """Ends the reading with what has arrived."""
        if self._connection is not None:
            self._connection.shutdown(socket.SHUT_RD)
            self.join()

    def sha256(self) -> str:
        """The hash of what was received."""
        return self._digest.hexdigest()
