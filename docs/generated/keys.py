"""The keys of a scenario file, from the core's own table of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plait
from generated.markdown import cell, code
from plait.support.pages import markdown

TOP = "(top)"


def tables() -> str:
    """A table per table of a scenario file. A key that means the same in two tables is listed in each."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for key in plait.scenario_keys():
        groups.setdefault(key["table"], []).append(key)
    made = []
    for table, entries in groups.items():
        heading = "At the top of the file" if table == TOP else f"`{table}`"
        lines = [
            [code(entry["key"]), cell(entry["kind"]), default(entry["default"]), cell(entry["doc"])]
            for entry in entries
        ]
        made.append(
            f"### {heading}\n\n{markdown(['key', 'takes', 'default', 'meaning'], lines, (0, 1, 2, 3))}"
        )
    return "\n\n".join(made)


def default(value: object) -> str:
    """A default: values as code, sentences as they are, `required` where there is none."""
    if value is None:
        return "**required**"
    if isinstance(value, str) and " " in value and not value[0].isdigit() and "=" not in value:
        return cell(value)
    return code(value)
