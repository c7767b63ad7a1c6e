"""The page: a template, a style sheet, scripts, and Plotly, all in one file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped]

OF_DATASET = ("common.js", "dataset.js")
SCRIPTS = {"runs": ("common.js", "schedule.js"), "dataset": OF_DATASET, "bench": OF_DATASET}


def page(content: Mapping[str, Any]) -> str:
    """Return the page's HTML.

    `content` comes from `runs_page`, `dataset_page` or `plait.benchmark.output`.
    """
    environment = Environment(
        loader=PackageLoader("plait.reports", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    return environment.get_template(f"{content['kind']}.html.j2").render(
        **{key: value for key, value in content.items() if key != "data"},
        style=Markup(_file("page.css")),
        plotly=Markup(get_plotlyjs()),
        scripts=[Markup(_file(name)) for name in SCRIPTS[content["kind"]]],
        data=Markup(embedded(content["data"])),
    )


def _file(name: str) -> str:
    return resources.files("plait.reports").joinpath(name).read_text(encoding="utf-8")


def embedded(data: Any) -> str:
    """Return JSON that is safe inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _code(text: str) -> Markup:
    """Convert a docstring's words between backticks to code elements."""
    parts = re.split(r"`+", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
    )
