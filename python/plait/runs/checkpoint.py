"""Keeps the runs of an experiment in a file of JSON lines, so that it can continue."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plait.engines.names import EngineName
from plait.results.result import Result
from plait.runs.run import Task, key
from plait.scenarios.scheduler import choice_of, label
from plait.support.files import make_folder

FILE = ".runs.jsonl"


@dataclass(frozen=True)
class StoredRun:
    """The JSON of a run without tables."""

    json: str


class Checkpoint:
    """The runs in a file: a line per run, with its key. Runs that record tables are made again.

    Args:
        file: the file.
        engine: engine of the runs.
        resume: whether to use the runs in the file; without it, the file begins anew.
    """

    def __init__(self, file: Path, engine: EngineName, *, resume: bool = True) -> None:
        self._file, self._engine = file, engine
        if not resume:
            self.remove()
        self._places = dict(_places(file))

    def find(self, task: Task) -> Result | None:
        """Return the result of a task, or None.

        Raises:
            Refused: the engine refuses the run.
        """
        if not _is_kept(task):
            return None
        place = self._places.get(key(task, self._engine))
        if place is None:
            return None
        with self._file.open("rb") as file:
            file.seek(place)
            _, data = json.loads(file.readline())
        run = StoredRun(json.dumps(data, ensure_ascii=False))
        return Result(run, None if task.scheduler is None else label(choice_of(task.scheduler)))

    def add(self, task: Task, result: Result) -> None:
        """Keep a run.

        Raises:
            OutputError: the folder cannot be written to.
        """
        if not _is_kept(task):
            return
        if not self._file.exists():
            make_folder(self._file.parent)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key(task, self._engine), result.data], ensure_ascii=False) + "\n")

    def remove(self) -> None:
        """Remove the runs after the experiment is complete."""
        self._file.unlink(missing_ok=True)


def _is_kept(task: Task) -> bool:
    return not (task.packets or task.decisions or task.series is not None or task.pcap is not None)


def _places(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the key of each complete line, and its place; the last line may be truncated."""
    place = 0
    try:
        with file.open("rb") as lines:
            for line in lines:
                try:
                    name, _ = json.loads(line)
                except (ValueError, TypeError):
                    continue
                else:
                    yield name, place
                finally:
                    place += len(line)
    except OSError:
        return
