"""Keys of scenario files, and docstrings of the Python classes with the same fields."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypedDict, TypeVar, cast

from plait import _core
from plait.scenarios.units import duration_text, rate_text, size_text

Class = TypeVar("Class", bound=type)
WIDTH = 112
TAKES = {
    "a duration": "; text with a unit, or seconds",
    "a rate": "; text with a unit, or bit/s",
    "a size": "; text with a unit, or bytes",
    "a whole number": "; a whole number without a unit",
    "a number": "; without a unit",
}
"""Values that Python accepts besides the text of a file, by the beginning of a key's kind."""


class Key(TypedDict):
    """A key of a scenario file; a default of None means that the key is required."""

    table: str
    key: str
    kind: str
    default: Any
    doc: str


def scenario_keys() -> list[Key]:
    """Return every key of a scenario file with its kind, default and meaning."""
    return cast("list[Key]", json.loads(_core.scenario_keys()))


def keys_of(*tables: str) -> list[Key]:
    """Return the keys of the tables whose names begin so, in the order of `tables`."""
    return [key for table in tables for key in KEYS if key["table"].startswith(table)]


def keyed(*tables: str) -> Callable[[Class], Class]:
    """Return a class decorator that adds each field's documentation from the scenario keys.

    `tables` are beginnings of table names. If several tables have a key, the first one counts.
    """

    def documented(cls: Class) -> Class:
        found: dict[str, Key] = {}
        for key in keys_of(*tables):
            found.setdefault(key["key"], key)
        lines = [_line(found[one.name]) for one in fields(cls) if one.name in found and one.init]
        about, raises, errors = (cls.__doc__ or "").rstrip().partition("\n\n    Raises:")
        cls.__doc__ = f"{about}\n\n    Args:\n" + "\n".join(lines) + f"{raises}{errors}\n    "
        return cls

    return documented


KEYS = scenario_keys()
_TEXTS: Mapping[str, Callable[[Any], str]] = {
    "a duration": duration_text,
    "a rate": rate_text,
    "a size": size_text,
}
TEXTS = {
    key["key"]: text
    for key in KEYS
    for start, text in _TEXTS.items()
    if key["kind"].startswith(start) and key["table"].startswith(("(top)", "[", "forward"))
}
"""Formats of the keys that are amounts, in the tables with a class."""


def _line(key: Key) -> str:
    """Format a key as an argument of a docstring."""
    takes = next((more for start, more in TAKES.items() if key["kind"].startswith(start)), "")
    text = f"{key['key']}: {key['doc'].rstrip('.')}. Takes {key['kind']}{takes}."
    return textwrap.fill(
        text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
    )
