"""The files that a scenario names: recorded links, steps, traces of writes, classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from plait.scenarios.own import is_class

FILE_KEYS = ("trace", "rate_steps", "delay_steps", "loss_steps", "queue_steps", "file")
"""Keys of paths, links and the workload whose value, if it is a text, is a file's name."""

CLASS_KEYS = ("kind", "congestion_control")
"""Keys of the workload, the transport and flows whose value may be a class: ``FILE:CLASS``."""


def file_named(key: str, value: Any) -> str | None:
    """Return the name of the file that the value of a key names, if it names one."""
    if key in CLASS_KEYS and is_class(value):
        return str(value).partition(":")[0]
    return value if key in FILE_KEYS and isinstance(value, str) else None


def named_files(value: Any) -> Iterator[str]:
    """Yield the names of the files in a scenario's table."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = file_named(key, inner)
            if name is not None:
                yield name
            else:
                yield from named_files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from named_files(inner)
