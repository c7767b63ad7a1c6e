"""The `plait` command."""

from __future__ import annotations

from typing import NoReturn

import click

from plait.cli.errors import LazyGroup, guarded
from plait.support.machine import plait_version
from plait.support.progress import Progress

COMMANDS = {
    "run": "plait.cli.run:run",
    "compare": "plait.cli.run:compare",
    "advise": "plait.cli.advise:advise",
    "explain": "plait.cli.explain:explain",
    "reproduce": "plait.cli.reproduce:reproduce",
    "schedulers": "plait.cli.catalogue:list_schedulers",
    "model": "plait.cli.model:model",
    "sweep": "plait.cli.sweep:sweep",
    "analyze": "plait.cli.analyze:analyze_command",
    "report": "plait.cli.report:report",
    "linux": "plait.cli.linux:linux",
    "validate": "plait.cli.validate:validate",
}
"""Where each command is, in the order in which help lists them."""


@click.group(cls=LazyGroup, places=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--quiet", is_flag=True, help="Show no progress bars.")
@click.version_option(plait_version(), prog_name="plait")
def cli(quiet: bool) -> None:
    """Packet scheduling over several paths: run, compare and reproduce.

    \b
    plait reproduce daps-icc14                        a paper, with figures
    plait compare links.toml --schedulers all         schedulers on your links
    plait advise --path "dsl 16Mbit 25ms" --path …    which one to use, and is it worth it
    plait run links.toml --scheduler daps --out out   one run, with figures
    plait explain links.toml --at 1.2s                one decision, and why
    plait report out -o report.html                   what was written with --out, as a page
    plait run links.toml --engine linux               in the real kernel (plait linux build once)
    plait sweep plan.toml                             many runs, into a dataset
    plait analyze results/plan                        what they say, with intervals
    plait validate linux                              simulator against kernel
    """  # noqa: D301  click wants the character, not its escape
    Progress.quiet = quiet


def main() -> NoReturn:
    """Run the command and leave the process with its exit status."""
    guarded(lambda: cli.main(standalone_mode=False))


__all__ = ["cli", "main"]
