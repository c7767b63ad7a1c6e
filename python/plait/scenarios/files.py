"""The files that a scenario names: recorded links, steps and traces of writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

FILE_KEYS = ("trace", "rate_steps", "delay_steps", "loss_steps", "queue_steps", "file")
"""Keys of paths, links and the workload whose value, if it is a text, is a file's name."""


def named_files(value: Any) -> Iterator[str]:
    """Yield the names of the files in a scenario's table."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in FILE_KEYS and isinstance(inner, str):
                yield inner
            else:
                yield from named_files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from named_files(inner)
