"""Accuracy of the links of ``plait link``: rate, one-way delay and round trip of UDP.

``.venv/bin/python benches/links/accuracy.py [--spin DURATION] [--seconds S] [--rate MBIT] [--delay
MS]``, as any user with the right to create namespaces.

Both ends are processes of one machine, so one clock gives the time of sending and of arrival:
``CLOCK_MONOTONIC`` before the sending call, and after the receiving call. The time that the kernel
and these processes take is included.

- *delay*: a datagram every 5 ms on an idle link, against the configured delay plus its
  serialization;
- *round trip*: the same, sent back by the far end;
- *rate*: datagrams at 1.5 times the link's rate; arrivals per time during the sending, against the
  rate;
- *loaded*: delay at 0.5 times the rate.

Beside each delay is the time that the same two programs take on loopback, without any link.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEADERS = 28
"""Length of the IPv4 and UDP headers in bytes, because the links count IP packets."""
SIZE = 1500 - HEADERS
STAMP = struct.Struct("!QQ")
PORT = 9000
PLAIT = [sys.executable, "-m", "plait", "--quiet", "link"]


def far(place: str) -> None:
    """Record sending and arrival times, echo if requested, and end at a datagram of one byte."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    here.bind(("0.0.0.0", PORT))
    seen = []
    while True:
        data, sender = here.recvfrom(65536)
        now = time.monotonic_ns()
        if len(data) == 1:
            break
        sent, answer = STAMP.unpack_from(data)
        if answer:
            here.sendto(data, sender)
        seen.append((sent, now, len(data) + HEADERS))
    Path(place).write_text(json.dumps(seen))


def near(kind: str, rate: float, seconds: float, place: str) -> None:
    """Send datagrams, wait for each round trip, and announce the end."""
    here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    here.connect((os.environ["PLAIT_PEER"], PORT))
    here.settimeout(2)
    rest = bytes(SIZE - STAMP.size)
    gap = {"delay": 5e-3, "round trip": 5e-3, "rate": 12e3 / (1.5 * rate), "loaded": 12e3 / (0.5 * rate)}[
        kind
    ]
    times = []
    start = time.monotonic_ns()
    end, due = start + int(seconds * 1e9), float(start)
    while due < end:
        left = due - time.monotonic_ns()
        if left > 0:
            time.sleep(left / 1e9)
        sent = time.monotonic_ns()
        here.send(STAMP.pack(sent, kind == "round trip") + rest)
        if kind == "round trip":
            here.recv(65536)
            times.append(time.monotonic_ns() - sent)
        due += gap * 1e9
    time.sleep(1)
    here.send(b"x")
    time.sleep(0.2)
    Path(place).write_text(json.dumps(times))


def bare(kind: str, rate: float, seconds: float) -> str:
    """Measure the two programs on loopback, without any link: their own share of the delay."""
    with tempfile.TemporaryDirectory() as folder:
        seen, times = Path(folder) / "seen.json", Path(folder) / "times.json"
        this = [sys.executable, str(Path(__file__).resolve())]
        environment = {**os.environ, "PLAIT_PEER": "127.0.0.1"}
        with subprocess.Popen([*this, "--far", str(seen)]) as server:
            time.sleep(1)
            words = [*this, "--near", kind, str(rate), str(seconds), str(times)]
            subprocess.run(words, env=environment, check=True)
            server.wait()
        arrivals, trips = json.loads(seen.read_text()), json.loads(times.read_text())
    values = sorted(trips if kind == "round trip" else [arrived - sent for sent, arrived, _ in arrivals])
    return f"{kind:10} without links: median {statistics.median(values) / 1e3:.0f} µs"


def measure(kind: str, rate: float, delay: float, seconds: float, spin: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "links.toml"
        scenario.write_text(
            f'[[path]]\nrate = "{rate / 1e6:g}Mbit"\nrtt = "{2 * delay * 1e3:g}ms"\nqueue = "100p"\n'
        )
        seen, times = Path(folder) / "seen.json", Path(folder) / "times.json"
        this = f"{sys.executable} {Path(__file__).resolve()}"
        words = ["--summary", "--spin", spin, "--server", f"exec {this} --far {seen}", str(scenario), "--"]
        words += [*this.split(), "--near", kind, str(rate), str(seconds), str(times)]
        done = subprocess.run([*PLAIT, *words], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{kind}: plait link ended with {done.returncode}: {done.stderr.strip()}")
        price = done.stderr.splitlines()[-1].removeprefix("processor time of the links: ")
        arrivals = json.loads(seen.read_text())
        trips = json.loads(times.read_text())
    serialization = 12e3 / rate
    if kind == "rate":
        arrivals = [one for one in arrivals if one[1] - arrivals[0][1] > 0.2e9]
        sending = arrivals[-1][0]
        arrivals = [one for one in arrivals if one[1] < sending]
        got = sum(size for *_, size in arrivals[1:]) * 8 / ((arrivals[-1][1] - arrivals[0][1]) / 1e9)
        return f"{kind:10} {got / 1e6:.3f} of {rate / 1e6:g} Mbit/s, {got / rate - 1:+.3%}; {price}"
    ways = 2 if kind == "round trip" else 1
    expected = ways * (delay + serialization)
    values = trips if kind == "round trip" else [arrived - sent for sent, arrived, _ in arrivals]
    over = sorted(value / 1e3 - expected * 1e6 for value in values)
    low, high = over[0], over[int(len(over) * 0.99)]
    return (
        f"{kind:10} {expected * 1e3:.3f} ms configured; above it: median {statistics.median(over):.0f} µs, "
        f"mean {statistics.fmean(over):.0f}, least {low:.0f}, p90 {over[int(len(over) * 0.9)]:.0f}, "
        f"p99 {high:.0f}, most {over[-1]:.0f}; within 200 µs: "
        f"{sum(abs(one) <= 200 for one in over) / len(over):.2%} of {len(over)}; {price}"
    )


def main() -> None:
    if sys.argv[1:2] == ["--far"]:
        return far(sys.argv[2])
    if sys.argv[1:2] == ["--near"]:
        return near(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--spin", default="0ns")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=float, default=100, help="Mbit/s")
    parser.add_argument("--delay", type=float, default=10, help="ms, one way")
    options = parser.parse_args()
    for kind in ("delay", "round trip", "rate", "loaded"):
        rate, delay = options.rate * 1e6, options.delay / 1e3
        print(measure(kind, rate, delay, options.seconds, options.spin), flush=True)
        if kind != "rate":
            print(bare(kind, rate, options.seconds), flush=True)
    return None


if __name__ == "__main__":
    main()
