"""Workloads of the user: a scenario names a class, ``FILE.py:CLASS``, as the kind of its workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plait.scenarios.own import PYTHON, Own, read_own
from plait.scenarios.roles import WORKLOAD


def is_class(kind: object) -> bool:
    """Return whether the kind of a workload names a class."""
    return isinstance(kind, str) and kind.partition(":")[0].endswith(PYTHON)


def own_workload(document: str, folder: Path = Path()) -> Own | None:
    """Return the class of a scenario's workload; None for a built-in kind.

    Args:
        document: the scenario as JSON.
        folder: the folder of the scenario's files.

    Raises:
        ScenarioError: the file cannot be read. The file is not run yet.
    """
    if PYTHON[0] not in document:
        return None
    more = json.loads(document).get("workload", {})
    kind = more.pop("kind", None)
    return read_own(kind, folder, more, WORKLOAD) if is_class(kind) else None


def workload_table(text: str, folder: Path = Path()) -> dict[str, Any]:
    """Return the ``[workload]`` table of the class ``FILE.py:CLASS:parameter=value``.

    Raises:
        ScenarioError: the text has another form, or the file cannot be read.
    """
    own = read_own(text, folder, role=WORKLOAD)
    own.make()
    return {"kind": f"{Path(own.file).absolute()}:{own.name}", **dict(own.given)}
