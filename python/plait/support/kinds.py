"""The kind of a file or folder, for messages about the wrong one."""

from __future__ import annotations

import tomllib
from pathlib import Path

from plait._core import ScenarioError

USES = {
    "scenario": "plait run FILE, plait compare FILE, plait explain FILE, plait bound FILE, plait play FILE",
    "plan": "plait sweep FILE",
    "dataset": "plait analyze FOLDER, plait plot FOLDER, plait report FOLDER, plait bundle FOLDER, "
    "plait run FOLDER --index N",
    "results": "plait report FOLDER, plait explain FOLDER, plait plot FOLDER, plait bundle FOLDER",
    "recording": "plait replay FOLDER, plait explain FOLDER, plait report FOLDER",
    "paper": "plait reproduce NAME",
}
"""The commands for each kind."""
SAID = {
    "scenario": "a scenario",
    "plan": "the plan of a sweep",
    "dataset": "the dataset of a sweep",
    "results": "a folder with results",
    "recording": "the recording of a transfer",
    "paper": "the description of a paper",
}


FOLDERS = {
    "dataset": ("_plan.json",),
    "results": ("result.json", "*/result.json"),
    "recording": ("recording",),
}
"""Files that identify a kind of folder."""


def kind_of(place: Path) -> str | None:
    """Return the kind of a file or folder, a key of `USES`; None if it is unknown."""
    if place.is_dir():
        for kind, patterns in FOLDERS.items():
            if any(any(place.glob(pattern)) for pattern in patterns):
                return kind
        return None
    try:
        table = tomllib.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for kind, key in (("paper", "venue"), ("plan", "schedulers"), ("plan", "axis"), ("scenario", "path")):
        if key in table:
            return kind
    return None


def otherwise(error: Exception, place: str | Path, wanted: str) -> ScenarioError:
    """Return the error, or one with the right commands if `place` is of another kind."""
    found = kind_of(Path(place))
    if found is None or found == wanted:
        return ScenarioError(str(error))
    return ScenarioError(f"{place}: is {SAID[found]}; expected {SAID[wanted]}; for this one: {USES[found]}")
