"""The reasons of decisions: verdicts on paths, and texts with the names of paths."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TypedDict, cast

from plait import _core


class VerdictInfo(TypedDict):
    """A possible value of the column `verdict` of `Result.decision_paths`.

    kind: chosen, available, temporarily-unavailable or definitely-unavailable.
    """

    name: str
    kind: str
    meaning: str


def verdicts() -> list[VerdictInfo]:
    """Return every verdict on a path in a decision, with its kind and its meaning."""
    return cast("list[VerdictInfo]", json.loads(_core.verdicts()))


def named(text: str, names: Sequence[str]) -> str:
    """Return a reason of `Result.decisions` with the paths' names: `{0}` is the first path."""

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        return names[number] if number < len(names) else found[0]

    return re.sub(r"\{([0-9]+)\}", name, text)
