"""Tests a scheduler module in Debian's own kernels, with several processors, under QEMU.

``python linux/tests/stock/stock.py COMMAND``; see README.md beside this file.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import chroot
import click
import debian
import debug
import gain
import initramfs
import qemu
import verdicts

from plait import RunError
from plait.linux import kernel as kernel_of_lab

ALL = [one.release for one in debian.kernels()]
WIDTHS = (13, 24, 8, 5)
CALLS = Path(__file__).parents[3] / "target/linux/vectors.txt"
"""Recorded calls of the schedulers, which `make -C linux/tests vectors` writes."""


def say(text: str) -> None:
    """Write a line for the reader."""
    click.echo(text, err=True)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn an error into one line and exit code 2."""
    try:
        yield
    except RunError as error:
        raise SystemExit(f"stock: {error}") from None


def prepared(names: tuple[str, ...]) -> list[debian.Kernel]:
    """Prepare the kernels of the names: beginnings of releases, or kinds of debug kernels."""
    chroot.require()
    found = []
    for name in names or ALL:
        chroot.install(say)
        if name in debug.KINDS:
            found.append(debug.prepare(name, say))
        else:
            found.append(chroot.prepare(debian.named(name), say))
    return found


def guest_files(one: debian.Kernel) -> dict[str, Path | bytes]:
    """Return the files of every guest."""
    return {**chroot.programs(), **initramfs.modules(one), **initramfs.scripts()}


def guest(one: debian.Kernel, processors: int, threads: str) -> qemu.Guest:
    """Return a guest of a kernel."""
    # Checks of every access need memory and time.
    memory, silence = (2048, 1800.0) if debug.is_kind(one) else (1024, 900.0)
    image = initramfs.kernel_image(one)
    return qemu.Guest(image=image, processors=processors, threads=threads, memory=memory, silence=silence)


@click.group()
def main() -> None:
    """Test a scheduler module in Debian's own kernels under QEMU."""


@main.command()
@click.argument("kernels", nargs=-1)
def fetch(kernels: tuple[str, ...]) -> None:
    """Fetch KERNELS (all), their headers and a Debian 13 that compiles for them."""
    with refusals():
        for one in prepared(kernels):
            click.echo(f"{one.release}\t{one.origin}\t{initramfs.kernel_image(one)}")


@main.command()
@click.argument("kernel")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
def build(kernel: str, folder: Path) -> None:
    """Build the modules of FOLDER for KERNEL."""
    with refusals():
        (one,) = prepared((kernel,))
        for module in chroot.build(one, folder, say):
            click.echo(module)


PROCESSORS = click.option("--processors", default=4, show_default=True, help="Processors of the guest.")
THREADS = click.option(
    "--threads", type=click.Choice(["multi", "single"]), default="multi", show_default=True
)


