"""`plait schedulers`."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.text import Text

from plait.cli.options import JSON
from plait.cli.output import console, print_json
from plait.scenarios.scheduler import Parameter, schedulers
from plait.support.tables import Content, table


@click.command("schedulers")
@JSON
def list_schedulers(as_json: bool) -> None:
    """List the built-in schedulers with parameters and sources, and the options that all of them take.

    A parameter is given after the name: plait run FILE --scheduler daps:schedule=to-end

    So are options, which have short forms: plait run FILE --scheduler lowest-rtt+rp+bm
    """
    known = schedulers()
    if as_json:
        print_json(known)
        return
    names = []
    for one in known:
        parameters = "\n".join(_parameter(parameter) for parameter in one["parameters"]) or "–"
        needs = f"\nneeds: {', '.join(one['needs'])}" if one["needs"] else ""
        names.append([one["name"], one["summary"] + needs, parameters, one["source"]])
    options = []
    for option in known[0]["options"]:
        needs = f"\nneeds: {', '.join(option['needs'])}" if option["needs"] else ""
        suffix = f"+{option['suffix']}" if option["suffix"] else "–"
        options.append([suffix, _parameter(option) + needs, option["source"]])
    _print(["name", "what it does", "parameters", "source"], names)
    _print(["option", "of every scheduler", "source"], options)


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    every = range(len(headings))
    cells = [[Text(cell) for cell in row] for row in rows]
    out = console()
    out.print(table(Content(headings, cells, words=every, breaks=range(len(rows) - 1)), out.width))


def _parameter(parameter: Parameter) -> str:
    default = parameter["default"]
    value = str(default).lower() if isinstance(default, bool) else default
    return f"{parameter['name']} = {value} ({parameter['choices']})\n{parameter['doc']}"
