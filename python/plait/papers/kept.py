"""Stores the runs of an interrupted reproduction as a file of JSON, so that it can continue."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from plait import _core
from plait.engines.names import EngineName
from plait.results.result import Recorded
from plait.runs.run import Task
from plait.scenarios.scenario import scenario_json
from plait.support.files import make_folder
from plait.support.machine import plait_version

FILE = ".runs.jsonl"


@dataclass(frozen=True)
class KeptRun:
    """The JSON of a run without tables."""

    json: str

    def packets(self) -> None:
        """Return no table, like all methods of this class."""

    def requests(self) -> None:
        """Return no table."""

    def path_series(self) -> None:
        """Return no table."""

    def connection_series(self) -> None:
        """Return no table."""

    def decisions(self) -> None:
        """Return no table."""

    def decision_paths(self) -> None:
        """Return no table."""


class Kept:
    """The runs that a folder keeps. Runs that record tables are made again.

    Args:
        folder: folder of the paper's page; None keeps nothing.
        engine: engine of the runs.
    """

    def __init__(self, folder: Path | None, engine: EngineName) -> None:
        self._file = None if folder is None else folder / FILE
        # A local build changes results without a new version.
        core = Path(_core.__file__).stat()
        self._made_by = f"{engine} {plait_version()} {core.st_size} {core.st_mtime_ns}"
        self._runs = {} if self._file is None else _read(self._file)

    def find(self, task: Task) -> Recorded | None:
        """Return the run of a task, or None."""
        text = self._runs.get(self._key(task)) if _is_kept(task) else None
        return None if text is None else KeptRun(text)

    def add(self, task: Task, run: Recorded) -> None:
        """Keep a run.

        Raises:
            OutputError: the folder cannot be written to.
        """
        if self._file is None or not _is_kept(task):
            return
        if not self._file.exists():
            make_folder(self._file.parent)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps([self._key(task), run.json]) + "\n")

    def remove(self) -> None:
        """Remove the runs after the reproduction is complete."""
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _key(self, task: Task) -> str:
        told = [self._made_by, scenario_json(task.scenario), task.scheduler, task.seed, task.perturb]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def _is_kept(task: Task) -> bool:
    return not (task.packets or task.decisions or task.series is not None or task.pcap is not None)


def _read(file: Path) -> dict[str, str]:
    """Return the complete lines; the last one may be truncated."""
    found: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            key, text = json.loads(line)
            json.loads(text)
        except (ValueError, TypeError):
            continue
        found[key] = text
    return found
