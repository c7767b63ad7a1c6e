"""Workloads of the user: a scenario names a class, ``FILE:CLASS``, as the kind of its workload."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from plait.scenarios.own import Own, is_class, may_name_class, read_own
from plait.scenarios.roles import WORKLOAD
from plait.scenarios.scenario import Scenario, load


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


def load_with(workload: str | None, file: Path, only: Sequence[str] = ()) -> Scenario:
    """Read a scenario file, with another workload if one is given: ``FILE:CLASS:parameter=value``.

    Args:
        workload: the class; None keeps the workload of the file.
        file: name of the scenario file.
        only: names of the paths to keep; empty keeps all.

    Raises:
        ScenarioError: the text has another form, or a file cannot be read or is not valid.
    """
    if workload is None:
        return load(file, only=only)
    own = read_own(workload, role=WORKLOAD)
    own.make()
    table = {"kind": f"{Path(own.file).absolute()}:{own.name}", **dict(own.given)}
    return load(file, {"workload": table}, only)
