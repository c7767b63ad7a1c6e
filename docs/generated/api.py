"""The Python interface: signatures and docstrings of the public names."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import plait
from generated import capabilities
from generated.markdown import item, prose
from plait import analysis, gym, plots, sweep

DECISIONS = ("Assign", "Wait", "Reinject", "Recall", "Limit", "Penalize", "Defer")
WORKLOADS = ("Workload", "Write", "Request", "End", "Delivery")
CONTROLLERS = ("CongestionController", "Acknowledgement", "CongestionEvent", "PathShare", "RateSample")
GROUPS = {
    "Running": ("run", "compare", "repeat", "load", "Result", "Comparison", "Repeated"),
    "Scenarios": ("Scenario", "Transport", "Path", "Direction", "Link"),
    "Traffic": (
        "Bulk", "File", "ConstantRate", "OnOff", "RequestResponse", "WriteTrace", "OwnWorkload",
        "TcpFlow", "MultipathFlow", "ConstantRateFlow", "OnOffFlow",
    ),
    "Schedulers": (
        "Scheduler", "Connection", "Message", "PathFacts", "Event",
        *DECISIONS,
        "check_scheduler", "schedulers", "verdicts", "scenario_keys",
    ),
    "Workloads": WORKLOADS,
    "Congestion controllers": CONTROLLERS,
    "Models": ("PathModel", "max_blocking_ms", "min_receive_buffer_bytes", "asymmetry"),
    "Real paths": (
        "send", "receive", "connect", "Sender", "Receiver",
        "Sent", "SentPath", "Received", "TransferProgress", "PathProgress",
    ),
    "Errors": ("ScenarioError", "RunError", "TransferError", "ConformanceError", "NotRecordedError"),
}  # fmt: skip
"""Groups of names. Other names of `plait.__all__` are in the group `Others`."""
PAGES = {
    "python-running": ("Running", "Models", "Errors", "Others"),
    "python-scenarios": ("Scenarios",),
    "python-traffic": ("Traffic",),
    "python-schedulers": ("Schedulers", "Workloads", "Congestion controllers"),
    "python-real-paths": ("Real paths",),
    "python-sweeps": ("Sweeps",),
    "python-learning": ("Learning",),
    "python-figures": ("Figures",),
}
"""Groups of each page; every group is on one."""
SECTIONS = ("Args:", "Raises:", "Returns:")


def reference(page: str) -> str:
    """The groups of a page; without a page, the list of all names."""
    every = groups()
    if page:
        return "\n\n".join(
            "\n\n".join([f"## {title}", *(entry(name, thing) for name, thing in every[title].items())])
            for title in PAGES[page]
        )
    assert sorted(title for titles in PAGES.values() for title in titles) == sorted(every)
    return "\n\n".join(
        f"**{title}**: "
        + ", ".join(f"[`{name}`]({file}.md#{name.replace('.', '').lower()})" for name in every[title])
        for file, titles in PAGES.items()
        for title in titles
    )


def groups() -> dict[str, dict[str, Any]]:
    """Every public thing by group and name."""
    listed = [name for names in GROUPS.values() for name in names]
    others = tuple(name for name in plait.__all__ if name not in (*listed, "gym", "plots"))
    analyses = [name for name in analysis.__all__ if name not in listed]
    return {
        **{
            title: {f"plait.{name}": getattr(plait, name) for name in names}
            for title, names in {**GROUPS, "Others": others}.items()
        },
        "Sweeps": {
            **{f"plait.sweep.{name}": getattr(sweep, name) for name in sweep.__all__},
            **{f"plait.analysis.{name}": getattr(analysis, name) for name in analyses},
        },
        "Learning": {f"plait.gym.{name}": getattr(gym, name) for name in gym.__all__},
        "Figures": {f"plait.plots.{name}": getattr(plots, name) for name in plots.__all__},
    }


def entry(name: str, thing: Any) -> str:
    """One name: its signature, its docstring, and the members of a class."""
    parts = [f"### `{name}`"]
    if name.rpartition(".")[2] in COMPILED and not (
        inspect.isclass(thing) and issubclass(thing, BaseException)
    ):
        more = [capabilities.table()] if name == "plait.Scheduler" else []
        return "\n\n".join([*parts, stub(thing.__name__), *more])
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        return "\n\n".join([*parts, documentation(thing)])
    parts.append(f"```text\n{signature(name, thing)}\n```")
    parts.append(documentation(thing))
    if inspect.isclass(thing):
        parts += [item(line) for line in members(thing)]
    return "\n\n".join(parts[:3]) + ("\n\n" + "\n".join(parts[3:]) if parts[3:] else "")


COMPILED = (
    "Scheduler", "Connection", "Message", "PathFacts", "Event",
    *DECISIONS, *WORKLOADS, *CONTROLLERS,
)  # fmt: skip
"""Compiled names: their attributes and meanings are in the stub."""


@cache
def stubs() -> tuple[str, dict[str, ast.ClassDef | ast.FunctionDef]]:
    """The stub of the compiled part, and its definitions."""
    text = Path(plait.__file__).with_name("_core.pyi").read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return text, {node.name: node for node in nodes}


def stub(name: str) -> str:
    """A class or function of the stub: its docstring, then its members."""
    text, defined = stubs()
    node = defined[name]
    source = ast.get_source_segment(text, node) or ""
    about = ast.get_docstring(node) or ""
    first = node.body[0]
    if isinstance(first, ast.Expr):
        quoted = ast.get_source_segment(text, first) or ""
        source = re.sub(r"\n\s*\n", "\n", source.replace(f"    {quoted}", "", 1), count=1)
    # An empty line between attributes and methods: as ruff formats the page.
    source = re.sub(r"(\n    \w+: [^\n]*|\n    \S[^\n]*\"\"\")\n(    (?:def|@))", r"\1\n\n\2", source)
    return f"{prose(about)}\n\n```python\n{source.strip()}\n```"


def signature(name: str, thing: Any) -> str:
    """How it is called, one parameter a line where it is long; its name where it is not called by users."""
    short = name.removeprefix("plait.")
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return short
    text = re.sub(r"plait\.(?:[a-z_]+\.)+", "", f"{short}{found}")
    text = re.sub(r"(: |-> )(['\"])(.*?)\2(?=[,)=\s]|$)", r"\1\3", text)
    if len(text) <= 90:
        return text
    inside, _, after = text.partition("(")[2].rpartition(")")
    parameters = re.split(r", (?![^\[(]*[\])])", inside)
    return f"{short}(\n" + "".join(f"    {one},\n" for one in parameters) + f"){after}"


def documentation(thing: Any) -> str:
    """A docstring; its sections `Args:` and `Raises:` as lists."""
    text = inspect.getdoc(thing) or ""
    found = re.split(rf"^({'|'.join(SECTIONS)})\n", text, flags=re.MULTILINE)
    made = [prose(found[0])]
    for title, body in zip(found[1::2], found[2::2], strict=True):
        made.append(f"**{title.rstrip(':')}**")
        items = re.split(r"\n(?=    \S)", body.rstrip())
        made.append("\n".join(item(argument(one)) for one in items if one.strip()))
    return "\n\n".join(made)


def argument(text: str) -> str:
    """``name: meaning`` of a docstring, the name as code."""
    text = " ".join(text.split()).replace("``", "`")
    name, colon, meaning = text.partition(": ")
    return f"`{name}`: {meaning}" if colon and " " not in name else text


def members(thing: type) -> Iterator[str]:
    """The properties and methods that a class documents."""
    for name, member in vars(thing).items():
        about = inspect.getdoc(member) if not name.startswith("_") else None
        if about and hasattr(member, "__get__"):  # methods and properties, cached ones too; not plain values
            call = "()" if inspect.isfunction(member) else ""
            yield f"`{name}{call}`: {' '.join(about.split(chr(10) * 2)[0].split()).replace('``', '`')}"
