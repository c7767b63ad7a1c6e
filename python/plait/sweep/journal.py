"""The rows of a dataset that are not in a part yet: a line per run, written when the run ends.

A line is a checksum and JSON: the run's number, its error (or null), and its metrics (or null). A
killed process loses no written line. A line that is incomplete after a crash of the machine is
recognised, and its run made again.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from plait.support.files import OutputError, write_text


class Row(NamedTuple):
    """The error of a run, or None; its metrics as a JSON list, or None if it failed."""

    error: str | None
    values: str | None


class Journal:
    """The journal in `file`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None
        self._whole = 0

    def read(self) -> dict[int, Row]:
        """Return the rows by number, without incomplete lines."""
        rows: dict[int, Row] = {}
        try:
            text = self._file.read_bytes()
        except FileNotFoundError:
            return rows
        except OSError as error:
            raise _unwritable(self._file, error) from error
        for line in text.split(b"\n"):
            checksum, _, body = line.partition(b" ")
            if checksum != f"{zlib.crc32(body):08x}".encode():
                continue
            index, rest = body[1:].split(b",", 1)
            why, length = _DECODER.raw_decode(rest.decode())
            values = rest.decode()[length + 1 : -1]
            rows[int(index)] = Row(why, None if values == "null" else values)
        return rows

    def append(self, index: int, row: Row) -> None:
        """Add a row.

        Raises:
            OutputError: the journal is not writable; its content stays.
        """
        line = _line(index, row)
        try:
            if self._handle is None:
                self._handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                self._whole = os.fstat(self._handle).st_size
            written = os.write(self._handle, line)
            if written < len(line):  # a nearly full disk accepts a part
                os.ftruncate(self._handle, self._whole)
                if os.write(self._handle, line) < len(line):
                    os.ftruncate(self._handle, self._whole)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _unwritable(self._file, error) from error
        self._whole += len(line)

    def replace(self, rows: Mapping[int, Row]) -> None:
        """Keep only these rows; without any, remove the file.

        Raises:
            OutputError: the file is not writable; the old one stays.
        """
        self.close()
        if rows:
            write_text(self._file, _text(rows.items()))
            return
        try:
            self._file.unlink(missing_ok=True)
        except OSError as error:
            raise _unwritable(self._file, error) from error

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


_DECODER = json.JSONDecoder()


def _line(index: int, row: Row) -> bytes:
    error = "null" if row.error is None else json.dumps(row.error)
    body = f"[{index},{error},{row.values or 'null'}]".encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _text(rows: Iterable[tuple[int, Row]]) -> str:
    return b"".join(_line(index, row) for index, row in rows).decode()


def _unwritable(file: Path, error: OSError) -> OutputError:
    return OutputError(f"{file}: cannot be written: {error.strerror or error}")
