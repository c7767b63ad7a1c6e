"""Programs at both ends of `day.py`, which starts them in its namespaces.

``python day_ends.py PROGRAM TASK``: *origin* answers at the far end. *load* (TCP connections),
*talk* (an interactive flow) and *tunnel* (datagrams of WireGuard's size) run at the near end. Times
are monotonic.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import json
import math
import os
import random
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

ORIGIN, TALK, TUNNEL = 7000, 7001, 7002
"""Ports of the far end's programs."""
FORWARD, TALKING, TUNNELLED, SOCKS = 8000, 8001, 8002, 1080
"""Ports of the near end that lead to them."""
HEADER = struct.Struct("!IBIIIf32s")
"""Number, kind, bytes there and back, place in the block, pause in seconds, their SHA-256."""
WHOLE, IDLE, EARLY, NEAR_RESETS, FAR_RESETS = range(5)
KINDS = {WHOLE: 60, IDLE: 10, EARLY: 15, NEAR_RESETS: 8, FAR_RESETS: 7}
"""Percent of the connections. The far end answers an early one at once, and half-closes it."""
LARGEST, BULK, LATE = 3_000_000, 4_000_000, 180
"""Largest size of normal and of bulk connections in bytes; seconds until a connection is late."""
FIRST_BULK = 1_000_000
"""Number of the first bulk connection."""
MESSAGE = struct.Struct("!Q")
WORDS, DATAGRAM = 64, 1_452
"""Bytes of an interactive message, and of a datagram of WireGuard with an MTU of 1420."""


def block() -> bytes:
    """Return the bytes that both ends know."""
    return random.Random(1).randbytes(2 * BULK)


def break_off(writer: asyncio.StreamWriter) -> None:
    """End a connection with RST."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def give(writer: asyncio.StreamWriter, data: memoryview) -> None:
    for begin in range(0, len(data), 1 << 16):
        writer.write(data[begin : begin + (1 << 16)])
        await writer.drain()


async def take(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the number and the SHA-256 of all bytes until the end."""
    count, digest = 0, hashlib.sha256()
    while data := await reader.read(1 << 16):
        count += len(data)
        digest.update(data)
    return count, digest.digest()


