"""Writes a dataset: rows arrive in any order, parts have rows by number.

Interruptions are harmless: every part is written completely or not at all, after its hash, so the
folder is always consistent. The order is: rows in the journal; the part's hash; the part; the
journal without its rows. After a kill in between, a resumed sweep at most finds rows twice, and
writes the same part again.

Equal runs (`Plan.first`) are made once. The journal has only the first one; a part repeats its row
for the others.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from plait.support.files import OutputError, make_folder, parquet, whole_file, write_text
from plait.sweep.columns import ERROR
from plait.sweep.journal import Journal, Row
from plait.sweep.plan import Plan

PLAN, PARTS, JOURNAL = "_plan.json", "_parts.sha256", "_journal"
SCHEDULERS = "_schedulers.json"
"""Files of the user's schedulers by label, relative to the dataset. A copy of a dataset may lack it."""
ROWS = 1_000
"""Rows of a part."""
PARTS_READ = 4
"""Parts in memory whose rows other parts repeat."""


class DatasetWriter:
    """The dataset of a plan in a folder, opened for writing by one process at a time.

    Raises:
        OutputError: the folder is not writable, another process writes there, it holds another
            plan's dataset, or a part is damaged.
    """

    def __init__(self, folder: Path, plan: Plan, *, rows: int = ROWS) -> None:
        self.folder, self._plan, self._rows = folder, plan, rows
        make_folder(folder)
        self._lock = _lock(folder)
        try:
            _sweep_up(folder)
            self._agree()
            self._hashes = _verified(folder)
            self._journal = Journal(folder / JOURNAL)
            self._waiting = {
                index: row
                for index, row in self._journal.read().items()
                if self._file(index) not in self._hashes
            }
            self._journal.replace(self._waiting)  # an incomplete line would damage the next one
            self._own = lru_cache(self._count_own)
            self._read = lru_cache(PARTS_READ)(self._rows_of)
            self._counts = Counter(map(self._file, self._waiting))
            self._complete = {name for name, count in self._counts.items() if count == self._own(name)}
            self._write_parts()
        except BaseException:
            os.close(self._lock)
            raise

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._journal.close()
        os.close(self._lock)

    @property
    def done(self) -> int:
        """The number of different runs that are made."""
        return sum(self._own(name) for name in self._hashes) + len(self._waiting)

    def missing(self) -> Iterator[int]:
        """Yield the numbers of the different runs that are not made, ascending."""
        waiting, hashes = frozenset(self._waiting), frozenset(self._hashes)
        for start in range(0, len(self._plan), self._rows):
            if self._file(start) not in hashes:
                yield from (
                    index
                    for index in self._numbers(self._file(start))
                    if index not in waiting and self._plan.first(index) == index
                )

    def add(self, index: int, row: Row) -> None:
        """Store a row; it survives a kill once this returns.

        Raises:
            OutputError: the row is not writable; rows added before stay.
        """
        name = self._file(index)
        self._journal.append(index, row)
        self._waiting[index] = row
        self._counts[name] += 1
        if self._counts[name] == self._own(name):
            self._complete.add(name)
            self._write_parts()

    def finish(self) -> None:
        """Write the last parts, and the hashes in the order of the parts: the same for any course."""
        names = map(self._file, range(0, len(self._plan), self._rows))
        self._complete = {name for name in names if name not in self._hashes}
        self._write_parts()
        write_text(self.folder / PARTS, _listed(self._hashes))

    def _agree(self) -> None:
        """Check that the folder belongs to this plan; make an empty folder belong to it."""
        file = self.folder / PLAN
        identity = {**self._plan.identity, "rows_per_part": self._rows}
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            foreign = next((one.name for one in self.folder.iterdir()), None)
            if foreign is not None:
                message = f"{self.folder}: has {foreign} but no {PLAN}: not a sweep's dataset; expected an empty folder"
                raise OutputError(message) from None
            document = {"name": self._plan.name, **self._about(), **identity}
            write_text(file, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
            self._write_schedulers()
            return
        try:
            found = json.loads(text)
            changed = [
                key for key, value in identity.items() if json.loads(json.dumps(value)) != found.get(key)
            ]
        except (json.JSONDecodeError, AttributeError) as error:
            message = f"{file}: is damaged: {error}; expected the plan that the dataset was begun with"
            raise OutputError(message) from error
        if changed:
            message = (
                f"{self.folder}: was begun with another plan; changed: {_changes(changed, found, identity)}; "
                f"expected the same plan, or another --out"
            )
            raise OutputError(message)

    def _write_schedulers(self) -> None:
        """Write the places of the user's schedulers, if there are any."""
        folder = self.folder.resolve()
        places = {
            one.label: os.path.relpath((self._plan.folder / one.own.file).resolve(), folder)
            for one in self._plan.schedulers
            if one.own is not None
        }
        if places:
            write_text(self.folder / SCHEDULERS, json.dumps(places, indent=1, ensure_ascii=False) + "\n")

    def _about(self) -> dict[str, Any]:
        columns = self._plan.columns
        return {
            "runs": len(self._plan),
            "labels": [one.label for one in self._plan.schedulers],
            "variables": list(columns.variables),
            "metrics": list(columns.metrics),
        }

    def _file(self, index: int) -> str:
        return f"part-{index // self._rows:08}.parquet"

    def _numbers(self, name: str) -> range:
        """Return the numbers of the rows of a part."""
        start = int(name[5:13]) * self._rows
        return range(start, min(start + self._rows, len(self._plan)))

    def _count_own(self, name: str) -> int:
        """Return the number of rows of a part that repeat no earlier one."""
        return sum(self._plan.first(index) == index for index in self._numbers(name))

    def _write_parts(self) -> None:
        """Write the parts whose own rows are complete, and whose other rows have their runs."""
        for name in sorted(self._complete):
            runs = map(self._plan.first, self._numbers(name))
            if all(run in self._waiting or self._file(run) in self._hashes for run in runs):
                self._write_part(name)
                self._complete.discard(name)

    def _write_part(self, name: str) -> None:
        numbers = self._numbers(name)
        frame = self._frame(numbers)
        file = self.folder / name
        content = parquet(frame)
        digest = hashlib.sha256(content).hexdigest()
        with whole_file(file) as temporary:
            temporary.write_bytes(content)
            _append(self.folder / PARTS, _listed({name: digest}))
        self._hashes[name] = digest
        for index in numbers:
            self._waiting.pop(index, None)
        self._counts.pop(name, None)
        self._journal.replace(self._waiting)

    def _frame(self, numbers: range) -> pl.DataFrame:
        columns = self._plan.columns
        table: list[list[Any]] = []
        for index in numbers:
            run = self._plan.run(index)
            at = self._plan.values(run.point)
            place = [index, run.point, run.seed, run.scheduler.label]
            told = self._told(self._plan.first(index))
            table.append([*place, *(at[name] for name in columns.variables), *told])
        return pl.DataFrame(table, schema=columns.schema, orient="row", strict=False)

    def _told(self, run: int) -> Sequence[Any]:
        """Return the error and the metrics of a run."""
        if run not in self._waiting:
            name = self._file(run)
            return self._read(name)[run - self._numbers(name).start]
        error, values = self._waiting[run]
        return [error, *([None] * len(self._plan.columns.metrics) if values is None else json.loads(values))]

    def _rows_of(self, name: str) -> list[tuple[Any, ...]]:
        """Return errors and metrics of a part on disk."""
        return pl.read_parquet(self.folder / name, columns=[ERROR, *self._plan.columns.metrics]).rows()


def _lock(folder: Path) -> int:
    """Lock the folder until the process ends, in any way."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        message = f"{folder}: another sweep writes there; expected to be alone"
        if not isinstance(error, BlockingIOError):
            message = f"{folder}: cannot be locked: {error.strerror or error}"
        raise OutputError(message) from error
    return handle


def _sweep_up(folder: Path) -> None:
    """Remove the temporary files of a killed process: see `plait.support.files.whole_file`."""
    for name in (PLAN, PARTS, SCHEDULERS, JOURNAL, "part-????????.parquet"):
        for file in folder.glob(f".{Path(name).stem}-*{Path(name).suffix}"):
            file.unlink(missing_ok=True)


def _verified(folder: Path) -> dict[str, str]:
    """Return the hashes of the existing parts.

    Raises:
        OutputError: a part differs from its hash.
    """
    listed: dict[str, str] = {}
    try:
        text = (folder / PARTS).read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        message = f"{folder / PARTS}: cannot be read: {error}"
        raise OutputError(message) from error
    for line in text.splitlines():
        digest, _, name = line.partition("  ")
        listed[name] = digest  # for a part written again, the last line counts
    found = {}
    for file in sorted(folder.glob("part-*.parquet")):
        try:
            digest = _hash(file)
        except OSError as error:
            message = f"{file}: cannot be read: {error.strerror or error}"
            raise OutputError(message) from error
        if listed.get(file.name) != digest:
            message = (
                f"{file}: is damaged: its SHA-256 is not the one in {PARTS}; "
                f"remove the file, and the same command makes its runs again"
            )
            raise OutputError(message)
        found[file.name] = digest
    return found


def _hash(file: Path) -> str:
    with file.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _append(file: Path, text: str) -> None:
    """Append to a file, after a line feed if the last line is incomplete."""
    with file.open("a+b") as handle:
        end = handle.seek(0, os.SEEK_END)
        if end:
            handle.seek(end - 1)
            text = text if handle.read(1) == b"\n" else "\n" + text
        handle.write(text.encode())


def _listed(hashes: Mapping[str, str]) -> str:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(hashes.items()))


def _changes(keys: list[str], before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the changes, with both values if they are short."""
    said = []
    for key in keys:
        values = [json.dumps(one.get(key), ensure_ascii=False) for one in (before, now)]
        short = all(len(value) <= 60 for value in values)
        said.append(f"{key} (then {values[0]}, now {values[1]})" if short else key)
    return "; ".join(said)
