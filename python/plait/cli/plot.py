"""`plait plot`."""

from __future__ import annotations

from pathlib import Path

import click

from plait.cli.output import say
from plait.support.machine import command_line

WIDTHS = ("column", "page")


@click.command()
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option("--x", required=True, metavar="VARIABLE", help="The variable along the axis.")
@click.option("--metric", required=True, metavar="NAME", help="Such as goodput or app_delay_ms.p95.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="A file that ends in .pdf, .svg or .png; PDF and SVG have real fonts (Type 42).",
)
@click.option("--schedulers", metavar="NAME,…", help="Only these, in this order; default: all of the plan.")
@click.option(
    "--width",
    type=click.Choice(WIDTHS),
    default=WIDTHS[0],
    show_default=True,
    help="Of a paper with two columns: 3.33 or 7 inches.",
)
@click.option("--log", is_flag=True, help="Logarithmic axis of the variable.")
def plot(
    dataset: Path, x: str, metric: str, output: Path, schedulers: str | None, width: str, log: bool
) -> None:
    """Draw a metric of a sweep's DATASET over one of its variables, as papers print it.

    Curves are means over the other variables, with intervals of 95 %; up to three schedulers share a panel, more have
    one each.
    """
    from plait import plots
    from plait.sweep import read

    names = [name.strip() for name in (schedulers or "").split(",") if name.strip()]
    figure = plots.sweep_curves(
        read(dataset), x, metric, schedulers=names, width=width, log=log, note=command_line()
    )
    plots.save(figure, output)
    say(f"wrote {output}")
