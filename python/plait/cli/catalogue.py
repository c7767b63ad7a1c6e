"""`plait schedulers`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.padding import Padding
from rich.text import Text

from plait.cli.options import JSON
from plait.cli.output import print_json
from plait.cli.sheet import console
from plait.scenarios.scheduler import BuiltIn, Parameter, called, schedulers
from plait.support.tables import Content, table

LINE = 100
"""Maximum columns of the description of one scheduler."""


@click.command("schedulers")
@click.argument("name", required=False)
@JSON
def list_schedulers(name: str | None, as_json: bool) -> None:
    """List the built-in schedulers with parameters and sources, and the options of all schedulers.

    With a NAME, print all facts of that scheduler.

    A parameter is given after the name: plait run FILE --scheduler daps:schedule=to-end

    Options are given in the same way, or by short forms: plait run FILE --scheduler lowest-rtt+rp+bm
    """
    known = schedulers()
    if name is not None:
        known = [called(name)]
    if as_json:
        print_json(known)
        return
    names = []
    for one in known:
        parameters = "\n".join(_parameter(parameter) for parameter in one["parameters"]) or "–"
        needs = f"\nneeds: {', '.join(one['needs'])}" if one["needs"] else ""
        names.append([one["name"], one["summary"] + needs, parameters, one["source"]])
    if name is not None:
        _print_one(known[0])
        return
    options = []
    for option in known[0]["options"]:
        needs = f"\nneeds: {', '.join(option['needs'])}" if option["needs"] else ""
        suffix = f"+{option['suffix']}" if option["suffix"] else "–"
        options.append([suffix, _parameter(option) + needs, option["source"]])
    _print(["name", "what it does", "parameters", "source"], names)
    _print(["option", "of every scheduler", "source"], options)


def _print_one(one: BuiltIn) -> None:
    """Print all facts about one scheduler, in lines."""
    out = console()
    width = min(out.width, LINE)

    def line(text: str, style: str = "", indent: int = 0) -> None:
        out.print(Padding(Text(text, style=style), (0, 0, 0, indent)), width=width)

    line(f"{one['name']}: {one['title']}", "bold")
    line(one["summary"])
    line(f"source: {one['source']}")
    line(f"needs: {', '.join(one['needs']) or 'nothing beside the facts of every protocol'}")
    line(f"plait run FILE --scheduler {one['name']}{_example(one)}")
    for parameter in one["parameters"]:
        line("")
        line(f"{parameter['name']} = {_default(parameter)}", "bold")
        line(parameter["doc"], indent=4)
        line(f"choices: {parameter['choices']}", indent=4)
    line("")
    line(
        "options of every scheduler (plait schedulers describes them): "
        + ", ".join(o["name"] for o in one["options"])
    )


def _example(one: BuiltIn) -> str:
    """Format the first parameter of a scheduler as it follows the name."""
    return "".join(f":{first['name']}={_default(first)}" for first in one["parameters"][:1])


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    every = range(len(headings))
    cells = [[Text(cell) for cell in row] for row in rows]
    out = console()
    out.print(table(Content(headings, cells, words=every, breaks=range(len(rows) - 1)), out.width))


def _parameter(parameter: Parameter) -> str:
    return f"{parameter['name']} = {_default(parameter)} ({parameter['choices']})\n{parameter['doc']}"


def _default(parameter: Parameter) -> str:
    default = parameter["default"]
    return str(default).lower() if isinstance(default, bool) else f"{default}"
