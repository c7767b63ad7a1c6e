"""Facts of schedulers from the registry, and the list of papers."""

from __future__ import annotations

from collections.abc import Sequence

from generated.markdown import cell, code
from generated.present import agreeing, stated
from plait.papers import names
from plait.papers.description import load_paper
from plait.scenarios.scheduler import Parameter, schedulers
from plait.support.pages import markdown


def facts(name: str) -> str:
    """Source, needs and parameters of one scheduler."""
    one = next(known for known in schedulers() if known["name"] == name)
    needs = ", ".join(code(need) for need in one["needs"]) or "nothing beyond plain assignment"
    made = [f"**Source:** {one['source']}", f"**Needs of the transport:** {needs}"]
    if one["parameters"]:
        made.append(parameters(one["parameters"]))
    else:
        made.append(
            "It has no parameters of its own; the [options](options.md) go with it as with any other."
        )
    return "\n\n".join(made)


def parameters(entries: Sequence[Parameter]) -> str:
    """A table of parameters."""
    lines = [
        [code(entry["name"]), code(entry["default"]), cell(entry["choices"]), cell(entry["doc"])]
        for entry in entries
    ]
    return markdown(["parameter", "default", "takes", "meaning"], lines, (0, 1, 2, 3))


def overview() -> str:
    """All schedulers in one line each."""
    lines = [
        [f"[`{one['name']}`]({one['name']}.md)", cell(one["summary"]), cell(one["source"])]
        for one in schedulers()
    ]
    return markdown(["scheduler", "rule", "source"], lines, (0, 1, 2))


def options() -> str:
    """The options that every scheduler takes."""
    lines = [
        [
            code(one["name"]),
            code(f"+{one['suffix']}") if one["suffix"] else "",
            code(one["default"]),
            cell(one["choices"]),
            cell(one["doc"]),
            cell(one["source"]),
        ]
        for one in schedulers()[0]["options"]
    ]
    return markdown(["option", "short", "default", "takes", "meaning", "source"], lines, (0, 1, 2, 3, 4, 5))


def papers() -> str:
    """The papers, with the numbers of printed values and claims that agree with the runs."""
    lines = []
    for name in names():
        paper = load_paper(name)
        counts = [f"{len(paper.scenarios)}", *(agreeing(rows) if rows else "–" for rows in stated(name))]
        lines.append(
            [
                f"[{name}]({name}.md)",
                cell(paper.title),
                cell(paper.venue),
                *counts,
                code(f"plait reproduce {name}"),
            ]
        )
    headings = [
        "paper",
        "title",
        "venue",
        "cases",
        "printed values that agree",
        "claims that agree",
        "command",
    ]
    return markdown(headings, lines, (0, 1, 2, 6))
