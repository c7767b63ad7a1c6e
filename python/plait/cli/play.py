"""`plait play`: a scenario in the playground."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from plait.cli.output import say


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--schedulers",
    default="round-robin,lowest-rtt",
    show_default=True,
    metavar="NAME,NAME",
    help="The two schedulers to begin with.",
)
@click.option(
    "-o",
    "--out",
    "page",
    default="playground.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Name of the page.",
)
@click.option("--no-browser", is_flag=True, help="Write the page, and do not open it.")
def play(file: Path, schedulers: str, page: Path, no_browser: bool) -> None:
    """Write a page that simulates FILE in a browser, with sliders, and open it; it needs no network."""
    from plait.playground.page import opened_page
    from plait.support.files import write_text

    names = [name.strip() for name in schedulers.split(",")]
    write_text(page, opened_page(file, names))
    say(f"wrote {page} ({page.stat().st_size / 1e6:.1f} MB)")
    if not no_browser:
        webbrowser.open(page.resolve().as_uri())
