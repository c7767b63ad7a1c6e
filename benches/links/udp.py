"""`plait-quic proxy --udp` over two shaped links between two network namespaces: rate, losses, and
calls.

``python benches/links/udp.py target/release/plait-quic``, as root, with `ip` and `tc` (TBF). Links
are veth pairs. Token buckets at both ends limit their rate, which counts Ethernet frames. The
program makes and removes the namespaces. Calls also run over links of `plait link`, which delay and
lose packets.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shlex
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NEAR, FAR = "plait-udp-near", "plait-udp-far"
LINKS = [30, 15]
"""Mbit/s."""
QUEUE = 50
"""Queue of the token buckets in milliseconds."""
FOLDER = os.environ.get("PLAIT_UDP_FOLDER")
"""Set within `plait link`: the folder in which the far end writes its address."""
ADDRESS = "10.77.255.1" if FOLDER else "10.77.9.9"
DEVICES = ["fast", "slow"] if FOLDER else ["pl0n", "pl1n"]
SINK, ECHO, CONTROL, UPLOAD, PROXY = 6000, 6001, 6002, 7000, 4433
PORT = 5000
NUMBER = struct.Struct("!Qd")

LOSSY = """
name = "udp"
duration = "60s"
[transport]
protocol = "mpquic"
[[path]]
name = "fast"
rate = "30Mbit"
rtt = "30ms"
queue = "50ms"
loss = "1%"
[[path]]
name = "slow"
rate = "15Mbit"
rtt = "60ms"
queue = "50ms"
loss = "1%"
"""


def within(space: str) -> list[str]:
    return [] if FOLDER else ["ip", "netns", "exec", space]


def run(command: str) -> None:
    subprocess.run(command.split(), check=True)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    try:
        for space in (NEAR, FAR):
            run(f"ip netns add {space}")
            run(f"ip -n {space} link set lo up")
        run(f"ip -n {FAR} addr add {ADDRESS}/32 dev lo")
        for index, megabits in enumerate(LINKS):
            run(f"ip link add pl{index}n netns {NEAR} type veth peer name pl{index}f netns {FAR}")
            for side, (space, device) in enumerate(((NEAR, f"pl{index}n"), (FAR, f"pl{index}f")), start=1):
                run(f"ip -n {space} addr add 10.77.{index}.{side}/24 dev {device}")
                run(f"ip -n {space} link set {device} up")
                shape = f"tbf rate {megabits}mbit burst 16kb latency {QUEUE}ms"
                run(f"tc -n {space} qdisc add dev {device} root {shape}")
            run(f"ip -n {NEAR} route add {ADDRESS} via 10.77.{index}.2 dev pl{index}n metric {index + 1}")
        yield
    finally:
        for space in (NEAR, FAR):
            subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


def serve() -> None:
    """Run the far namespace: count datagrams at a port, echo them at another, accept uploads."""
    threading.Thread(target=echo, daemon=True).start()
    threading.Thread(target=take, daemon=True).start()
    sink, control = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    sink.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE of Linux
    sink.bind(("0.0.0.0", SINK))
    control.bind(("0.0.0.0", CONTROL))
    came: list[tuple[float, int, int]] = []
    threading.Thread(target=tell, args=(control, came), daemon=True).start()
    print("ready", flush=True)
    while True:
        data = sink.recv(65_536)
        came.append((time.monotonic(), len(data), NUMBER.unpack_from(data)[0]))


def tell(control: socket.socket, came: list[tuple[float, int, int]]) -> None:
    """Answer each question with the datagrams since the last one."""
    while True:
        question, asker = control.recvfrom(1_000)
        begin, end = json.loads(question)
        part = [one for one in came if begin <= one[0] < end]
        numbers = {number for _, _, number in came}
        answer = {
            "bytes": sum(size for _, size, _ in part),
            "count": len(came),
            "distinct": len(numbers),
            "overtaken": sum(one[2] > other[2] for one, other in itertools.pairwise(came)),
        }
        came.clear()
        control.sendto(json.dumps(answer).encode(), asker)


def echo() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind((ADDRESS, ECHO))
        while True:
            data, sender = one.recvfrom(65_536)
            one.sendto(data, sender)


def take() -> None:
    with socket.create_server((ADDRESS, UPLOAD)) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=drain, args=(connection,), daemon=True).start()


def drain(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while connection.recv(1 << 20):
            pass


class Proxy:
    """A near end in the near namespace, over some of the links."""

    def __init__(self, program: str, hello: dict[str, Any], links: list[int], *more: str) -> None:
        paths = [word for index in links for word in ("--local", f"10.77.{index}.1%{DEVICES[index]}")]
        words = [*within(NEAR), program, "proxy", f"{ADDRESS}:{PROXY}"]
        words += ["--fingerprint", hello["fingerprint"], "--json", *paths, *more]
        environment = {**os.environ, "PLAIT_SECRET": hello["secret"]}
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.open = threading.Event()
        self.status: dict[str, Any] = {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        assert self.open.wait(20)
        time.sleep(1)

    def read(self) -> None:
        assert self.process.stdout is not None
        for text in self.process.stdout:
            event = json.loads(text)
            if event["event"] == "open":
                self.open.set()
            if event["event"] == "progress":
                self.status = event

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def flood(address: tuple[str, int], size: int, megabits: float, seconds: float) -> tuple[float, float, int]:
    """Send payload at this rate. Return begin, end and the number of datagrams."""
    interval, count = size * 8e-6 / megabits, 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.connect(address)
        begun = time.monotonic()
        while (now := time.monotonic()) < begun + seconds:
            while begun + count * interval <= now:
                one.send(NUMBER.pack(count, now) + bytes(size - NUMBER.size))
                count += 1
            time.sleep(0.001)
    return begun, now, count


def call(address: tuple[str, int], device: str | None, seconds: float) -> dict[str, float]:
    """Echo 160 bytes every 20 ms. Return round-trip times in ms and the share of losses."""
    count = int(seconds * 50)
    times: dict[int, float] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        if device:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        one.connect(address)
        one.settimeout(0.002)
        begun = time.monotonic()
        for number in range(count):
            while (left := begun + number * 0.02 - time.monotonic()) > 0:
                one.settimeout(left)
                with contextlib.suppress(TimeoutError, BlockingIOError):
                    hear(one, times)
            one.send(NUMBER.pack(number, time.monotonic()) + bytes(160 - NUMBER.size))
        until = time.monotonic() + 1
        while (left := until - time.monotonic()) > 0:
            one.settimeout(left)
            with contextlib.suppress(TimeoutError, BlockingIOError):
                hear(one, times)
    waits = sorted(times.values())
    at = {f"p{percent}": waits[(len(waits) - 1) * percent // 100] for percent in (50, 95, 99)}
    return {**at, "lost": 1 - len(waits) / count}


def hear(one: socket.socket, times: dict[int, float]) -> None:
    number, sent = NUMBER.unpack_from(one.recv(1_000))
    assert number not in times, "it came twice"
    times[number] = (time.monotonic() - sent) * 1e3


def upload(address: tuple[str, int], device: str | None, seconds: float, sent: list[int]) -> None:
    with socket.socket() as connection, contextlib.suppress(OSError):
        if device:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, device.encode())
        connection.settimeout(1)
        connection.connect(address)
        until, piece, total = time.monotonic() + seconds, bytes(1 << 16), 0
        while time.monotonic() < until:
            with contextlib.suppress(TimeoutError):
                total += connection.send(piece)
        sent.append(total)


def worker(words: list[str]) -> None:
    """Run a part in the near namespace and print its result."""
    kind, *rest = words
    if kind == "flood":
        host, port, size, megabits, seconds = rest
        begun, ended, count = flood((host, int(port)), int(size), float(megabits), float(seconds))
        time.sleep(1.5)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            control.settimeout(5)
            control.sendto(json.dumps([begun + 2, ended]).encode(), (ADDRESS, CONTROL))
            answer = json.loads(control.recv(10_000))
        print(json.dumps({**answer, "sent": count, "seconds": ended - begun - 2}))
    else:
        host, port, device, seconds, bulk = rest
        sent: list[int] = []
        thread = None
        if bulk != "-":
            bulk_host, bulk_port = bulk.split(":")
            arguments = ((bulk_host, int(bulk_port)), device.strip("-") or None, float(seconds) + 3, sent)
            thread = threading.Thread(target=upload, args=arguments)
            thread.start()
            time.sleep(2)
        result = call((host, int(port)), device.strip("-") or None, float(seconds))
        if thread:
            thread.join()
        print(json.dumps({**result, "uploaded": sum(sent) * 8e-6 / (float(seconds) + 3)}))


def inside(space: str, *words: str) -> dict[str, Any]:
    whole = [*within(space), sys.executable, __file__, "--worker", *words]
    answer: dict[str, Any] = json.loads(
        subprocess.run(whole, check=True, capture_output=True, text=True).stdout
    )
    return answer


def goodput(program: str, hello: dict[str, Any], seconds: float) -> None:
    total, both = sum(LINKS), list(range(len(LINKS)))
    for mtu, size in (("1232", 1075), ("1472", 1315), ("1232", 1452)):
        for scheduler in ("lowest-rtt", "round-robin", "blest"):
            for share in (0.88, 1.1):
                udp = f"127.0.0.1:{PORT}={ADDRESS}:{SINK}"
                proxy = Proxy(program, hello, both, "--udp", udp, "--scheduler", scheduler, "--mtu", mtu)
                came = inside(
                    NEAR, "flood", "127.0.0.1", str(PORT), str(size), str(share * total), str(seconds)
                )
                time.sleep(0.6)
                left = proxy.status["datagrams"]
                proxy.stop()
                rate = came["bytes"] * 8e-6 / came["seconds"]
                lost = 1 - came["distinct"] / max(left["sent"], 1)
                assert came["distinct"] == came["count"], "some came twice"
                print(
                    f"mtu {mtu}, {size} bytes, {scheduler:11} {share:.0%} of the sum offered: {rate:5.2f} Mbit/s,"
                    f" {rate / total:.1%} of the sum; {came['distinct'] / came['sent']:.2%} of all came,"
                    f" {left['dropped_late']} dropped before the links, {lost:.2%} lost on them",
                    flush=True,
                )


def calls(program: str, hello: dict[str, Any], seconds: float) -> None:
    both = list(range(len(LINKS)))
    ways: list[tuple[str, list[int], list[str]]] = [
        ("redundant over both", both, ["--redundant-port", str(ECHO)]),
        ("interactive over both", both, ["--interactive", str(ECHO)]),
        *((f"path {index} alone", [index], ["--interactive", str(ECHO)]) for index in both),
    ]
    for beside in (False, True):
        for name, paths, more in ways:
            ports = [
                "--udp",
                f"127.0.0.1:{PORT}={ADDRESS}:{ECHO}",
                "--forward",
                f"127.0.0.1:{PORT}={ADDRESS}:{UPLOAD}",
            ]
            proxy = Proxy(program, hello, paths, *ports, *more)
            bulk = f"127.0.0.1:{PORT}" if beside else "-"
            show(name, beside, inside(NEAR, "call", "127.0.0.1", str(PORT), "-", str(seconds), bulk))
            proxy.stop()
        for index in both:
            bulk = f"{ADDRESS}:{UPLOAD}" if beside else "-"
            words = ("call", ADDRESS, str(ECHO), DEVICES[index], str(seconds), bulk)
            show(f"link {index}, plain UDP", beside, inside(NEAR, *words))


def show(name: str, beside: bool, result: dict[str, Any]) -> None:
    how = f"beside an upload of {result['uploaded']:.1f} Mbit/s" if beside else "alone"
    p50, p95, p99 = (result[key] for key in ("p50", "p95", "p99"))
    print(
        f"{name:22} {how}: {p50:.0f}, {p95:.0f}, {p99:.0f} ms (p50, p95, p99), {result['lost']:.2%} lost",
        flush=True,
    )


def far_words(program: str) -> list[str]:
    allow = ["--allow", f"{ADDRESS}:*", "--listen", f"0.0.0.0:{PROXY}", "--json", "--quiet"]
    return [*within(FAR), program, "proxy", "--serve", *allow]


def buckets(program: str, seconds: float, what: str) -> None:
    """Measure between namespaces with token buckets."""
    with namespaces():
        words = [*within(FAR), sys.executable, __file__, "--worker", "serve"]
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        far = subprocess.Popen(far_words(program), stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        assert far.stdout is not None
        server.stdout.readline()
        hello = json.loads(far.stdout.readline())
        threading.Thread(target=list, args=(far.stdout,), daemon=True).start()
        try:
            (goodput if what == "goodput" else calls)(program, hello, seconds)
        finally:
            for process in (far, server):
                process.kill()
                process.wait()


def lossy(program: str, seconds: float) -> None:
    """Measure over the links of `plait link`, which delay and lose packets."""
    own = [sys.executable, str(Path(__file__).resolve()), program, "--seconds", str(seconds), "--linked"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "links.toml").write_text(LOSSY)
        Path(folder, "told").touch()
        command = [sys.executable, "-m", "plait", "link", f"{folder}/links.toml"]
        command += ["--server", shlex.join([*own, "far"]), "--", *own, "near"]
        subprocess.run(command, env={**os.environ, "PLAIT_UDP_FOLDER": folder}, check=True)


def linked(program: str, seconds: float, side: str) -> None:
    """Run in one of the namespaces of `plait link`."""
    told = Path(str(FOLDER), "told")
    if side == "far":
        with told.open("w") as out:
            subprocess.Popen(far_words(program), stdout=out)
        serve()
    while not (text := told.read_text()).endswith("\n"):
        time.sleep(0.1)
    time.sleep(1)
    calls(program, json.loads(text.splitlines()[0]), seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--only", choices=["goodput", "call", "lossy"])
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--linked", choices=["near", "far"], help=argparse.SUPPRESS)
    parser.add_argument("--worker", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.linked:
        linked(options.program, options.seconds, options.linked)
    elif options.worker:
        (serve if options.worker == ["serve"] else lambda: worker(options.worker))()
    else:
        for what in [options.only] if options.only else ["goodput", "call", "lossy"]:
            if what == "lossy":
                lossy(options.program, options.seconds)
            else:
                buckets(options.program, options.seconds, what)


if __name__ == "__main__":
    main()
