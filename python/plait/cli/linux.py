"""`plait linux`: the real kernel."""

from __future__ import annotations

import time
from pathlib import Path

import click

from plait.cli.errors import PlaitGroup
from plait.cli.output import print_json, say
from plait.cli.run import JSON, run
from plait.linux import kernel, tools
from plait.linux.build import PACKAGES, build


@click.group(cls=PlaitGroup)
def linux() -> None:
    """The real kernel's MPTCP, in virtual time, without being root.

    \b
    plait linux build                     once: fetch, patch and compile Linux (minutes)
    plait run links.toml --engine linux   a scenario in it; so does plait linux run
    plait linux status                    what is there
    """  # noqa: D301  click wants the character, not its escape


@linux.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True),
    help=f"A tree or tarball of Linux {kernel.SERIES}; default: Debian's package, fetched by apt.",
)
@click.option("--force", is_flag=True, help="Build anew even if it is there.")
@click.option(
    "--debug",
    is_flag=True,
    help=f"One that watches itself: KASAN, lockdep, kmemleak; to be named in {kernel.OVERRIDE}.",
)
def build_kernel(source: Path | None, force: bool, debug: bool) -> None:
    """Build the kernel, unless it is there."""
    begin = time.monotonic()

    def tell(step: str) -> None:
        say(f"[{time.monotonic() - begin:4.0f} s] {step}")

    say(f"built: {build(source=source, force=force, debug=debug, say=tell)}")


@linux.command("status")
@JSON
def status(as_json: bool) -> None:
    """Say what is built, where, and what is missing."""
    folder = kernel.folder()
    info, found = kernel.Build.read(folder), kernel.built()
    lacking = {"run": tools.missing(tools.PACKAGES), "build": tools.missing(PACKAGES)}
    document = {
        "built": found is not None,
        "kernel": None if found is None else str(found),
        "version": None if info is None else info.version,
        "folder": str(folder),
        "missing_to_run": lacking["run"],
        "missing_to_build": lacking["build"],
    }
    if as_json:
        print_json(document)
        return
    if found is None:
        click.echo(f"not built; plait linux build takes {kernel.MINUTES} minutes and puts it into {folder}")
    else:
        version = "" if info is None else f"Linux {info.version}, built in {info.seconds:.0f} s: "
        click.echo(f"{version}{found}")
    for what, programs in lacking.items():
        if programs:
            names = " ".join(dict.fromkeys(programs.values()))
            click.echo(
                f"missing to {what} it: {', '.join(programs)}; on Debian: sudo apt-get install {names}"
            )


@linux.command("run", params=[one for one in run.params if one.name != "engine"])
@click.pass_context
def run_linux(context: click.Context, /, **options: object) -> None:
    """Run scenario files in the kernel: plait run --engine linux."""
    context.invoke(run, engine="linux", **options)
