"""`plait bundle` and `plait rerun`."""

from __future__ import annotations

from pathlib import Path

import click

from plait._core import RunError
from plait.cli.options import THREADS
from plait.cli.output import say
from plait.results.summary import count
from plait.support.progress import Progress

SHOWN = 3
"""Maximum number of different files in a message."""


@click.command()
@click.argument("folder", metavar="RESULTS", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    "place",
    type=click.Path(path_type=Path),
    help="Name of the archive; default: the folder's name and .zip.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="The new place of a file of yours (scheduler, metric or trace) that was moved or changed; may be repeated.",
)
def bundle(folder: Path, place: Path | None, files: tuple[Path, ...]) -> None:
    """Pack results, with all files for their repetition, into one archive.

    RESULTS is an output of `plait run --out`, `plait compare --out` or `plait sweep`. The archive has the scenarios,
    seeds, versions, commands, schedulers and metrics of your own and traces beside the results; `plait rerun`
    repeats it.
    """
    from plait.bundles import bundle as pack

    place = Path(f"{folder.absolute().name}.zip") if place is None else place
    names = pack(folder, place, files)
    size = place.stat().st_size
    text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
    say(f"wrote {count(len(names), 'file')} to {place} ({text})")


@click.command()
@click.argument("place", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    "folder",
    type=click.Path(path_type=Path),
    help="A new folder for the results; default: the archive's name and -rerun.",
)
@THREADS
def rerun(place: Path, folder: Path | None, threads: int) -> None:
    """Repeat the runs of BUNDLE, and compare the bytes.

    Only files of runs are compared: metrics, scenarios and tables, or the dataset. The exit
    status is 1 if a file differs.
    """
    from plait.bundles import rerun as repeat

    folder = Path(f"{place.stem}-rerun") if folder is None else folder
    with Progress("repeating") as progress:
        done = repeat(place, folder, threads=threads, progress=progress.update)
    runs = count(done.runs, "run")
    if done.different:
        shown = ", ".join(done.different[:SHOWN]) + ", …" * (len(done.different) > SHOWN)
        why = "".join(f"; {one}" for one in done.notes)
        message = f"{folder}: {len(done.different)} of {done.files} files of {runs} differ from {place}: {shown}{why}"
        raise RunError(message)
    click.echo(f"equal: {count(done.files, 'file')} of {runs} have the same bytes as in {place}")
