"""Interfaces that appear and disappear during a transfer, between two network namespaces with
shaped links.

``python benches/links/changes.py target/release/plait-quic``, as root with `ip` and `tc`.

The sender names no interface. The second of two links is down at the beginning. It comes up, is
removed, and another link with another name and address takes its place. The output has a line of
JSON for each mode: the time from each link's route to its first data (from progress that comes
twice a second), whether the file is the same at both ends, and the longest time without in-order
data.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from ends import Receiver, content, same

NEAR, FAR = (f"plait-{side}-{os.getpid()}" for side in ("near", "far"))
REMOTE = "10.77.9.9"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def add(index: int, up: bool = True) -> None:
    """Add a link of 20 Mbit/s. If ``up``, it has a route to the far end."""
    near, far = f"net{index}n", f"net{index}f"
    ip("link", "add", near, "netns", NEAR, "type", "veth", "peer", "name", far, "netns", FAR)
    for side, (space, end) in enumerate(((NEAR, near), (FAR, far)), start=1):
        ip("-n", space, "addr", "add", f"10.77.{index}.{side}/24", "dev", end)
        words = f"qdisc add dev {end} root tbf rate 20mbit burst 16kb latency 50ms"
        subprocess.run(["tc", "-n", space, *words.split()], check=True)
    ip("-n", FAR, "link", "set", far, "up")
    if up:
        start(index)


def start(index: int) -> None:
    ip("-n", NEAR, "link", "set", f"net{index}n", "up")
    words = f"route add {REMOTE} via 10.77.{index}.2 dev net{index}n metric {index + 1}"
    ip("-n", NEAR, *words.split())


def build() -> None:
    for space in (NEAR, FAR):
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
    ip("-n", FAR, "addr", "add", f"{REMOTE}/32", "dev", "lo")
    add(0)
    add(1, up=False)


def remove() -> None:
    for space in (NEAR, FAR):
        subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


def change(began: float, moments: dict[str, float]) -> None:
    """Change the links during the transfer, and record the times."""
    wait(began + 1.5)
    start(1)
    moments["net1n"] = time.monotonic()
    wait(began + 5)
    ip("-n", NEAR, "link", "del", "net1n")
    wait(began + 6.5)
    add(2)
    moments["net2n"] = time.monotonic()


def wait(until: float) -> None:
    time.sleep(max(0.0, until - time.monotonic()))


def send(program: str, receiver: Receiver, file: Path, *more: str) -> dict[str, Any]:
    words = ["ip", "netns", "exec", NEAR, program, "send", str(file)]
    words += [f"{REMOTE}:4433", "--fingerprint", receiver.hello["fingerprint"], "--json", *more]
    environment = {**os.environ, "PLAIT_SECRET": receiver.hello["secret"]}
    moments: dict[str, float] = {}
    carries: dict[str, float] = {}
    changing = threading.Thread(target=change, args=(time.monotonic(), moments), daemon=True)
    changing.start()
    told: dict[str, Any] = {}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            if told["event"] == "progress":
                for path in told["paths"]:
                    if path["bytes"] > 0:
                        carries.setdefault(path["name"].partition("%")[2], time.monotonic())
    changing.join()
    if process.returncode:
        raise SystemExit(f"plait-quic send ended with {process.returncode}")
    taken_up = {name: round(carries[name] - moments[name], 2) for name in moments if name in carries}
    sent = {path["name"].partition("%")[2]: path["bytes"] for path in told["paths"]}
    return {"seconds": told["seconds"], "goodput": told["goodput_bps"], "taken_up": taken_up, "sent": sent}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--megabytes", type=float, default=40)
    options = parser.parse_args()
    for mode in ("full", "interop"):
        with tempfile.TemporaryDirectory(prefix="plait-changes-") as name:
            folder = Path(name)
            build()
            try:
                before = ("ip", "netns", "exec", FAR)
                receiver = Receiver(options.program, folder / "out", "0.0.0.0:4433", before=before)
                file = content(folder, options.megabytes)
                more = ("--interop",) if mode == "interop" else ()
                came = send(options.program, receiver, file, *more)
                came |= {"same": same(file, folder / "out" / file.name)}
                came["gap"] = receiver.of(file)["longest_gap_s"]
                print(json.dumps({"mode": mode, **came}), flush=True)
                receiver.stop()
            finally:
                remove()


if __name__ == "__main__":
    main()
