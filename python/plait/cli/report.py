"""`plait report`."""

from __future__ import annotations

from pathlib import Path

import click

from plait.cli.output import say


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    "file",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Name of the page.",
)
def report(folder: Path, file: Path) -> None:
    """Write one HTML page about runs or a sweep; it needs no network.

    FOLDER is an output of `plait run --out`, `plait compare --out` or `plait sweep`.
    """
    from plait.reports import report as write_report

    say(f"wrote {write_report(folder, file)} ({file.stat().st_size / 1e6:.1f} MB)")
