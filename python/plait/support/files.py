"""Writes files completely or not at all."""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from plait._core import OutputError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "OutputError",
    "free_name",
    "make_folder",
    "parquet",
    "remove_empty_folders",
    "whole_file",
    "write_text",
]

_made: list[Path] = []
"""Folders that `make_folder` made, a folder before its parent."""


def free_name(text: str, taken: set[str]) -> str:
    """Return a file or folder name made of the text, numbered if taken; add it to `taken`."""
    base = re.sub(r"[^A-Za-z0-9._=-]+", "-", text).strip("-.") or "run"
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    taken.add(name)
    return name


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, and check that files can be written there.

    Raises:
        OutputError: the folder cannot be made or is not writable.
    """
    try:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        _made.extend(missing)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"{folder}: cannot write there: {error.strerror or error}"
        raise OutputError(message) from error


def remove_empty_folders() -> None:
    """Remove the empty folders that `make_folder` made, after a command failed."""
    for folder in _made:
        with suppress(OSError):
            folder.rmdir()
    _made.clear()


@contextmanager
def whole_file(file: Path) -> Iterator[Path]:
    """Yield a temporary name beside `file`; rename it at the end, or remove it after an error.

    Raises:
        OutputError: the file is not writable.
    """
    if file.is_dir():
        message = f"{file}: is a folder; expected a file's name"
        raise OutputError(message)
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-", suffix=file.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o644)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        message = f"{file}: cannot be written: {error.strerror or error}"
        raise OutputError(message) from error


def write_text(file: Path, text: str) -> None:
    """Write a text file completely or not at all; OutputError if it is not writable."""
    with whole_file(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a frame as Parquet: the same bytes for the same frame.

    The bytes are made in memory, as Polars does not report why it cannot write a file.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
