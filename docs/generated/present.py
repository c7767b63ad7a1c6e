"""Lists and counts for sentences, and the share of each paper that is reproduced."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import click

from plait import scenario_keys
from plait.cli import cli
from plait.engines.names import EngineName
from plait.linux.refusals import KERNEL_NAMES
from plait.papers import names
from plait.papers.description import Expected, load_paper
from plait.scenarios.scheduler import schedulers
from plait.support.pages import markdown
from plait.validate import ends, space

ROOT = Path(__file__).resolve().parents[2]
WORDS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


class UnknownListError(LookupError):
    """A page asks for a list that nobody makes, or its source does not have it any more."""


def listed(name: str) -> list[str]:
    """The names in a list."""
    if name not in LISTS:
        message = f"list {name!r}: unknown; expected one of: {', '.join(LISTS)}"
        raise UnknownListError(message)
    return list(LISTS[name]())


def listing(name: str) -> str:
    """The list as part of a sentence."""
    return ", ".join(f"`{one}`" for one in listed(name))


def plain(name: str) -> str:
    """The list without marking its names as code."""
    return ", ".join(listed(name))


def count(name: str) -> str:
    """How many there are, in words up to twelve."""
    number = len(listed(name))
    return WORDS[number] if number < len(WORDS) else f"{number}"


def choices(table: str, key: str) -> list[str]:
    """The values of a key in all tables of a scenario file whose names begin with `table`."""
    found: dict[str, None] = {}
    for entry in scenario_keys():
        if entry["table"].startswith(table) and entry["key"] == key:
            text = str(entry["kind"])
            words = re.findall(r'"([^"]+)"', text) or text.partition(": ")[2].split(", ")
            found.update(dict.fromkeys(words))
    if not found:
        message = f"scenario key {key!r} of {table}: none"
        raise UnknownListError(message)
    return list(found)


def in_source(file: str, item: str, pattern: str) -> list[str]:
    """The matches of a pattern in one item of a source file, from its first words to its end."""
    text = (ROOT / file).read_text(encoding="utf-8")
    found = re.search(rf"{re.escape(item)}.*?^[}}\]]", text, re.MULTILINE | re.DOTALL)
    names_found = re.findall(pattern, found[0].partition("\n")[2], re.MULTILINE) if found else []
    if not names_found:
        message = f"{file}: {item!r}: nothing found"
        raise UnknownListError(message)
    return names_found


def missing_schedulers() -> list[str]:
    """Those of the first table of the page on schedulers that are not here."""
    text = (ROOT / "docs" / "schedulers" / "missing.md").read_text(encoding="utf-8")
    table = text.partition("## ")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)[1:]
    return [one for cell in cells if set(cell) != {"-"} for one in cell.split(", ")]


def kernel_files() -> list[str]:
    """The files of the kernel's schedulers, in the order of their names' table."""
    files = {
        name: file.name
        for file in (ROOT / "linux" / "schedulers").glob("*.c")
        for name in re.findall(r'^\t\.name = "([^"]+)"', file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    return [files[name] for name in KERNEL_NAMES]


LISTS: Mapping[str, Callable[[], Sequence[str]]] = {
    "schedulers": lambda: [one["name"] for one in schedulers()],
    "options": lambda: [f"+{one['suffix']}" for one in schedulers()[0]["options"] if one["suffix"]],
    "missing schedulers": missing_schedulers,
    "kernel schedulers": lambda: list(KERNEL_NAMES),
    "kernel files": kernel_files,
    "schedulers without needs": lambda: [one["name"] for one in schedulers() if not one["needs"]],
    "schedulers of auto": lambda: in_source(
        "crates/plait-quic/src/auto/question.rs", "pub const CANDIDATES", r'"([^"]+)"'
    ),
    "drawn schedulers": lambda: space.SCHEDULERS,
    "later drawn schedulers": lambda: space.LATER,
    "schedulers over QUIC": lambda: ends.QUIC.schedulers,
    "modes of redundant": lambda: next(
        re.findall(r'"([^"]+)"', parameter["choices"])
        for one in schedulers()
        if one["name"] == "redundant"
        for parameter in one["parameters"]
        if parameter["name"] == "mode"
    ),
    "rules": lambda: in_source("crates/plait-sched/src/conformance/mod.rs", "pub enum Rule", r"^    (\w+),$"),
    "papers": names,
    "domains": lambda: [
        domain["plan"]
        for domain in tomllib.loads((ROOT / "league" / "league.toml").read_text("utf-8"))["domain"]
    ],
    "transports": lambda: choices("[transport]", "protocol"),
    "congestion controls": lambda: choices("[transport]", "congestion_control"),
    "losses": lambda: choices("loss = ", "model"),
    "disciplines": lambda: choices("discipline = ", "name"),
    "competing flows": lambda: choices("[[flow]]", "kind"),
    "workloads": lambda: choices("[workload]", "kind"),
    "engines": lambda: get_args(EngineName),
    "commands": lambda: cli.list_commands(click.Context(cli)),
}
"""Names for `list: NAME`, `names: NAME` and `count: NAME` in a sentence."""


def agreeing(expected: Sequence[Expected]) -> str:
    """The number of rows that agree: those without a reason.

    A test of all runs checks that a row has a reason exactly if it does not agree.
    """
    return f"{sum(not one.reason for one in expected)} of {len(expected)}"


def stated(paper: str) -> tuple[list[Expected], list[Expected]]:
    """A paper's printed values, and its claims in words; `all` stands for all papers."""
    rows = [
        row for name in (names() if paper == "all" else [paper]) for row in load_paper(name).expected.values()
    ]
    return [row for row in rows if row.paper is not None], [row for row in rows if row.paper is None]


def agreement(paper: str) -> str:
    """The number of a paper's printed values and claims that are reproduced."""
    kinds = zip(stated(paper), ("printed values", "claims"), strict=True)
    return " and ".join(f"{agreeing(rows)} {what}" for rows, what in kinds if rows)


def kernel_parameters() -> str:
    """The parameters of the kernel's module: those of the registry, with fractions in thousandths."""
    lines = []
    known = {one["name"]: one for one in schedulers()}
    of_schedulers = [
        (f"{name.replace('-', '_')}_", parameter)
        for name in KERNEL_NAMES
        for parameter in known[name]["parameters"]
    ]
    options = [("", one) for one in schedulers()[0]["options"] if one["name"] != "rtt_error"]
    for prefix, parameter in [*of_schedulers, *options]:
        name, default, values = f"{prefix}{parameter['name']}", parameter["default"], parameter["choices"]
        match parameter["kind"]:
            case "number":
                name, default = f"{name}_milli", f"{round(float(str(default)) * 1000)}"
                values = re.sub(r"[\d.]+", lambda found: f"{round(float(found[0]) * 1000)}", values)
            case "boolean":
                default, values = "Y" if default else "N", "Y or N"
        lines.append([f"`{name}`", values.replace('"', "`"), f"`{default}`"])
    return markdown(["parameter", "values", "default"], lines, (0, 1, 2))


def kernel_patches() -> str:
    """The kernel's patches by number, in the words of their subjects."""
    lines = []
    for file in sorted((ROOT / "linux" / "patches").glob("*.patch")):
        subject = re.search(r"^Subject: \[PATCH\] (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
        if subject is None:
            message = f"{file}: no subject"
            raise UnknownListError(message)
        lines.append([f"{int(file.name[:4])}", subject[1]])
    return markdown(["patch", "what it does"], lines, (0, 1))
