"""`plait-quic proxy` over the two links of `plait link`: rates there and back, and a small stream
beside a large one.

``python benches/links/proxy.py target/release/plait-quic [SCHEDULER ...]``, without root. Links
have 30 and 15 Mbit/s, round-trip times of 30 and 60 ms, and queues of 50 ms. The output has a line
for each scheduler in the given order, and then a line for plain TCP over the system's preferred
route.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

LINKS = """
name = "proxy"
duration = "60s"
[transport]
protocol = "mpquic"
[[path]]
name = "fast"
rate = "30Mbit"
rtt = "30ms"
queue = "50ms"
[[path]]
name = "slow"
rate = "15Mbit"
rtt = "60ms"
queue = "50ms"
"""
PORT = 7000
BYTES = 20_000_000


def serve(program: str, told: Path) -> None:
    """Run the far namespace: the exit, and a server that acts by the first byte (`answer`)."""
    options = ["--serve", "--json", "--quiet", "--listen", "0.0.0.0:4433", "--allow", f"127.0.0.1:{PORT}"]
    with told.open("w") as out, socket.create_server(("0.0.0.0", PORT), backlog=100) as server:
        subprocess.Popen([program, "proxy", *options], stdout=out)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


def answer(connection: socket.socket) -> None:
    with connection, contextlib.suppress(ConnectionResetError):  # the near end is killed
        kind = connection.recv(1)
        if kind == b"g":
            connection.sendall(bytes(BYTES))
        count = 0
        while data := connection.recv(1 << 16):
            count += len(data)
            if kind == b"e":
                connection.sendall(data)
        if kind == b"t":
            connection.sendall(str(count).encode())


def give(address: tuple[str, int]) -> float:
    """Return the rate of an upload in Mbit/s."""
    begun = time.perf_counter()
    with socket.create_connection(address) as connection:
        connection.sendall(b"t" + bytes(BYTES))
        connection.shutdown(socket.SHUT_WR)
        assert int(connection.recv(100)) == BYTES
    return BYTES * 8e-6 / (time.perf_counter() - begun)


def take(address: tuple[str, int]) -> float:
    """Return the rate of a download in Mbit/s."""
    begun, count = time.perf_counter(), 0
    with socket.create_connection(address) as connection:
        connection.sendall(b"g")
        connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(1 << 20):
            count += len(data)
    assert count == BYTES
    return BYTES * 8e-6 / (time.perf_counter() - begun)


def round_trips(address: tuple[str, int], count: int = 50) -> str:
    """Measure the echo of a hundred bytes every 20 ms. The first one also opens the stream."""
    times = []
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"e")
        for _ in range(count):
            begun, left = time.perf_counter(), 100
            connection.sendall(bytes(left))
            while left:
                left -= len(connection.recv(left))
            times.append((time.perf_counter() - begun) * 1e3)
            time.sleep(0.02)
    times.sort()
    return f"{times[count // 2]:.0f} ms in the median, {times[-3]:.0f} ms at p95, {times[-1]:.0f} ms at most"


def measure(program: str, told: Path, schedulers: list[str]) -> None:
    """Run the near namespace."""
    while not (text := told.read_text()):
        time.sleep(0.1)
    far, peer = json.loads(text), os.environ["PLAIT_PEER"]
    for scheduler in schedulers:
        pins = ["--fingerprint", far["fingerprint"], "--secret", far["secret"], "--scheduler", scheduler]
        more = ["--forward", f"127.0.0.1:0=127.0.0.1:{PORT}", "--json", "--quiet"]
        near = subprocess.Popen([program, "proxy", f"{peer}:4433", *pins, *more], stdout=subprocess.PIPE)
        assert near.stdout is not None
        host, port = json.loads(near.stdout.readline())["forwards"][0]["listen"].split(":")
        address = (host, int(port))
        print(f"{scheduler}: {give(address):.1f} Mbit/s there, {take(address):.1f} Mbit/s back")
        print(f"  round trips: {round_trips(address)}")
        upload = threading.Thread(target=give, args=(address,))
        upload.start()
        time.sleep(1)
        print(f"  beside an upload: {round_trips(address, 40)}")
        upload.join()
        near.kill()
        near.wait()
    print(f"plain TCP: {give((peer, PORT)):.1f} Mbit/s there")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("schedulers", nargs="*", default=["lowest-rtt", "blest", "ecf", "round-robin"])
    given = parser.parse_args()
    program = str(given.program.resolve())
    with tempfile.TemporaryDirectory() as folder:
        links, told = Path(folder, "links.toml"), Path(folder, "told")
        links.write_text(LINKS)
        told.touch()
        own = [sys.executable, str(Path(__file__).resolve()), program]
        server = shlex.join([*own, "serve"])
        command = [
            sys.executable,
            "-m",
            "plait",
            "link",
            str(links),
            "--server",
            server,
            "--",
            *own,
            "measure",
        ]
        environment = {**os.environ, "TOLD": str(told), "SCHEDULERS": " ".join(given.schedulers)}
        subprocess.run(command, env=environment, check=True)


def within() -> None:
    """Run in the namespace that the last argument names."""
    told = Path(os.environ["TOLD"])
    if sys.argv[2] == "serve":
        serve(sys.argv[1], told)
    else:
        measure(sys.argv[1], told, os.environ["SCHEDULERS"].split())


if __name__ == "__main__":
    if "TOLD" in os.environ:
        within()
    else:
        main()
