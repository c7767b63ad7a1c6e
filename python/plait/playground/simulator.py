"""The simulator that `make playground` compiles, and the hash of its sources.

In a source tree, a simulator of other sources is refused: its results would not be those of
`plait run`. An installed Plait has no sources, and uses the simulator of its wheel.
"""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

from plait._core import RunError

ROOT = Path(__file__).resolve().parents[3]
FILE = Path(__file__).with_name("simulator.wasm.gz")
CRATES = ("plait-sched", "plait-transport", "plait-sim", "plait-wasm")
"""The crates that are compiled into it."""


def fault() -> str | None:
    """Return the reason why there is no usable simulator; None if there is one."""
    if not FILE.is_file():
        return "the playground is not built: run make playground in the source tree, it takes two minutes"
    if in_tree() and not (_record().is_file() and _record().read_text(encoding="utf-8") == sources()):
        return "the playground is built from other sources than this Plait: run make playground again"
    return None


def read() -> bytes:
    """Return the simulator, compressed by gzip.

    Raises:
        RunError: there is none, or one of other sources.
    """
    if reason := fault():
        raise RunError(reason)
    return FILE.read_bytes()


def write(module: bytes, hashed: str) -> None:
    """Compress a module into the package; `hashed` is the hash of the sources it was built from."""
    FILE.write_bytes(gzip.compress(module, 9, mtime=0))
    _record().write_text(hashed, encoding="utf-8")


def in_tree() -> bool:
    """Return whether this is a source tree of Plait."""
    return (ROOT / "crates" / CRATES[-1]).is_dir()


def sources() -> str:
    """Return a hash of all files from which the simulator is compiled."""
    found = hashlib.sha256()
    for folder in (ROOT / "crates" / crate for crate in CRATES):
        for file in (folder / "Cargo.toml", *sorted((folder / "src").rglob("*.rs"))):
            found.update(f"{file.relative_to(ROOT)}\n{file.stat().st_size}\n".encode() + file.read_bytes())
    for name in ("Cargo.toml", "Cargo.lock"):
        found.update((ROOT / name).read_bytes())
    return found.hexdigest()


def _record() -> Path:
    return FILE.with_suffix(".sources")