class Origin:
    """The far end's server. It writes a line with the outcome of each connection."""

    def __init__(self, told: Path) -> None:
        self.block = memoryview(block())
        self.told = told.open("w", buffering=1)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, outcome = None, "broken"
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            header = HEADER.unpack(await reader.readexactly(HEADER.size))
            number, kind, up, down, place, pause, digest = header
            back = self.block[place : place + down]
            if kind == EARLY:
                await give(writer, back)
                writer.write_eof()
            count, heard = await take(reader)
            outcome = "same" if heard == digest else "short" if count < up else "wrong"
            if kind == IDLE:
                await asyncio.sleep(pause)
            if kind == FAR_RESETS:
                await give(writer, back[: down // 2])
                break_off(writer)
            elif kind != EARLY:
                await give(writer, back)
        if number is not None:
            self.told.write(json.dumps({"number": number, "to": time.monotonic(), "outcome": outcome}) + "\n")
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    @staticmethod
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
        writer.close()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(Echo, local_addr=("127.0.0.1", TUNNEL))
        await asyncio.start_server(self.echo, "127.0.0.1", TALK)
        server = await asyncio.start_server(self.answer, "127.0.0.1", ORIGIN, backlog=1000)
        print("ready", flush=True)
        await server.serve_forever()


class Echo(asyncio.DatagramProtocol):
    """Echoes datagrams."""

    transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self.transport.sendto(data, addr)


class Load:
    """The near end's connections. It writes a line with times and outcome of each."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task = task
        self.block = memoryview(block())
        self.chance = random.Random(task["seed"])
        self.told = (Path(task["folder"]) / "load").open("w", buffering=1)
        self.bulk_numbers = itertools.count(FIRST_BULK)

    def moments(self) -> Iterator[float]:
        """Yield the start times of connections: random moments within the phases with load."""
        spans = [(phase["from"], phase["to"]) for phase in self.task["phases"] if phase["load"]]
        total = sum(end - begin for begin, end in spans)
        for place in sorted(self.chance.uniform(0, total) for _ in range(self.task["connections"])):
            rest = place
            for begin, end in spans:
                if rest < end - begin:
                    yield begin + rest
                    break
                rest -= end - begin

    def size(self) -> int:
        return int(math.exp(self.chance.uniform(0, math.log(LARGEST))))

    async def run(self) -> None:
        bulk = [phase for phase in self.task["phases"] if phase["bulk"]]
        running = {asyncio.create_task(self.bulk(phase, up)) for phase in bulk for up in (True, False) * 2}
        for number, moment in enumerate(self.moments()):
            await asyncio.sleep(moment - time.monotonic())
            (kind,) = self.chance.choices(list(KINDS), list(KINDS.values()))
            running.add(asyncio.create_task(self.connection(number, kind, self.size(), self.size())))
            running = {task for task in running if not task.done()}
        await asyncio.gather(*running)

    async def bulk(self, phase: dict[str, Any], up: bool) -> None:
        """Open one connection after the other, with data in one direction."""
        await asyncio.sleep(phase["from"] - time.monotonic())
        while time.monotonic() < phase["to"] - 1:
            sizes = (BULK, 1) if up else (1, BULK)
            await self.connection(next(self.bulk_numbers), WHOLE, *sizes)

    async def connection(self, number: int, kind: int, up: int, down: int) -> None:
        through, begun = "socks" if number % 4 == 0 else "forward", time.monotonic()
        pause, place = self.chance.uniform(1, 15), self.chance.randrange(BULK)
        try:
            async with asyncio.timeout(LATE):
                outcome = await self.carry(through, (number, kind, up, down, place, pause))
        except TimeoutError:
            outcome = "late"
        except ConnectionRefusedError:
            outcome = "refused"
        except ConnectionError:
            outcome = "reset"
        except asyncio.IncompleteReadError:
            outcome = "closed before SOCKS answered"
        line = {"number": number, "kind": kind, "through": through, "from": begun, "to": time.monotonic()}
        self.told.write(json.dumps({**line, "outcome": outcome, "up": up, "down": down}) + "\n")

    async def carry(self, through: str, header: tuple[int, int, int, int, int, float]) -> str:
        _, kind, up, down, place, pause = header
        reader, writer = await asyncio.open_connection("127.0.0.1", SOCKS if through == "socks" else FORWARD)
        try:
            if through == "socks":
                writer.write(b"\5\1\0\5\1\0\1\x7f\0\0\1" + struct.pack("!H", ORIGIN))
                granted = await reader.readexactly(12)
                if granted[3]:
                    return f"SOCKS code {granted[3]}"
            data = self.block[place : place + up]
            writer.write(HEADER.pack(*header, hashlib.sha256(data).digest()))
            if kind == NEAR_RESETS:
                await give(writer, data[: up // 2])
                break_off(writer)
                return "same"
            if kind == EARLY:
                came = await take(reader)
                await asyncio.sleep(pause / 3)
                await give(writer, data)
                writer.write_eof()
            else:
                await give(writer, data)
                if kind == IDLE:
                    await asyncio.sleep(pause)
                writer.write_eof()
                try:
                    came = await take(reader)
                except ConnectionResetError:
                    if kind == FAR_RESETS:
                        return "same"
                    raise
            if came[1] == hashlib.sha256(self.block[place : place + down]).digest():
                return "same"
            return "short" if came[0] < down else "wrong"
        finally:
            writer.close()


def paced(until: float, interval: float, send: Callable[[int], None], hear: Callable[[float], None]) -> None:
    """Send at a constant rate, and receive meanwhile and for two more seconds."""
    begun, number = time.monotonic(), 0
    while (now := time.monotonic()) < until + 2:
        due = begun + number * interval if now < until else until + 2
        if now >= due:
            send(number)
            number += 1
        else:
            hear(due - now)


class Talk:
    """Small messages over one connection, which reconnects after an error."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self.came: dict[int, float] = {}
        self.broken: list[float] = []
        self.socket: socket.socket | None = None
        self.rest = b""

    def connect(self) -> None:
        self.rest = b""
        with contextlib.suppress(OSError):
            self.socket = socket.create_connection(("127.0.0.1", TALKING), timeout=1)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def end(self) -> None:
        if self.socket:
            self.socket.close()
        self.socket = None
        self.broken.append(time.monotonic())

    def send(self, number: int) -> None:
        self.sent.append(time.monotonic())
        if self.socket is None:
            self.connect()
        try:
            if self.socket:
                self.socket.sendall(MESSAGE.pack(number) + bytes(WORDS - MESSAGE.size))
        except OSError:
            self.end()

    def hear(self, patience: float) -> None:
        if self.socket is None:
            time.sleep(patience)
        elif select.select([self.socket], [], [], patience)[0]:
            try:
                data = self.socket.recv(1 << 16)
            except OSError:
                data = b""
            if not data:
                return self.end()
            self.rest += data
            while len(self.rest) >= WORDS:
                self.came[MESSAGE.unpack_from(self.rest)[0]] = time.monotonic()
                self.rest = self.rest[WORDS:]
        return None


class Tunnel:
    """Datagrams at a constant rate, which are echoed."""

    def __init__(self) -> None:
        self.sent: list[float] = []
        self.came: dict[int, float] = {}
        self.broken: list[float] = []
        """Times of duplicates."""
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", TUNNELLED))

    def send(self, number: int) -> None:
        self.sent.append(time.monotonic())
        with contextlib.suppress(OSError):
            self.socket.send(MESSAGE.pack(number) + os.urandom(DATAGRAM - MESSAGE.size))

    def hear(self, patience: float) -> None:
        if select.select([self.socket], [], [], patience)[0]:
            with contextlib.suppress(OSError):
                (number,) = MESSAGE.unpack_from(self.socket.recv(DATAGRAM))
                if number in self.came:
                    self.broken.append(time.monotonic())
                self.came[number] = time.monotonic()


def main() -> None:
    what, task = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    folder = Path(task["folder"])
    if what == "origin":
        asyncio.run(Origin(folder / "origin").run())
    elif what == "load":
        asyncio.run(Load(task).run())
    else:
        flow = Talk() if what == "talk" else Tunnel()
        paced(task["until"], task[f"{what}_interval"], flow.send, flow.hear)
        times = [(at, flow.came.get(number)) for number, at in enumerate(flow.sent)]
        (folder / what).write_text(json.dumps({"times": times, "broken": flow.broken}))


if __name__ == "__main__":
    main()
