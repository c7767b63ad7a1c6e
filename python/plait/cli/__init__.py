"""The `plait` command."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

import click

from plait.cli.catalogue import list_schedulers
from plait.cli.errors import NOT_YET, PlaitGroup, guarded
from plait.cli.explain import explain
from plait.cli.linux import linux
from plait.cli.model import model
from plait.cli.reproduce import reproduce
from plait.cli.run import compare, run
from plait.cli.validate import validate
from plait.progress import Progress


def _version() -> str:
    try:
        return version("plait")
    except PackageNotFoundError:
        return "unknown"


@click.group(
    cls=PlaitGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"Not there yet: {', '.join(NOT_YET)}.",
)
@click.option("--quiet", is_flag=True, help="Show no progress bars.")
@click.version_option(_version(), prog_name="plait")
def cli(quiet: bool) -> None:
    """Packet scheduling over several paths: run, compare and reproduce.

    \b
    plait reproduce daps-icc14                        a paper, with figures
    plait compare links.toml --schedulers all         schedulers on your links
    plait run links.toml --scheduler daps --out out   one run, with figures
    plait explain links.toml --at 1.2s                one decision, and why
    plait run links.toml --engine linux               in the real kernel (plait linux build once)
    plait validate linux                              simulator against kernel
    """  # noqa: D301 – click takes the character, not two, for "leave these lines as they are"
    Progress.quiet = quiet


for command in (run, compare, explain, reproduce, list_schedulers, model, linux, validate):
    cli.add_command(command)


def main() -> NoReturn:
    """Run the command and leave the process with its exit status."""
    guarded(lambda: cli.main(standalone_mode=False))


__all__ = ["cli", "main"]
