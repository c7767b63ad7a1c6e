"""Conversion of a recording into a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plait.recordings import RECORDING
from plait.recordings.reading import read_recording
from plait.results.writing import write_results


def keep_recording(folder: Path, own: Mapping[str, Any] | None = None) -> list[Path]:
    """Replace the recording in a folder by files such as `plait run --out` writes.

    `own`: see `read_recording`.

    Raises:
        ScenarioError: the file is not a recording. OutputError: the folder is not writable.
    """
    place = folder / RECORDING
    files = write_results([read_recording(place, own)], folder)
    place.unlink()
    return files
