"""`plait linux`: the real kernel."""

from __future__ import annotations

import time
from pathlib import Path

import click

from plait.cli.groups import PlaitGroup
from plait.cli.options import JSON
from plait.cli.output import print_json, say
from plait.cli.run import run
from plait.linux import archive, kernel, machine, tools
from plait.linux.build import build


@click.group(cls=PlaitGroup)
def linux() -> None:
    """The real kernel's MPTCP, in virtual time, without being root.

    \b
    plait linux build                     once: fetch, patch and compile Linux (minutes)
    plait run links.toml --engine linux   a scenario in it; so does plait linux run
    plait linux status                    the state of the build
    """  # noqa: D301  click wants the character, not its escape


@linux.command("build")
@click.option(
    "--source",
    type=click.Path(path_type=Path, exists=True),
    help=f"A tree or tarball of Linux {archive.VERSION}; default: Debian's package, fetched.",
)
@click.option("--force", is_flag=True, help="Build again, even if it exists.")
@click.option(
    "--debug",
    is_flag=True,
    help=f"Build a kernel that checks itself with KASAN, lockdep and kmemleak; name it in {kernel.OVERRIDE}.",
)
def build_kernel(source: Path | None, force: bool, debug: bool) -> None:
    """Build the kernel, unless it exists."""
    begin = time.monotonic()

    def tell(step: str) -> None:
        say(f"[{time.monotonic() - begin:4.0f} s] {step}")

    say(f"built: {build(source=source, force=force, debug=debug, say=tell)}")


@linux.command("status")
@JSON
def status(as_json: bool) -> None:
    """Say whether the kernel is built, where, and which tools are missing."""
    folder = kernel.folder()
    info, found = kernel.Build.read(folder), kernel.built()
    needed = {"run": tools.TO_RUN, "build": tools.TO_BUILD}
    lacking = {what: tools.missing(packages) for what, packages in needed.items()}
    obstacles = machine.obstacles()
    document = {
        "built": found is not None,
        "kernel": None if found is None else str(found),
        "version": None if info is None else info.version,
        "source": None if info is None else info.source,
        "source_sha256": None if info is None else info.source_sha256,
        "source_checked": None if info is None else info.checked,
        "hash": None if found is None else kernel.build_hash(),
        "folder": str(folder),
        "missing_to_run": lacking["run"],
        "missing_to_build": lacking["build"],
        "obstacles": obstacles,
    }
    if as_json:
        print_json(document)
        return
    if found is None:
        click.echo(f"not built; plait linux build takes {kernel.MINUTES} minutes and puts it into {folder}")
    else:
        version = "" if info is None else f"Linux {info.version}, built in {info.seconds:.0f} s: "
        click.echo(f"{version}{found}")
        unchecked = "" if info is None or info.checked else f"; made of {info.source}, not of {archive.FILE}"
        click.echo(f"hash {kernel.build_hash()}{unchecked}")
    for what, programs in lacking.items():
        if programs:
            click.echo(f"to {what} it, {tools.complaint(programs, needed[what])}")
    for obstacle in obstacles:
        click.echo(obstacle)


@linux.command("run", params=[one for one in run.params if one.name != "engine"])
@click.pass_context
def run_linux(context: click.Context, /, **options: object) -> None:
    """Run scenario files in the kernel: plait run --engine linux."""
    context.invoke(run, engine="linux", **options)
