"""Starts the kernel as a process, and ensures that it ends."""

from __future__ import annotations

import contextlib
import itertools
import marshal
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path

from plait._core import RunError
from plait.linux import machine
from plait.linux.processor import Placement

MEMORY = "1024M"
STARTING_POINT = 1_700_000_000
"""The guest's clock at its start, in seconds since 1970."""
PATIENCE_SECONDS = 120.0
"""Maximum time without progress before the machine counts as stuck."""
POLL_SECONDS = 0.05
POLLS_PER_LOOK = 10
"""Polls between two checks that the machine gets its processor."""
LINES_SHOWN = 15

# The command line is the same in every run but for the seed, because the kernel mixes it into its
# random numbers. So it must not name the run. The guest finds its folder and its first program
# through the current folder of its process on the host.
COMMAND = (
    f"mem={MEMORY}",
    "root=/dev/root",
    "rootfstype=hostfs",
    "ro",
    "init=/proc/self/cwd/init",
    "con=null",
    "con0=null,fd:1",
    "quiet",
    "norandmaps",
    "umid=plait",
    "uml_dir=./uml",
    "panic=-1",
    "time-travel=inf-cpu",
    f"time-travel-start={STARTING_POINT}000000000",
)

Watch = Callable[[float], None]
"""Callback that often receives the completed share of a run. An exception from it ends the machine.
"""


def boot(
    kernel: Path, setarch: str, folder: Path, seed: int, watch: Watch, patience: float | None = None
) -> None:
    """Boot in `folder`, which contains `order.json`, and wait for the end.

    The kernel's environment contains only the folder of its memory.

    Raises:
        RunError: the machine got stuck, failed, or ended without a result; the message has the last
            lines of its console.
    """
    write_init(folder)
    console = folder / "console.log"
    command = [setarch, "-R", str(kernel), *COMMAND, f"rng_seed={seed}"]
    with console.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={"TMPDIR": str(machine.memory_folder())},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    placement = Placement(process.pid)
    try:
        _wait(process, folder, placement, watch, PATIENCE_SECONDS if patience is None else patience)
    finally:
        placement.leave()
        # Also kill the host processes of the guest's processes.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not (folder / "observed.json").exists():
        raise failure("the kernel ended without a result", folder)


def write_init(folder: Path) -> None:
    """Write the guest's first program: this Python with the modules of `guest` beside it."""
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    package = folder / "guest"
    package.mkdir(exist_ok=True)
    for name, code in compiled_modules().items():
        (package / name).write_bytes(code)
    # Here /proc is still the host's. There, this process is the kernel, and its current folder is
    # the run's.
    start = (
        "import os, sys; sys.path.append(os.readlink('/proc/self/cwd')); from guest.agent import main; main()"
    )
    init = folder / "init"
    # Without site and .pyc files: the user's configuration has no effect, and the host's files are
    # read-only.
    init.write_text(
        f"#!/bin/sh\nexec {shlex.quote(str(python))} -ISB -c {shlex.quote(start)}\n", encoding="utf-8"
    )
    init.chmod(0o755)


@cache
def compiled_modules() -> Mapping[str, bytes]:
    """Return the compiled modules of `guest` by file name, so that the guest need not compile."""
    header = MAGIC_NUMBER + bytes(12)
    sources = sorted(Path(__file__).with_name("guest").glob("*.py"))
    return {
        f"{source.stem}.pyc": header
        + marshal.dumps(compile(source.read_bytes(), f"guest/{source.name}", "exec"))
        for source in sources
    }


def _wait(
    process: subprocess.Popen[bytes], folder: Path, placement: Placement, watch: Watch, patience: float
) -> None:
    """Wait for the end of the process, and watch the progress that the guest writes into a file."""
    progress, seen, since = folder / "progress", "", time.monotonic()
    for poll in itertools.count(1):
        try:
            process.wait(POLL_SECONDS)
            return
        except subprocess.TimeoutExpired:
            pass
        try:
            text = progress.read_text(encoding="ascii")
        except FileNotFoundError:
            text = ""
        if text != seen:
            seen, since = text, time.monotonic()
        watch(float(seen or 0))
        if poll % POLLS_PER_LOOK == 0:
            placement.look()
        if time.monotonic() - since > patience:
            raise failure(f"the kernel made no progress for {patience:g} s and was ended", folder)


def failure(what: str, folder: Path) -> RunError:
    """Return the error with the guest's message, else the machine's obstacles, else the console."""
    said = folder / "failure.txt"
    if said.exists():
        return RunError(f"{what}: {said.read_text(encoding='utf-8').strip().splitlines()[-1]}")
    obstacles = machine.obstacles()
    if obstacles:
        return RunError(f"{what}: {'; '.join(obstacles)}")
    console = folder / "console.log"
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines() if console.exists() else []
    return RunError(f"{what}; its console's last lines: {' | '.join(lines[-LINES_SHOWN:]) or '(none)'}")
