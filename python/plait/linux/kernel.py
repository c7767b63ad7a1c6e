"""Location and identity of the built kernel."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache as cache_once
from pathlib import Path

from plait._core import RunError
from plait.linux import archive

SOURCE = Path(__file__).with_name("source")
"""Patches, schedulers and configuration. In the source tree this is a link to `linux/`."""
OVERRIDE = "PLAIT_LINUX_KERNEL"
"""Environment variable with the path of another kernel to use."""
MINUTES = "5 to 15"


@dataclass(frozen=True, kw_only=True)
class Build:
    """Information about a build.

    source_sha256: hash of the source archive; None if the source was a tree, which is unverified.
    """

    version: str
    source: str
    source_sha256: str | None
    seconds: float

    @property
    def checked(self) -> bool:
        """Whether the build used the common archive."""
        return self.source_sha256 == archive.TARBALL_SHA256

    def write(self, folder: Path) -> None:
        """Write the information beside the kernel."""
        (folder / "build.json").write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Build | None:
        """Read the information beside a kernel; None if it is incomplete."""
        try:
            return Build(**json.loads((folder / "build.json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None


def cache() -> Path:
    """Return the folder of all builds."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "plait" / "linux"


def ingredients() -> Iterator[Path]:
    """Return the files that go into a kernel, besides the source of Linux."""
    yield SOURCE / "lab.config"
    yield from sorted((SOURCE / "patches").glob("*.patch"))
    yield from sorted(file for file in (SOURCE / "schedulers").rglob("*") if file.is_file())


def content_hash() -> str:
    """Return a hash of the source version and all ingredients of the kernel."""
    digest = hashlib.sha256(f"{archive.VERSION} {archive.TARBALL_SHA256}".encode())
    for file in ingredients():
        content = file.read_bytes()
        digest.update(f"\0{file.relative_to(SOURCE)}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]


def folder(*, debug: bool = False) -> Path:
    """Return the folder for the kernel of these ingredients, or for the self-checking one."""
    if not debug:
        return cache() / content_hash()
    extra = hashlib.sha256((SOURCE / "debug.config").read_bytes()).hexdigest()[:8]
    return cache() / f"{content_hash()}-debug-{extra}"


def built() -> Path | None:
    """Return the kernel, or None if it is not built."""
    chosen = os.environ.get(OVERRIDE)
    file = Path(chosen) if chosen else folder() / "linux"
    return file.resolve() if file.is_file() and (chosen or Build.read(file.parent)) else None


def require() -> Path:
    """Return the kernel; a RunError says how to get one."""
    found = built()
    if found is None:
        chosen = os.environ.get(OVERRIDE)
        message = (
            f"{OVERRIDE}={chosen}: no such file"
            if chosen
            else f"the linux engine's kernel is not built: run plait linux build once, it takes {MINUTES} minutes"
        )
        raise RunError(message)
    return found


def build_hash() -> str:
    """Return the content hash of the kernel that `require` finds."""
    return _digest(require())


def identity() -> str:
    """Return a hash of the kernel that `require` finds, its boot code and the guest's code."""
    here = Path(__file__).parent
    return _digest(require(), here / "boot.py", *sorted((here / "guest").glob("*.py")))


@cache_once
def _digest(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        content = file.read_bytes()
        digest.update(f"\0{file.name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()[:16]
