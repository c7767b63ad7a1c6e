"""Changes values of a scenario's table by dotted key, so that one file describes many cases."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from plait._core import ScenarioError
from plait.support.words import expected

NAMED = ("path", "link", "flow")
"""Lists of tables whose entries have a distinct `name`."""


def change(
    table: Mapping[str, Any], changes: Mapping[str, Any], paths: Sequence[str] = (), name: str = "scenario"
) -> dict[str, Any]:
    """Return a copy of a scenario's table with other values.

    Args:
        table: the table of a scenario file.
        changes: new values by dotted key, such as ``path.slow.forward.delay`` (the path named
            slow).
        paths: names of the paths to keep; empty keeps all.
        name: name of the scenario, for messages.

    Raises:
        ScenarioError: a key leads to no table. The reader of the scenario checks whether a key
            exists.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(table))
    for key, value in changes.items():
        parts = key.split(".")
        place = changed
        if parts[0] in NAMED and len(parts) > 2:
            place = _entry(changed, parts[0], parts[1], name)
            parts = parts[2:]
        for part in parts[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                message = f"{name}: {key}: {part} is not a table"
                raise ScenarioError(message)
        place[parts[-1]] = value
    if paths:
        changed["path"] = [_entry(changed, "path", wanted, name) for wanted in paths]
    return changed


def _entry(table: dict[str, Any], kind: str, wanted: str, name: str) -> dict[str, Any]:
    """Return the entry of a name; entries without a name get their default one, such as ``path1``."""
    entries: list[dict[str, Any]] = table.get(kind, [])
    for number, entry in enumerate(entries, 1):
        if entry.setdefault("name", f"{kind}{number}") == wanted:
            return entry
    known = [str(entry["name"]) for entry in entries]
    message = f"{name}: {kind} {wanted!r}: unknown{expected(wanted, known)}"
    raise ScenarioError(message)
