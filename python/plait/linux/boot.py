"""Starting the kernel as a process, and seeing that it ends."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from plait._core import RunError

MEMORY = "1024M"
STARTING_POINT = 1_700_000_000
"""The guest's clock when it starts, in seconds since 1970."""
PATIENCE_SECONDS = 120.0
"""So long may nothing happen before the machine counts as stuck."""
POLL_SECONDS = 0.05
LINES_SHOWN = 15

# The same for every run but for the seed: the kernel mixes it into its random numbers. So nothing in it may name the
# run: the guest finds its folder, as its own first program, through the current folder of the process that it is.
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
"""Told the done share of a run, often; what it raises ends the machine."""


def boot(
    kernel: Path, setarch: str, folder: Path, seed: int, watch: Watch, patience: float | None = None
) -> None:
    """Boot in `folder`, which has `order.json`, and wait for the end.

    Raises:
        RunError: the machine got stuck, failed, or ended without a result; with the last lines of its console.
    """
    write_init(folder)
    console = folder / "console.log"
    command = [setarch, "-R", str(kernel), *COMMAND, f"rng_seed={seed}"]
    with console.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        _wait(process, folder, watch, PATIENCE_SECONDS if patience is None else patience)
    finally:
        # Also the processes that stand for the guest's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not (folder / "observed.json").exists():
        raise failure("the kernel ended without a result", folder)


def write_init(folder: Path) -> None:
    """The guest's first program: this Python, on the modules of `guest`."""
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    here = Path(__file__).resolve().parent
    start = f"import sys; sys.path.append({str(here)!r}); from guest.agent import main; main()"
    init = folder / "init"
    # Without site and .pyc files: nothing of the user's, and the host's files are read-only.
    init.write_text(
        f"#!/bin/sh\nexec {shlex.quote(str(python))} -ISB -c {shlex.quote(start)}\n", encoding="utf-8"
    )
    init.chmod(0o755)


def _wait(process: subprocess.Popen[bytes], folder: Path, watch: Watch, patience: float) -> None:
    """Until the process ends; the guest writes its progress into a file."""
    progress, seen, since = folder / "progress", "", time.monotonic()
    while True:
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
        if time.monotonic() - since > patience:
            raise failure(f"the kernel made no progress for {patience:g} s and was ended", folder)


def failure(what: str, folder: Path) -> RunError:
    """What went wrong, as the guest says it, or else its console."""
    said = folder / "failure.txt"
    if said.exists():
        return RunError(f"{what}: {said.read_text(encoding='utf-8').strip().splitlines()[-1]}")
    console = folder / "console.log"
    lines = console.read_text(encoding="utf-8", errors="replace").splitlines() if console.exists() else []
    return RunError(f"{what}; its console's last lines: {' | '.join(lines[-LINES_SHOWN:]) or '(none)'}")
