"""The scenario's own connection: its writer, its reader, and their logs."""

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
"""Bytes of one read call, which returns when they have arrived or when the stream ends."""


class Log:
    """Times and cumulative bytes."""

    def __init__(self) -> None:
        self._times = array.array("q")
        self._bytes = array.array("Q")

    def add(self, moment_ns: int, total: int) -> None:
        """Record `total` bytes so far."""
        self._times.append(moment_ns)
        self._bytes.append(total)

    def write(self, file: Path) -> None:
        """Write pairs of 64-bit numbers, little-endian as all machines with UML."""
        both = array.array("q", bytes(16 * len(self._times)))
        both[0::2] = self._times
        both[1::2] = array.array("q", self._bytes.tobytes())
        file.write_bytes(both.tobytes())


class Writer(threading.Thread):
    """Connects, and writes the data of the plan's source from `start_ns` of the clock on."""

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
        """Written bytes plus those of the unfinished write: the kernel may have sent a part of it.
        """
        self.connected = False
        self.error: OSError | None = None

    def run(self) -> None:
        """Write until all data is written, or until the run ends."""
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
        # The connection stays open: after a DATA_FIN the kernel would open no more subflows.

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
    """Accepts the connection and reads data on arrival; `done` is set after `expected` bytes."""

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
        """Read until the stream ends, or until the connection is shut down."""
        connection, _ = self._listener.accept()
        self._connection = connection
        buffer = bytearray(READ)
        # While it waits for the rest, the kernel removes arriving data from the receive buffer.
        # Only a reader that logs every arrival has to wake up for each.
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
        """End the reading with the data that has arrived."""
        if self._connection is not None:
            self._connection.shutdown(socket.SHUT_RD)
            self.join()

    def sha256(self) -> str:
        """Return the hash of the received data."""
        return self._digest.hexdigest()
