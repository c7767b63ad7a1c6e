"""Programs and headers that the lab requires, and the packages that contain them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plait._core import RunError


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A family of distributions: its identification, and its installation command."""

    name: str
    identifiers: frozenset[str]
    """IDs in /etc/os-release, of the distribution or of one that it is like."""
    install: str


DEBIAN = Distribution(
    name="Debian",
    identifiers=frozenset({"debian", "ubuntu"}),
    install="apt-get install",
)
FEDORA = Distribution(
    name="Fedora",
    identifiers=frozenset({"fedora", "rhel", "centos"}),
    install="dnf install",
)
ARCH = Distribution(name="Arch", identifiers=frozenset({"arch"}), install="pacman -S --needed")
DISTRIBUTIONS = (DEBIAN, FEDORA, ARCH)

HEADERS = "the C library's headers"
"""An entry of the program tables that is not a program."""

Say = Callable[[str], None]
"""Takes the message of each step of a build."""
Packages = Mapping[str, Sequence[str]]
"""Package of each program in each of `DISTRIBUTIONS`, in their order."""

TO_RUN: Packages = {
    "ip": ("iproute2", "iproute", "iproute2"),
    "tc": ("iproute2", "iproute-tc", "iproute2"),
    "setarch": ("util-linux", "util-linux", "util-linux"),
}
TO_BUILD: Packages = {
    "gcc": ("gcc", "gcc", "gcc"),
    HEADERS: ("libc6-dev", "glibc-devel", "glibc"),
    "ar": ("binutils", "binutils", "binutils"),
    "make": ("make", "make", "make"),
    "flex": ("flex", "flex", "flex"),
    "bison": ("bison", "bison", "bison"),
    "bc": ("bc", "bc", "bc"),
    "xz": ("xz-utils", "xz", "xz"),
    "patch": ("patch", "patch", "patch"),
    "tar": ("tar", "tar", "tar"),
}
ADMINISTRATION = ("/usr/sbin", "/sbin", "/usr/local/sbin")
"""Folders of programs that are not on every user's path."""
OS_RELEASE = (Path("/etc/os-release"), Path("/usr/lib/os-release"))


def find(program: str) -> str | None:
    """Return the absolute name of a program, or None."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])
    return shutil.which(program, path=path)


def _has_headers() -> bool:
    """Return whether the kernel's host headers compile; True without a compiler."""
    compiler = find("gcc")
    if compiler is None:
        return True
    program = "#include <stdio.h>\n#include <sys/ptrace.h>\n#include <linux/types.h>\n"
    command = [compiler, "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(command, input=program.encode(), capture_output=True, check=False)
    return done.returncode == 0


def missing(packages: Packages) -> list[str]:
    """Return the missing programs."""
    return [
        program
        for program in packages
        if (not _has_headers() if program == HEADERS else find(program) is None)
    ]


def distribution() -> Distribution | None:
    """Return the distribution of this machine, or None if it is unknown."""
    for file in OS_RELEASE:
        try:
            text = file.read_text(encoding="utf-8")
        except OSError:
            continue
        pairs = (line.partition("=")[::2] for line in text.splitlines())
        fields = {key.strip(): value.strip().strip("\"'") for key, value in pairs}
        names = [fields.get("ID", ""), *fields.get("ID_LIKE", "").split()]
        return next((one for name in names for one in DISTRIBUTIONS if name in one.identifiers), None)
    return None


def names(programs: Sequence[str], packages: Packages, which: Distribution) -> list[str]:
    """Return the packages that contain the programs."""
    place = DISTRIBUTIONS.index(which)
    return list(dict.fromkeys(packages[program][place] for program in programs))


def advice(programs: Sequence[str], packages: Packages) -> str:
    """Return the installation command; on an unknown distribution, those of all known ones."""
    here = distribution()
    lines = [
        f"on {one.name}: sudo {one.install} {' '.join(names(programs, packages, one))}"
        for one in DISTRIBUTIONS
        if here in (None, one)
    ]
    return "; ".join(lines)


def complaint(programs: Sequence[str], packages: Packages) -> str:
    """Return the missing programs and their installation in one line."""
    return f"missing: {', '.join(programs)}; {advice(programs, packages)}"


def require(packages: Packages) -> dict[str, str]:
    """Return the absolute names of all programs; a RunError names the packages to install."""
    lacking = missing(packages)
    if lacking:
        raise RunError(complaint(lacking, packages))
    return {program: str(find(program)) for program in packages if program != HEADERS}
