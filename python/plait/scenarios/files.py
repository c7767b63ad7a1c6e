"""The files that a scenario names: recorded links, steps, traces of writes, own controllers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

FILE_KEYS = ("trace", "rate_steps", "delay_steps", "loss_steps", "queue_steps", "file")
"""Keys of paths, links and the workload whose value, if it is a text, is a file's name."""

CONTROLLER_KEY = "congestion_control"
"""Key whose value may be a class in a file: ``FILE.py:CLASS``."""


def file_of(key: str, value: Any) -> str | None:
    """Return the file that the value of a scenario's key names; None if it names none."""
    if not isinstance(value, str):
        return None
    if key == CONTROLLER_KEY:
        file = value.partition(":")[0]
        return file if file.endswith(".py") else None
    return value if key in FILE_KEYS else None


def named_files(value: Any) -> Iterator[str]:
    """Yield the names of the files in a scenario's table."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if (file := file_of(key, inner)) is not None:
                yield file
            else:
                yield from named_files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from named_files(inner)
