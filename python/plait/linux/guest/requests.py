"""Requests and responses over the scenario's connection, between receiver and sender."""

from __future__ import annotations

import array
import hashlib
import heapq
import socket
import threading
import time
from collections import deque
from pathlib import Path

from .content import CHUNK, Content
from .pace import SECOND
from .plan import Connection
from .sockets import limit_send_buffer
from .stream import READ, Log

NEVER = -1


class Exchange:
    """Every request so far, in the order of writing."""

    def __init__(self) -> None:
        self._rows: list[list[int]] = []
        self._ends = [0, 0]
        self._next = [0, 0]

    def ask(self, moment_ns: int, request: int, response: int) -> None:
        """Record a written request, with its size and the size of its response."""
        self._rows.append([moment_ns, NEVER, NEVER, request, response])

    def arrived(self, kind: int, moment_ns: int, total: int) -> int | None:
        """Record the arrival of the next request (0) or response (1), and return its number.

        `total` is the number of bytes that have arrived. The result is None if it is incomplete.
        """
        number = self._next[kind]
        if number == len(self._rows) or self._ends[kind] + self._rows[number][3 + kind] > total:
            return None
        self._ends[kind] += self._rows[number][3 + kind]
        self._next[kind] += 1
        self._rows[number][1 + kind] = moment_ns
        return number

    def response(self, number: int) -> int:
        """Return the bytes of the response to a request."""
        return self._rows[number][4]

    def write(self, file: Path) -> None:
        """Write the requests as records of five 64-bit numbers, little-endian."""
        file.write_bytes(array.array("q", [value for row in self._rows for value in row]).tobytes())


class Server(threading.Thread):
    """The sender: accepts the connection, and answers every complete request."""

    def __init__(self, listener: socket.socket, plan: Connection, seed: int, exchange: Exchange) -> None:
        super().__init__(daemon=True)
        self._listener = listener
        self._send_buffer = plan.send_buffer
        self._content = Content(seed)
        self._exchange = exchange
        self._answers: deque[int] = deque()
        self._more = threading.Semaphore(0)
        self.connection: socket.socket | None = None
        self.log = Log()
        self.written = 0
        self.error: OSError | None = None

    @property
    def connected(self) -> bool:
        """Whether the connection exists."""
        return self.connection is not None

    @property
    def offered(self) -> int:
        """Total bytes of the responses, written or waiting."""
        return self.written

    def run(self) -> None:
        """Read requests until the connection ends."""
        try:
            connection, _ = self._listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._send_buffer is not None:
                limit_send_buffer(connection, self._send_buffer)
            self.connection = connection
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
            buffer, received = bytearray(READ), 0
            while size := connection.recv_into(buffer):
                received += size
                while (number := self._exchange.arrived(0, time.time_ns(), received)) is not None:
                    self._answers.append(self._exchange.response(number))
                    self.written += self._exchange.response(number)
                    self._more.release()
        except OSError as error:
            self.error = error

    def _answer(self, connection: socket.socket) -> None:
        """Write responses in their own thread: a full send buffer delays responses only."""
        sent = 0
        while True:
            self._more.acquire()
            size = self._answers.popleft()
            try:
                connection.sendall(self._content.part(sent, size))
            except OSError as error:
                self.error = error
                return
            sent += size


class Clients(threading.Thread):
    """The receiver: connects; every client asks, reads the response, thinks and asks again."""

    def __init__(
        self, connection: socket.socket, plan: Connection, start_ns: int, exchange: Exchange
    ) -> None:
        super().__init__(daemon=True)
        self._connection = connection
        self._server = (plan.sender, plan.port)
        source = plan.source
        self._demands = [deque(client) for client in source.demands]
        self._left = source.count
        self._count = source.count
        self._stop_ns = None if source.stop_ns is None else start_ns + source.stop_ns
        self._exchange = exchange
        self._change = threading.Condition()
        self._due = [(start_ns + source.start_ns, client) for client in range(len(source.demands))]
        self._asked: list[tuple[int, int]] = []
        self._digest = hashlib.sha256()
        self.logs = False
        self.log = Log()
        self.received = 0
        self.completed_ns: int | None = None
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        """Read responses until all have arrived, or until the connection is shut down."""
        try:
            self._connection.connect(self._server)
            threading.Thread(target=self._ask, daemon=True).start()
            buffer = bytearray(READ)
            while size := self._connection.recv_into(buffer):
                now = time.time_ns()
                self.received += size
                self._digest.update(memoryview(buffer)[:size])
                self._read(now)
        except OSError as error:
            self.error = error

    def _read(self, now_ns: int) -> None:
        while (number := self._exchange.arrived(1, now_ns, self.received)) is not None:
            client, think = self._asked[number]
            with self._change:
                heapq.heappush(self._due, (now_ns + think, client))
                self._change.notify()
            if number + 1 == self._count:
                self.completed_ns = now_ns
                self.done.set()

    def _next(self) -> tuple[int, int] | None:
        """Wait for the next due request; return its time and client, or None after the last one."""
        with self._change:
            while self._left != 0:
                left = self._due[0][0] - time.time_ns() if self._due else None
                if left is None or left > 0:
                    self._change.wait(None if left is None else left / SECOND)
                    continue
                due, client = heapq.heappop(self._due)
                if self._stop_ns is None or due < self._stop_ns:
                    return due, client
        return None

    def _ask(self) -> None:
        try:
            while (asking := self._next()) is not None:
                due, client = asking
                request, response, think = self._demands[client].popleft()
                self._left = None if self._left is None else self._left - 1
                self._asked.append((client, think))
                self._exchange.ask(due, request, response)
                self._send(request)
        except (OSError, IndexError) as error:
            self.error = error

    def _send(self, size: int) -> None:
        while size > 0:
            size -= self._connection.send(bytes(min(size, CHUNK)))

    def stop(self) -> None:
        """End the reading with the data that has arrived."""
        self._connection.shutdown(socket.SHUT_RD)
        self.join()

    def sha256(self) -> str:
        """Return the hash of the received data."""
        return self._digest.hexdigest()
