"""Places of the captures of simulated runs: a folder per run, a file per end of a path."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

from plait.scenarios.scheduler import scheduler_name
from plait.support.files import free_name, make_folder

Folder = str | PathLike[str]
"""Name of a folder."""


def capture_places(folder: Folder, scenario: str, scheduler: str | None, taken: set[str]) -> list[str]:
    """Make the folder of a run's captures below `folder`; return a file prefix for each path.

    Args:
        folder: parent of the runs' folders.
        scenario: the run's scenario, canonical JSON.
        scheduler: the label of its scheduler; None: the scenario's.
        taken: folder names of other runs; the run's own name is added.

    Raises:
        OutputError: the folder is not writable.
    """
    document = json.loads(scenario)
    name = scheduler_name(document["scheduler"]) if scheduler is None else scheduler
    place = Path(folder) / run_name(document["name"], name, taken)
    make_folder(place)
    stems: set[str] = set()
    return [str(place / free_name(path["name"], stems)) for path in document["path"]]


def run_name(scenario: str, scheduler: str, taken: set[str]) -> str:
    """Return a run's name as a file or folder, numbered if taken; add it to `taken`."""
    return free_name(f"{scenario}-{scheduler}", taken)
