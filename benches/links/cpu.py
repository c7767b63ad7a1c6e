"""Processor time of `plait-quic` on loopback beside quinn's and noq's own drivers, in turns in the
same run.

``cargo build --release --manifest-path benches/links/bulk/Cargo.toml``, then ``python
benches/links/cpu.py [--program target/release/plait-quic] [--bulk
benches/links/bulk/target/release/bulk]``.

All send the same bytes in UDP datagrams of the same size to 127.0.0.1. Both ends are processes of
one thread, with TLS 1.3 by rustls and ring. `bulk` sends zeros from memory on one QUIC stream and
ignores received data. `plait-quic` sends a file over two paths, hashes it at both ends and writes
it. It does so in both of its modes: its own transport, and QUIC's (`--interop`).

Gbit/s per core are the bits of the file divided by processor time (user and system): of both ends
together, and of the busier end. The last lines are medians, and ratios to each library.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from ends import Receiver, content, send

INTEROP = "plait-quic --interop"


def spent(process: subprocess.Popen[str]) -> float:
    """Wait for a child that ends now. Return its processor time in seconds."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{process.args!r}: {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def bulk(program: Path, library: str, size: int, mtu: str) -> list[float]:
    """Return the processor time of sender and receiver in seconds."""
    words = [str(program), library]
    receiver = subprocess.Popen([*words, "recv", str(size), mtu], stdout=subprocess.PIPE, text=True)
    assert receiver.stdout is not None
    to = receiver.stdout.readline().strip()
    sender = subprocess.Popen([*words, "send", str(size), mtu, to], stdout=subprocess.DEVNULL, text=True)
    return [spent(sender), spent(receiver)]


def plait(program: Path, file: Path, folder: Path, mtu: str, *more: str) -> list[float]:
    receiver = Receiver(str(program), folder / "out", "127.0.0.1:0", "--mtu", mtu, "--once")
    before = os.times()
    addresses = [word for end in (2, 3) for word in ("--local", f"127.0.0.{end}")]
    send(str(program), receiver.hello, file, "127.0.0.1", *addresses, "--mtu", mtu, *more)
    after = os.times()
    sender = after.children_user + after.children_system - before.children_user - before.children_system
    receiver_spent = spent(receiver.process)
    (folder / "out" / file.name).unlink()
    return [sender, receiver_spent]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", type=Path, default=Path("target/release/plait-quic"))
    parser.add_argument("--bulk", type=Path, default=Path("benches/links/bulk/target/release/bulk"))
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--mtu", nargs="*", default=["1232", "1472"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plait-cpu-") as name:
        folder = Path(name)
        file = content(folder, options.megabytes)
        for mtu in options.mtu:
            runs: dict[str, list[list[float]]] = {"plait-quic": [], INTEROP: [], "quinn": [], "noq": []}
            for _ in range(options.repetitions):
                runs["plait-quic"].append(plait(options.program, file, folder, mtu))
                runs[INTEROP].append(plait(options.program, file, folder, mtu, "--interop"))
                for library in ("quinn", "noq"):
                    runs[library].append(bulk(options.bulk, library, options.megabytes * 1_000_000, mtu))
            gigabits = options.megabytes * 8 / 1000
            both = {who: gigabits / statistics.median(map(sum, times)) for who, times in runs.items()}
            busier = {who: gigabits / statistics.median(map(max, times)) for who, times in runs.items()}
            for who in runs:
                print(
                    f"mtu {mtu} {who:20} {both[who]:.2f} Gbit/s per core, both ends together; {busier[who]:.2f} of the "
                    f"busier end; plait-quic has {both['plait-quic'] / both[who]:.0%} and "
                    f"{busier['plait-quic'] / busier[who]:.0%} of that",
                    flush=True,
                )


if __name__ == "__main__":
    main()
