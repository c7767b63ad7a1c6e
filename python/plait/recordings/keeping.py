"""A recording becomes a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plait.recordings import RECORDING
from plait.recordings.reading import read_recording
from plait.results.writing import write_results


def keep_recording(folder: Path, own: Mapping[str, Any] | None = None) -> list[Path]:
    """Write the recording in a folder as `plait run --out` writes a run, in its place; `own`: see `read_recording`.

    Raises:
        ScenarioError: it is none. OutputError: the folder cannot be written to.
    """
    place = folder / RECORDING
    files = write_results([read_recording(place, own)], folder)
    place.unlink()
    return files
