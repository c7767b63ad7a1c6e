"""`plait usrsctp`: FreeBSD's SCTP stack."""

from __future__ import annotations

import time
from pathlib import Path

import click

from plait.cli.groups import PlaitGroup
from plait.cli.options import JSON
from plait.cli.output import print_json, say
from plait.linux import tools
from plait.usrsctp import archive, program
from plait.usrsctp.build import TO_BUILD, build


@click.group(cls=PlaitGroup)
def usrsctp() -> None:
    """FreeBSD's SCTP stack, in virtual time, without being root.

    \b
    plait usrsctp build                     once: fetch, patch and compile usrsctp (a minute)
    plait run links.toml --engine usrsctp   a scenario of CMT-SCTP in it
    plait usrsctp status                    the state of the build
    """  # noqa: D301  click wants the character, not its escape


@usrsctp.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help=f"{archive.FILE}; default: Debian's, fetched.",
)
@click.option("--force", is_flag=True, help="Build again, even if it exists.")
def build_program(source: Path | None, force: bool) -> None:
    """Build the stack, unless it exists."""
    begin = time.monotonic()

    def tell(step: str) -> None:
        say(f"[{time.monotonic() - begin:4.0f} s] {step}")

    say(f"built: {build(source=source, force=force, say=tell)}")


@usrsctp.command("status")
@JSON
def status(as_json: bool) -> None:
    """Say whether the stack is built, where, and which tools are missing."""
    found, lacking = program.built(), tools.missing(TO_BUILD)
    document = {
        "built": found is not None,
        "program": None if found is None else str(found),
        "version": archive.VERSION,
        "hash": None if found is None else program.identity(),
        "folder": str(program.folder()),
        "missing_to_build": lacking,
    }
    if as_json:
        print_json(document)
        return
    if found is None:
        click.echo(f"not built; plait usrsctp build takes a minute and puts it into {program.folder()}")
    else:
        click.echo(f"usrsctp {archive.VERSION}: {found}")
        click.echo(f"hash {program.identity()}")
    if lacking:
        click.echo(f"to build it, {tools.complaint(lacking, TO_BUILD)}")
