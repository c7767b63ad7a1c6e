"""`plait init`: a first scenario file."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from plait.cli.output import say
from plait.scenarios.presets import PRESETS
from plait.scenarios.start import start_text
from plait.support.files import OutputError, write_text

USUAL = "dsl,lte"


class Presets(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.3 on
    """Names of presets with commas between them; the shell completes the last one."""

    name = "presets"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the last name of the list."""
        before, comma, last = incomplete.rpartition(",")
        return [
            CompletionItem(f"{before}{comma}{name}", help=one.title)
            for name, one in PRESETS.items()
            if name.startswith(last)
        ]


@click.command()
@click.option(
    "--preset",
    "presets",
    type=Presets(),
    metavar="NAME,…",
    default=USUAL,
    show_default=True,
    help=f"The links: {', '.join(PRESETS)}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file; default: standard output.",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
def init(presets: str, output: Path | None, force: bool) -> None:
    """Write a commented scenario file over common links, for your corrections.

    \b
    plait init --preset vdsl,5g -o my-links.toml
    plait compare my-links.toml --schedulers all
    """  # noqa: D301  click wants the character, not its escape
    text = start_text([name.strip() for name in presets.split(",") if name.strip()])
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists() and not force:
        message = f"{output}: is there already; another name, or --force to replace it"
        raise OutputError(message)
    write_text(output, text)
    say(f"{output} is written; next: plait compare {output} --schedulers all")
