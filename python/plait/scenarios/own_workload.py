"""Workloads of the user: a scenario names a class, ``FILE:CLASS``, as the kind of its workload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from plait.scenarios.own import Own, is_class, may_name_class, read_own
from plait.scenarios.roles import WORKLOAD


def own_workload(document: str, folder: Path = Path()) -> Own | None:
    """Return the class of a scenario's workload; None for a built-in kind.

    Args:
        document: the scenario as JSON.
        folder: the folder of the scenario's files.

    Raises:
        ScenarioError: the file cannot be read. The file is not run yet.
    """
    if not may_name_class(document):
        return None
    more = json.loads(document).get("workload", {})
    kind = more.pop("kind", None)
    return read_own(kind, folder, more, WORKLOAD) if is_class(kind) else None


def workload_table(text: str, folder: Path = Path()) -> dict[str, Any]:
    """Return the ``[workload]`` table of the class ``FILE:CLASS:parameter=value``.

    Raises:
        ScenarioError: the text has another form, or the file cannot be read.
    """
    own = read_own(text, folder, role=WORKLOAD)
    own.make()
    return {"kind": f"{Path(own.file).absolute()}:{own.name}", **dict(own.given)}
