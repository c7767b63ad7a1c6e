"""The fields of `Transport`, from the keys of the format: `python/plait/scenarios/transport.py`."""

from __future__ import annotations

import re
from pathlib import Path

from plait.scenarios.keys import keys_of

FILE = Path(__file__).resolve().parents[2] / "python" / "plait" / "scenarios" / "transport.py"
MARK = "    # `make reference` generates the fields from the keys of the format.\n"
TYPES = {
    "a duration": "Duration",
    "a size": "Size",
    "a whole number": "int",
    "true or false": "bool",
    "a path's name": "str",
}
"""Types of fields, by the beginning of a key's kind."""


def filled(text: str) -> str:
    """The module with the fields of all protocols."""
    kinds: dict[str, list[str]] = {}
    for key in keys_of('[transport] protocol = "mptcp"', "[transport]"):
        kinds.setdefault(key["key"], []).append(key["kind"])
    fields = (f"    {key}: {python_type(taken)} | None = None\n" for key, taken in kinds.items())
    return text.partition(MARK)[0] + MARK + "".join(fields)


def python_type(kinds: list[str]) -> str:
    """The type of a key that takes these kinds of values, one for each protocol."""
    for start, name in TYPES.items():
        if kinds[0].startswith(start):
            return name
    if len(set(kinds)) > 1:
        return "str"  # the valid words depend on the protocol
    words = re.findall(r'"[^"]+"', kinds[0])
    return f"Literal[{', '.join(words)}]"
