"""Location and identity of the built program."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache as cache_once
from pathlib import Path

from plait._core import RunError
from plait.usrsctp import archive

SOURCE = Path(__file__).with_name("source")
"""Patches, the program's own files and the makefile. In the source tree this is a link to
`usrsctp/`."""
OVERRIDE = "PLAIT_USRSCTP"
"""Environment variable with the path of another program to use."""
CORRECT = "PLAIT_USRSCTP_CORRECT"
"""Environment variable with the corrections of the stack, as NAME,… or "all"
(`usrsctp/patches/0005-…`). The program reads it. Unset or empty: the stack as it is."""
NAME = "usrsctp"


def cache() -> Path:
    """Return the folder of all builds."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "plait" / "usrsctp"


def patches() -> list[Path]:
    """Return the patches in their order."""
    return sorted((SOURCE / "patches").glob("*.patch"))


def ingredients() -> Iterator[Path]:
    """Return the files that go into the program, besides the source of usrsctp."""
    yield SOURCE / "Makefile"
    yield from patches()
    yield from sorted((SOURCE / "host").glob("*.[ch]"))


def folder() -> Path:
    """Return the folder for the program of these ingredients."""
    digest = hashlib.sha256(archive.SHA256.encode())
    for file in ingredients():
        content = file.read_bytes()
        digest.update(f"\0{file.relative_to(SOURCE)}\0{len(content)}\0".encode() + content)
    return cache() / digest.hexdigest()[:16]


def built() -> Path | None:
    """Return the program, or None if it is not built."""
    chosen = os.environ.get(OVERRIDE)
    file = Path(chosen) if chosen else folder() / NAME
    return file.resolve() if file.is_file() else None


def require() -> Path:
    """Return the program; a RunError says how to get one."""
    found = built()
    if found is None:
        chosen = os.environ.get(OVERRIDE)
        message = (
            f"{OVERRIDE}={chosen}: no such file"
            if chosen
            else "the usrsctp engine's stack is not built: run plait usrsctp build once, it takes a minute"
        )
        raise RunError(message)
    return found


def identity() -> str:
    """Return a hash of the program that `require` finds, and its corrections."""
    return f"{_digest(require())} {os.environ.get(CORRECT, '')}".rstrip()


@cache_once
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
