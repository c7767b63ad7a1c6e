"""The page: template, style sheet, scripts and simulator in one file.

Browsers load no modules and no workers from files of a disk. So the scripts, which are modules that
import each other, become one script here, and the simulator is a text inside the page.
"""

from __future__ import annotations

import base64
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from plait._core import RunError, ScenarioError
from plait.playground.presets import presets
from plait.reports.page import embedded
from plait.results.result import verdicts
from plait.scenarios.scenario import load
from plait.scenarios.scheduler import called, schedulers

SIMULATOR = Path(__file__).with_name("simulator.wasm.gz")
"""Made by `make playground`."""
SCRIPTS = ("state", "scale", "simulator", "canvas", "space_time", "charts", "words", "controls", "main")
"""The scripts in an order in which none imports a later one."""


def page(opened: Mapping[str, Any] | None = None) -> str:
    """Return the page's HTML.

    Args:
        opened: the state with which the page opens, `{"scenario": …, "schedulers": […]}`, unless
            its address has one. Default: the first preset.

    Raises:
        RunError: the simulator is not compiled.
    """
    if not SIMULATOR.is_file():
        message = "the playground is not built: run make playground in the source tree, it takes two minutes"
        raise RunError(message)
    environment = Environment(
        loader=PackageLoader("plait.playground", "."), autoescape=True, undefined=StrictUndefined
    )
    data = {"presets": list(presets()), "schedulers": known(), "verdicts": verdicts(), "opened": opened}
    return environment.get_template("page.html.j2").render(
        style=Markup(_file("page.css")),
        data=Markup(embedded(data)),
        worker=Markup(_file("scripts/worker.js")),
        script=Markup(joined(SCRIPTS)),
        simulator=base64.b64encode(SIMULATOR.read_bytes()).decode("ascii"),
    )


def opened_page(file: Path, names: Sequence[str]) -> str:
    """Return a page that opens with a scenario file and two schedulers.

    Raises:
        ScenarioError: the file is not a valid scenario, a scheduler does not exist, or the file
            names a trace, which the page cannot read.
    """
    if len(names) != 2:
        message = f"--schedulers: expected two names, got {len(names)}"
        raise ScenarioError(message)
    scenario = load(file)
    for name in names:
        called(name.partition("+")[0])
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    if '"trace"' in scenario.json:
        message = f"{file}: names a trace, which a page in a browser cannot read"
        raise ScenarioError(message)
    table.pop("scheduler", None)
    return page({"scenario": {"name": file.stem, **table}, "schedulers": [*names]})


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
