"""Tries a static ``plait-quic`` in an empty folder as root: a file is sent from there to there.

``python packaging/static.py PROGRAM``: exits with 1 and says what failed. Needs unshare (util-linux), and to be
root or a kernel where users may have namespaces.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BYTES = 5_000_000
PATIENCE = 30.0


class FailedError(Exception):
    """What went wrong, for people."""


def main(program: Path) -> int:
    """Tries the program; the exit code."""
    try:
        linked(program)
        with tempfile.TemporaryDirectory(prefix="plait-static-") as name:
            transfer(program, Path(name))
    except (FailedError, OSError, subprocess.SubprocessError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 1
    print(f"{program}: {program.stat().st_size / 1e6:.1f} MB, sends and receives in an empty folder")
    return 0


def linked(program: Path) -> None:
    """Refuses a program that asks for another one to load it: an ELF segment of type PT_INTERP."""
    data = program.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        raise FailedError("no ELF file of 64 bits, lowest byte first")
    first, size, count = (
        int.from_bytes(data[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2))
    )
    kinds = (int.from_bytes(data[at : at + 4], "little") for at in range(first, first + size * count, size))
    if 3 in kinds:
        raise FailedError("it is linked dynamically")


def transfer(program: Path, root: Path) -> None:
    """One file over two loopback addresses; both ends see ``root`` as their whole file system."""
    shutil.copy(program, root / "plait-quic")
    content = os.urandom(BYTES)
    (root / "file").write_bytes(content)
    alone = ["unshare", "--user", "--map-root-user", "--root", str(root), "/plait-quic"]
    receiver = subprocess.Popen(
        [*alone, "recv", "--json", "--quiet", "--once", "--listen", "127.0.0.1:0", "--out", "/inbox"],
        env={},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert receiver.stdout is not None
        line = receiver.stdout.readline()
        if not line:
            raise FailedError("recv says nothing")
        hello = json.loads(line)
        fingerprint = ["--fingerprint", hello["fingerprint"], "--quiet"]
        locals_ = ["--local", "127.0.0.2", "--local", "127.0.0.3", "--scheduler", "round-robin"]
        subprocess.run(
            [*alone, "send", "/file", hello["address"], *fingerprint, *locals_],
            env={"PLAIT_SECRET": hello["secret"]},
            timeout=PATIENCE,
            check=True,
        )
        if receiver.wait(PATIENCE) != 0:
            raise FailedError(f"recv ends with {receiver.returncode}")
    finally:
        receiver.kill()
        receiver.wait()
    arrived = (root / "inbox" / "file").read_bytes()
    if hashlib.sha256(arrived).digest() != hashlib.sha256(content).digest():
        raise FailedError("another file arrived than was sent")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
