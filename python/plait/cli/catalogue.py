"""`plait schedulers`."""

from __future__ import annotations

import click
from rich.table import Table

from plait.cli.options import JSON
from plait.cli.output import console, print_json
from plait.scenarios.scheduler import Parameter, schedulers


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
    table = Table(header_style="bold", show_lines=True)
    for heading in ("name", "what it does", "parameters", "source"):
        table.add_column(heading)
    for one in known:
        parameters = "\n".join(_parameter(parameter) for parameter in one["parameters"]) or "–"
        needs = f"\nneeds: {', '.join(one['needs'])}" if one["needs"] else ""
        table.add_row(one["name"], one["summary"] + needs, parameters, one["source"])
    console().print(table)
    options = Table(header_style="bold", show_lines=True)
    for heading in ("option", "of every scheduler", "source"):
        options.add_column(heading)
    for option in known[0]["options"]:
        needs = f"\nneeds: {', '.join(option['needs'])}" if option["needs"] else ""
        options.add_row(
            f"+{option['suffix']}" if option["suffix"] else "", _parameter(option) + needs, option["source"]
        )
    console().print(options)


def _parameter(parameter: Parameter) -> str:
    default = parameter["default"]
    value = str(default).lower() if isinstance(default, bool) else default
    return f"{parameter['name']} = {value} ({parameter['choices']})\n{parameter['doc']}"
