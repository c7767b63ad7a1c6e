"""Programs that builds call, and downloads that they need."""

from __future__ import annotations

import hashlib
import os
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence
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


def fetch(
    file: Path, content: str, places: Sequence[str], *, title: str, size: str, say: tools.Say, otherwise: str
) -> Path:
    """Fetch a file with the SHA-256 `content` from the first of the places that has it.

    Args:
        file: the file to write; its name is that of the message.
        content: the SHA-256 as hexadecimal digits.
        places: addresses, in the order of attempts.
        title: the name of the content.
        size: its size with a unit.
        say: callback for the message of each attempt.
        otherwise: the last part of the message of a failure, the remedy.

    Raises:
        RunError: no location has it; the message has the reason of each.
    """
    failures: list[str] = []
    for place in places:
        say(f"fetching {file.name} ({size}) from {place}")
        try:
            found = sha256(download(place, file))
        except OSError as error:
            failures.append(f"{place}: {error}")
            continue
        if found == content:
            return file
        failures.append(f"{place}: its SHA-256 is {found} and not {content}")
        file.unlink()
    message = f"{title} is nowhere to be had: {'; '.join(failures)}; {otherwise}"
    raise RunError(message)


def unpack(package: Path, part: str, folder: Path, *options: str) -> None:
    """Extract a part of a Debian package, which is an archive of archives, into `folder`.

    `options` are further ones of tar.

    Raises:
        RunError: the package is damaged, or it lacks the part.
    """
    archiver, tar = tools.find("ar") or "ar", tools.find("tar") or "tar"
    command = [archiver, "p", str(package), "data.tar.xz"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as inner:
        done = subprocess.run(
            [tar, "-xJ", "-C", str(folder), *options, f"./{part}"],
            stdin=inner.stdout,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0 or inner.returncode != 0:
        message = f"{package.name}: cannot be unpacked: {done.stderr.strip()}"
        raise RunError(message)


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
