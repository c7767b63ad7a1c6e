"""The page: template, style sheet, scripts and simulator in one file.

Browsers load no modules and no workers from files of a disk. So the scripts, which are modules that
import each other, become one script here, and the simulator is a text inside the page.
"""

from __future__ import annotations

import base64
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plait._core import ScenarioError
from plait.playground import simulator
from plait.playground.presets import presets
from plait.reports.page import embedded
from plait.scenarios.files import CLASS_KEYS, FILE_KEYS, file_named
from plait.scenarios.scenario import load
from plait.scenarios.scheduler import called, schedulers

SCRIPTS = ("scale", "state", "simulator", "canvas", "space_time", "charts", "words", "controls", "main")
"""The scripts in an order in which none imports a later one."""
DIRECTIONS = ("forward", "backward")
INSTEAD = {
    "trace": "a rate",
    "file": "another kind of traffic",
    "kind": "another kind of traffic",
    "congestion_control": "a built-in controller",
}
"""Values without a file, by the key that may name one; else a list of steps."""


def page(opened: Mapping[str, Any] | None = None) -> str:
    """Return the page's HTML.

    Args:
        opened: the state with which the page opens, `{"scenario": …, "schedulers": […]}`, unless
            its address has one. Default: the first preset.

    Raises:
        RunError: the simulator is not compiled, or from other sources.
    """
    environment = Environment(
        loader=PackageLoader("plait.playground", "."), autoescape=True, undefined=StrictUndefined
    )
    data = {"presets": list(presets()), "schedulers": known(), "opened": opened}
    return environment.get_template("page.html.j2").render(
        style=Markup(_file("page.css")),
        data=Markup(embedded(data)),
        worker=Markup(_file("scripts/worker.js")),
        script=Markup(joined(SCRIPTS)),
        simulator=base64.b64encode(simulator.read()).decode("ascii"),
    )


def opened_page(file: Path, names: Sequence[str]) -> str:
    """Return a page that opens with a scenario file and two schedulers.

    Raises:
        ScenarioError: the file is not a valid scenario, it names another file, or a scheduler does
            not exist.
    """
    if len(names) != 2:
        message = f"--schedulers: expected two names, got {len(names)}"
        raise ScenarioError(message)
    scenario = load(file)
    for name in names:
        called(name)
    text = file.read_text(encoding="utf-8")
    table = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    if found := next(_files(table), None):
        place, name, instead = found
        message = f'{file}: {place} = "{name}": a page in a browser reads no files; expected {instead}'
        raise ScenarioError(message)
    table.pop("scheduler", None)
    return page({"scenario": {**table, "name": scenario.name}, "schedulers": [*names]})


def _files(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the place and the name of each file in a scenario, and the kind of value without one."""
    places = [("workload.", "", scenario.get("workload", {}))]
    for kind in ("path", "link"):
        for index, one in enumerate(scenario.get(kind, ())):
            named = f" ({one['name']})" if "name" in one else ""
            for direction, table in (("", one), *((f"{key}.", one.get(key, {})) for key in DIRECTIONS)):
                places.append((f"{kind}[{index}].{direction}", named, table))
    yield from _classes(scenario)
    for place, named, table in places:
        for key in FILE_KEYS:
            if isinstance(table.get(key), str):
                yield f"{place}{key}{named}", table[key], INSTEAD.get(key, "a list of steps")


def _classes(scenario: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the place and the name of each class of the user, in the same form."""
    tables = [(f"{name}.", scenario.get(name, {})) for name in ("workload", "transport")]
    tables += [(f"flow[{index}].", flow) for index, flow in enumerate(scenario.get("flow", ()))]
    for place, table in tables:
        for key in CLASS_KEYS:
            if file_named(key, table.get(key)) is not None:
                yield f"{place}{key}", table[key], INSTEAD[key]


def known() -> list[dict[str, str]]:
    """Return name, title and summary of each scheduler."""
    return [{key: str(one[key]) for key in ("name", "title", "summary")} for one in schedulers()]


def joined(names: Sequence[str]) -> str:
    """Return the modules as one script: without imports, whose names are those of the exports."""
    text = "\n".join(_file(f"scripts/{name}.js") for name in names)
    text = re.sub(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?=const|function|class|async)", "", text, flags=re.MULTILINE)


def _file(name: str) -> str:
    return resources.files("plait.playground").joinpath(name).read_text(encoding="utf-8")
