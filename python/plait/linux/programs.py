"""Programs that builds call, and downloads that they need."""

from __future__ import annotations

import hashlib
import os
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from plait._core import RunError
from plait.linux import tools

SECONDS_OF_SILENCE = 60
PIECE = 1 << 20


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def download(place: str, file: Path) -> Path:
    """Download a file from an address, and return it."""
    with urllib.request.urlopen(place, timeout=SECONDS_OF_SILENCE) as answer, file.open("wb") as to:
        while piece := answer.read(PIECE):
            to.write(piece)
    return file


def run_program(
    command: list[str],
    *,
    cwd: Path | None = None,
    more: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> None:
    """Run a program; on failure raise a RunError with its last lines.

    `more` is added to the environment. The output is appended to `log`.
    """
    environment = {**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive", **(more or {})}
    program = tools.find(command[0]) or command[0]
    done = subprocess.run(
        [program, *command[1:]],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(done.stdout)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        errors = [line for line in lines if "error" in line.lower()][:5] or lines[-5:]
        message = f"{' '.join(command[:3])} … failed: {' | '.join(errors)}"
        raise RunError(message)


def install(packages: tools.Packages, say: tools.Say) -> None:
    """Require the programs.

    On Debian, root gets missing packages installed. Otherwise the error names the packages.
    """
    lacking = tools.missing(packages)
    if lacking and os.geteuid() == 0 and tools.distribution() is tools.DEBIAN:
        names = tools.names(lacking, packages, tools.DEBIAN)
        say(f"installing {' '.join(names)}")
        run_program(["apt-get", "update", "-qq"])
        run_program(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names])
    tools.require(packages)
