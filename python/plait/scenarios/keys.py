"""What a scenario file can say, and the docstrings of the classes that say it in Python."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypedDict, TypeVar, cast

from plait import _core

Class = TypeVar("Class", bound=type)
WIDTH = 112
TAKES = {
    "a duration": "; text with a unit, or seconds",
    "a rate": "; text with a unit, or bit/s",
    "a size": "; text with a unit, or bytes",
    "a whole number": "; a whole number without a unit",
    "a number": "; without a unit",
}
"""What Python takes beside the text of a file, by how the kind of a key begins."""


class Key(TypedDict):
    """A key of a scenario file; a default of None: it must be given."""

    table: str
    key: str
    kind: str
    default: Any
    doc: str


def scenario_keys() -> list[Key]:
    """Every key of a scenario file, with what it takes, its default and its meaning."""
    return cast("list[Key]", json.loads(_core.scenario_keys()))


def keyed(*tables: str) -> Callable[[Class], Class]:
    """A decorator of a dataclass: its docstring tells of every field what the scenario keys of these tables tell.

    A table is named by how it begins; of a key that several have, the first one counts.
    """

    def documented(cls: Class) -> Class:
        found = {key["key"]: key for key in reversed(KEYS) if key["table"].startswith(tables)}
        lines = [_line(found[one.name]) for one in fields(cls) if one.name in found and one.init]
        about, raises, errors = (cls.__doc__ or "").rstrip().partition("\n\n    Raises:")
        cls.__doc__ = f"{about}\n\n    Args:\n" + "\n".join(lines) + f"{raises}{errors}\n    "
        return cls

    return documented


KEYS = scenario_keys()


def _line(key: Key) -> str:
    """A key as docstrings have arguments."""
    takes = next((more for start, more in TAKES.items() if key["kind"].startswith(start)), "")
    text = f"{key['key']}: {key['doc'].rstrip('.')}. Takes {key['kind']}{takes}."
    return textwrap.fill(
        text, WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False
    )
