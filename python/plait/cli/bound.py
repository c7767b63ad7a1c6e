"""`plait bound`: bounds that no scheduler beats."""

from __future__ import annotations

import tomllib
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from pathlib import Path
from typing import Any

import click

from plait._core import ScenarioError
from plait.cli.options import JSON
from plait.cli.output import print_json
from plait.cli.sheet import console
from plait.scenarios.bounds import Bound, bound_document
from plait.scenarios.scenario import load
from plait.support.tables import RULED, Content, table


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Another value of the scenario, such as path.lte.rate=2Mbit; may be repeated.",
)
@JSON
def bound(file: Path, changes: tuple[str, ...], as_json: bool) -> None:
    """Print bounds of FILE's metrics that no scheduler beats, the tightest one first.

    \b
    plait bound links.toml
    plait bound links.toml --set transport.receive_buffer=64kB
    """  # noqa: D301  click wants the character, not its escape
    document = bound_document(load(file, dict(map(_change, changes))))
    if as_json:
        print_json(document)
        return
    bounds = [Bound(**one) for one in document["bounds"]]
    if not bounds:
        click.echo(
            "no bound: no data is written, or the workload is random (requests, or on and off times), "
            "a trace or a class of yours"
        )
        return
    rows = [[one.name, *bound_value(one), one.note] for one in bounds]
    out = console()
    out.print(
        table(Content(["bound", "metric", "value", "meaning"], rows, words=(0, 1, 3)), out.width, style=RULED)
    )


def _change(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        message = f"--set {text!r}: expected KEY=VALUE, such as path.lte.rate=2Mbit"
        raise ScenarioError(message)
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def bound_value(one: Bound) -> tuple[str, str]:
    """Return the metric and its value, with a unit for people. Only a valid bound has a sign.

    A printed bound holds too: it is rounded up if it is an upper bound, and down otherwise.
    """
    upper = one.metric == "goodput_bps"
    sign = ("≤ " if upper else "≥ ") if one.valid else ""
    name, text = metric_text(one.metric, one.value, ROUND_CEILING if upper else ROUND_FLOOR)
    return name, sign + text


def metric_text(metric: str, value: float, rounding: str = ROUND_HALF_EVEN) -> tuple[str, str]:
    """Return the name of a bounded metric and a value of four digits, with a unit for people."""
    name, factor, unit = {
        "goodput_bps": ("goodput", 1e-6, "Mbit/s"),
        "completion_time_s": ("completion time", 1.0, "s"),
    }.get(metric, ("mean block delay", 1.0, "ms"))
    rounded = Context(prec=4, rounding=rounding).create_decimal_from_float(value * factor)
    return name, f"{rounded:f} {unit}"