@main.command()
@click.argument("kernel")
@click.argument("script", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@PROCESSORS
@THREADS
def boot(kernel: str, script: Path, files: tuple[Path, ...], processors: int, threads: str) -> None:
    """Boot KERNEL, run SCRIPT beside FILES in its folder /test, and print its standard output."""
    with refusals(), tempfile.TemporaryDirectory() as folder:
        (one,) = prepared((kernel,))
        runner = b'sh ./given > /dev/ttyS1 2>&1 < /dev/null\necho "END" > /dev/ttyS1\n'
        own: dict[str, Path | bytes] = {"test/script": runner, "test/given": script}
        own |= {f"test/{file.name}": file for file in files}
        archive = initramfs.archive(guest_files(one) | own)
        for line in qemu.boot(guest(one, processors, threads), archive, Path(folder)):
            click.echo(line)


@main.command()
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--module", help="Name of a module of FOLDER; all of them without it.")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    help="Beginning of a release, kasan or kcsan; all of Debian without it.",
)
@click.option(
    "--case", "chosen", multiple=True, type=click.Choice(verdicts.CHOICES), help="A case; all without it."
)
@click.option("--short", is_flag=True, help="Fewer cases and files.")
@click.option("--optional", is_flag=True, help="Say why a kernel cannot be prepared, and succeed.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("results/stock"), show_default=True)
@PROCESSORS
@THREADS
def test(
    folder: Path | None,
    module: str | None,
    kernels: tuple[str, ...],
    chosen: tuple[str, ...],
    short: bool,
    optional: bool,
    out: Path,
    processors: int,
    threads: str,
) -> None:
    """Build the module of FOLDER, load it, run all cases with all of its schedulers, unload it.

    Without FOLDER the cases run with the kernel's own scheduler. OUT/RELEASE/MODULE has the results,
    the kernel's console and QEMU's messages.
    """
    failed = 0
    with refusals():
        try:
            found = prepared(kernels)
        except RunError as error:
            if not optional:
                raise
            click.echo(f"stock: skipped: {error}")
            return
        for one in found:
            began = time.monotonic()
            modules = chroot.build(one, folder, say) if folder else []
            names = [file.stem for file in modules] or [""]
            if module and module not in names:
                raise RunError(f"--module {module}: unknown; expected one of: {', '.join(names)}")
            files = guest_files(one) | {f"test/{file.name}": file for file in modules}
            files["test/script"] = debian.HERE / "guest" / "cases.sh"
            if CALLS.exists():
                files["test/calls"] = CALLS
            for name in [module] if module else names:
                files["test/settings"] = verdicts.settings(name, chosen, short=short)
                click.echo(f"\n{one.release} ({one.origin}), {name or 'no module'}, {processors} processors")
                to = out / one.release / (name or "none")
                failed += run(one, guest(one, processors, threads), files, name, to)
            click.echo(f"{one.release}: {(time.monotonic() - began) / 60:.1f} minutes")
    if failed:
        raise SystemExit(f"stock: {failed} cases failed")


@main.command("gain")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--kernel", default="6.12.118", show_default=True, help="Beginning of a release.")
@click.option("--case", "chosen", multiple=True, help="A case; all without it.")
def compare(folder: Path, kernel: str, chosen: tuple[str, ...]) -> None:
    """Compare schedulers of FOLDER's modules with `default` and with the lab, on the same links."""
    with refusals(), tempfile.TemporaryDirectory() as temporary:
        kernel_of_lab.require()
        some = gain.cases(chosen)
        (one,) = prepared((kernel,))
        modules = {file.stem: file for file in chroot.build(one, folder, say)}
        machine = replace(guest(one, 1, "single"), virtual=True)
        stages = {}
        for name, schedulers in gain.SCHEDULERS.items():
            say(f"{one.release}, {name or 'no module'}")
            files = guest_files(one) | {
                "test/script": gain.script(some, schedulers),
                "test/settings": f"MODULE={name}\n".encode(),
            }
            if name:
                files[f"test/{name}.ko"] = modules[name]
            lines = qemu.boot(machine, initramfs.archive(files), Path(temporary))
            stages[name] = gain.read(lines, some)
        say("the lab")
        labs = gain.lab(some, list(dict.fromkeys(sum(gain.SCHEDULERS.values(), ()))))
        click.echo(gain.tables(some, stages, labs))


def run(
    one: debian.Kernel, machine: qemu.Guest, files: dict[str, Path | bytes], module: str, to: Path
) -> int:
    """Run the cases in a guest, print a row for each, and return the number of failures."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    failures = 0
    with (to / "verdicts.jsonl").open("w") as file:
        for result in verdicts.results(qemu.boot(machine, initramfs.archive(files), to), module):
            line = {"kernel": one.release, **result.fields, "ok": result.ok, "messages": result.messages}
            file.write(json.dumps(line) + "\n")
            *cells, facts = result.row()
            click.echo(
                "".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)) + f" {facts}"
            )
            if result.ok is False:
                failures += 1
                click.echo(qemu.tail(to / "console.log"))
            sys.stdout.flush()
    return failures


if __name__ == "__main__":
    # The guest ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    main()
