"""Writing files whole or not at all."""

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
    """A file's or folder's name made of the text; numbered if it is among `taken`, to which it is added."""
    base = re.sub(r"[^A-Za-z0-9._=-]+", "-", text).strip("-.") or "run"
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}-{count}"
    taken.add(name)
    return name


def make_folder(folder: Path) -> None:
    """Make a folder and its parents, and see that files can be written there.

    Raises:
        OutputError: it cannot be made or written to.
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
    """Remove the folders that `make_folder` made and in which nothing was written: a command failed."""
    for folder in _made:
        with suppress(OSError):
            folder.rmdir()
    _made.clear()


@contextmanager
def whole_file(file: Path) -> Iterator[Path]:
    """Yield a temporary name beside `file`; rename it to `file` at the end, or remove it if anything goes wrong.

    Raises:
        OutputError: the file cannot be written.
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
    """Write a text file whole or not at all; OutputError if it cannot be written."""
    with whole_file(file) as temporary:
        temporary.write_text(text, encoding="utf-8")


def parquet(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet: the same bytes for the same frame.

    In memory, as Polars does not say why it cannot write a file.
    """
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()
