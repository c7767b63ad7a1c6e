"""`plait-quic` over two shaped links between two network namespaces, and on loopback.

Measures goodput, a link that is pulled, and processor time. Needs root, `ip` and `tc` with TBF:
``python benches/links/measure.py target/release/plait-quic [--transfers N]``. The program makes and
removes the namespaces. Links are veth pairs. Token bucket filters at both ends of each link set its
rate, which counts Ethernet frames.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import ends
from ends import Receiver, content, same

NEAR, FAR = "plait-near", "plait-far"
LINKS = [(30, 50), (15, 50)]  # Mbit/s, and ms in the token bucket's queue


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def build() -> None:
    for space in (NEAR, FAR):
        ip("netns", "add", space)
    for index, (rate, latency) in enumerate(LINKS):
        ends = (f"plait{index}n", f"plait{index}f")
        ip("link", "add", ends[0], "netns", NEAR, "type", "veth", "peer", "name", ends[1], "netns", FAR)
        for side, (space, end) in enumerate(zip((NEAR, FAR), ends, strict=True), start=1):
            ip("-n", space, "addr", "add", f"10.77.{index}.{side}/24", "dev", end)
            ip("-n", space, "link", "set", end, "up")
            words = f"qdisc add dev {end} root tbf rate {rate}mbit burst 16kb latency {latency}ms"
            subprocess.run(["tc", "-n", space, *words.split()], check=True)
    for index in range(len(LINKS)):
        # The far end answers from one address, over the link of the packet, like a server with one
        # address.
        set_route(index)
    ip("-n", FAR, "addr", "add", "10.77.9.9/32", "dev", "lo")
    for space in (NEAR, FAR):
        ip("-n", space, "link", "set", "lo", "up")


def remove() -> None:
    for space in (NEAR, FAR):
        subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


def inside(space: str | None) -> list[str]:
    return ["ip", "netns", "exec", space] if space else []


def send(
    program: str, receiver: Receiver, file: Path, locals_: list[str], space: str | None, *more: str
) -> dict[str, Any]:
    addresses = [word for local in locals_ for word in ("--local", local)]
    return ends.send(
        program, receiver.hello, file, "10.77.9.9", *addresses, *more, before=inside(space), timeout=300
    )


def sources() -> list[str]:
    return [f"10.77.{index}.1%plait{index}n" for index in range(len(LINKS))]


def links(program: str, folder: Path) -> None:
    addresses, out = sources(), folder / "links"
    build()
    try:
        receiver = Receiver(program, out, "0.0.0.0:4433", before=inside(FAR))
        for mtu in ("1232", "1472"):
            for scheduler in ("lowest-rtt", "blest", "ecf", "round-robin", "redundant"):
                file = content(folder, 50)
                result = send(
                    program, receiver, file, addresses, NEAR, "--scheduler", scheduler, "--mtu", mtu
                )
                received, rate = receiver.line(), result["goodput_bps"] / 1e6
                assert same(file, out / file.name)
                (out / file.name).unlink()
                share = rate / sum(rate for rate, _ in LINKS)
                gap = 1e3 * received["longest_gap_s"]
                print(
                    f"mtu {mtu} {scheduler:12} {rate:6.2f} Mbit/s, {share:.1%} of the sum, longest gap {gap:.0f} ms",
                    flush=True,
                )
        for index in range(len(LINKS)):
            file = content(folder, 25)
            result = send(program, receiver, file, addresses[index : index + 1], NEAR)
            receiver.line()
            rate = result["goodput_bps"] / 1e6
            print(f"link {index} alone: {rate:.2f} Mbit/s, {rate / LINKS[index][0]:.1%}", flush=True)
        for index in range(len(LINKS)):
            file = content(folder, 30)
            timer = threading.Timer(2, ip, ["-n", NEAR, "link", "set", f"plait{index}n", "down"])
            timer.start()
            result = send(program, receiver, file, addresses, NEAR)
            received = receiver.line()
            timer.join()
            restore(index)
            assert same(file, out / file.name)
            print(
                f"link {index} pulled after 2 s: longest gap {1e3 * received['longest_gap_s']:.0f} ms, "
                f"{result['seconds']:.1f} s",
                flush=True,
            )
        receiver.stop()
    finally:
        remove()


def failures(program: str, folder: Path, transfers: int) -> None:
    """Run many small transfers while links are pulled at random."""
    addresses, out = sources(), folder / "failures"
    build()
    try:
        receiver = Receiver(program, out, "0.0.0.0:4433", before=inside(FAR))
        gaps, failed = [], 0
        chance = random.Random(1)
        for number in range(transfers):
            file = content(folder, 4)
            stop = threading.Event()
            pulling = threading.Thread(target=pull, args=(chance.random(), stop))
            pulling.start()
            try:
                send(
                    program,
                    receiver,
                    file,
                    addresses,
                    NEAR,
                    "--scheduler",
                    chance.choice(["lowest-rtt", "blest", "ecf", "daps-rounds"]),
                )
                gaps.append(1e3 * receiver.line()["longest_gap_s"])
                assert same(file, out / file.name), number
            except RuntimeError as error:
                failed += 1
                print(f"transfer {number}: {error}", flush=True)
            finally:
                stop.set()
                pulling.join()
            for leftover in (file, out / file.name):
                leftover.unlink(missing_ok=True)
        if gaps:
            gaps.sort()
            median, late = gaps[len(gaps) // 2], gaps[int(len(gaps) * 0.95)]
            print(
                f"{transfers} transfers of 4 MB, links pulled at random: {failed} failed, "
                f"SHA-256 equal in the others; "
                f"longest gaps: median {median:.0f} ms, p95 {late:.0f} ms, worst {gaps[-1]:.0f} ms"
            )
        receiver.stop()
    finally:
        remove()


def set_route(index: int) -> None:
    route = f"route replace 10.77.9.9 via 10.77.{index}.2 dev plait{index}n metric {index + 1}"
    ip("-n", NEAR, *route.split())


def restore(index: int) -> None:
    ip("-n", NEAR, "link", "set", f"plait{index}n", "up")
    set_route(index)


def pull(seed: float, stop: threading.Event) -> None:
    """Set one link at a time down for a while."""
    chance = random.Random(seed)
    while not stop.wait(chance.uniform(0.1, 0.5)):
        index = chance.randrange(len(LINKS))
        ip("-n", NEAR, "link", "set", f"plait{index}n", "down")
        stop.wait(chance.uniform(0.1, 0.8))
        restore(index)


def loopback(program: str, folder: Path) -> None:
    out = folder / "loopback"
    for mtu in ("1232", "1472", "8972"):
        receiver = Receiver(program, out, "127.0.0.1:0", "--mtu", mtu, "--once")
        file = content(folder, 300)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = send(program, receiver, file, ["127.0.0.2", "127.0.0.3"], None, "--mtu", mtu)
        receiver.line()
        receiver.process.wait()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        rate, per_core = result["goodput_bps"] / 1e6, 300 * 8 / spent
        print(
            f"loopback, mtu {mtu}: {rate:.0f} Mbit/s; {spent:.2f} s of processor for both ends, "
            f"{per_core:.0f} Mbit/s per core for both together",
            flush=True,
        )
        (out / file.name).unlink()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--transfers", type=int, default=50)
    parser.add_argument("--only", choices=["links", "loopback", "failures"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "loopback"):
            loopback(options.program, Path(folder))
        if options.only in (None, "links"):
            links(options.program, Path(folder))
        if options.only in (None, "failures"):
            failures(options.program, Path(folder), options.transfers)


if __name__ == "__main__":
    main()
