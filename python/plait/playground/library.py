"""The source of Rust's standard library, identified by its hash, and its locations.

A toolchain from rustup can add the library for the browser by itself; one without rustup cannot.
The library's source in Debian works for both, and another source would give other bytes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from plait._core import RunError
from plait.linux import programs, tools


class UnavailableError(RunError):
    """The compiler, or the library's source, is not to be had here."""


VERSION = "1.95.0"
"""Version of the library, and of the compiler that it belongs to."""
FILE = f"rust-src_{VERSION}+dfsg1-2~bpo13+1_all.deb"
"""Debian's package, of trixie-backports."""
SHA256 = "7b76db5b880a77f9e52975d2baa6209d2f76d2c9c2789515c3088cb960e2c83b"
SHA1 = "97a84b17703ee4e5c190399eef16694be7a3aec2"
"""File name at snapshot.debian.org. It serves as an address only: the SHA-256 decides about
trust."""
PLACES = (
    f"https://deb.debian.org/debian/pool/main/r/rustc/{FILE}",
    f"https://snapshot.debian.org/file/{SHA1}",
)
"""Download locations, in the order of attempts. The last location keeps old versions."""
TREE = f"usr/src/rustc-{VERSION}"
"""The place of the source in the package."""
TO_UNPACK: tools.Packages = {name: tools.TO_BUILD[name] for name in ("ar", "tar", "xz")}


def folder() -> Path:
    """Return the folder of the unpacked library of this hash."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "plait" / "playground" / SHA256[:16]


def require(*, package: Path | None = None, say: tools.Say) -> Path:
    """Return the folder `library` of the source; fetch and unpack it if the cache lacks it.

    Args:
        package: Debian's package instead of a download.
        say: callback for the message of each step.

    Raises:
        UnavailableError: the package cannot be fetched. RunError: it is another one, or damaged.
    """
    library = folder() / TREE / "library"
    if library.is_dir():
        return library
    programs.install(TO_UNPACK, say)
    folder().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder().parent) as name:
        work = Path(name)
        file = _fetch(work, say) if package is None else package
        found = programs.sha256(file)
        if found != SHA256:
            message = f"{file}: its SHA-256 is {found} and not that of {FILE}, {SHA256}"
            raise RunError(message)
        tree = work / "tree"
        tree.mkdir()
        programs.unpack(file, f"{TREE}/library", tree, "--exclude=*/library/vendor")
        tree.replace(folder())
    return library


def _fetch(work: Path, say: tools.Say) -> Path:
    try:
        return programs.fetch(
            work / FILE,
            SHA256,
            PLACES,
            title=f"the source of Rust's library {VERSION}",
            size="45 MB",
            say=say,
            otherwise=f"fetch {FILE} elsewhere and give it: make playground RUST_SRC={FILE}",
        )
    except RunError as error:
        raise UnavailableError(str(error)) from error
