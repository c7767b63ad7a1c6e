"""`plait send`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from plait.cli.output import say
from plait.cli.paths import chosen, costs, pairs, path_options, told
from plait.cli.transfers import LINES, SECRET, clear, megabits, print_line, show
from plait.scenarios.scheduler import parse_choice
from plait.support.progress import Progress
from plait.transfers.report import SchedulerChange, TransferProgress
from plait.transfers.sender import Transfer


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.argument("to", metavar="HOST:PORT")
@click.option(
    "--fingerprint",
    required=True,
    metavar="HEX",
    help="The SHA-256 of the receiver's certificate, which it prints.",
)
@SECRET
@path_options
@click.option(
    "--record",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Write down what happens, for plait explain, report and replay.",
)
@click.option(
    "--interop",
    is_flag=True,
    help="One QUIC connection with QUIC's own multipath, and an ordinary stream. "
    "Schedulers that need more than to choose a path are refused.",
)
@LINES
def send(
    file: Path,
    to: str,
    fingerprint: str,
    secret: str | None,
    local: tuple[str, ...],
    interface: tuple[str, ...],
    cost: tuple[str, ...],
    budget: tuple[str, ...],
    backup: tuple[str, ...],
    name: str | None,
    redundant: bool,
    congestion: str,
    mtu: int,
    record: Path | None,
    interop: bool,
    as_json: bool,
) -> None:
    """Send a file over several network interfaces at once.

    The other side is `plait recv` or `plait-quic recv`, which prints HOST:PORT, its fingerprint and the secret. Ends
    with 0 when the receiver has the file whole, by its SHA-256.
    """
    scheduler = chosen(name, redundant)
    transfer = Transfer(
        file,
        to,
        fingerprint=fingerprint,
        secret=told(secret),
        local=local,
        interface=interface,
        cost=costs(cost),
        budget=pairs("--budget", budget),
        backup=backup,
        scheduler=parse_choice(scheduler),
        congestion=congestion,
        mtu=mtu,
        record=record,
        interop=interop,
    )

    def tell(progress: TransferProgress) -> None:
        if Progress.quiet:
            return
        for change in progress.changes:
            if as_json:
                print_line({"event": "scheduler", **asdict(change)})
            else:
                clear()
                say(change.reason)
        if as_json:
            print_line({"event": "progress", **asdict(replace(progress, changes=()))})
        else:
            show(progress)

    try:
        sent = transfer.run(tell)
    finally:
        clear()
    if sent.unrecorded is not None:
        say(f"warning: the recording is not whole: {sent.unrecorded}")
    if record is not None:
        say(f"recorded in {record}: plait report {record}, plait replay {record}")
    if as_json:
        print_line({"event": "sent", **asdict(sent), "goodput_bps": sent.goodput_bps})
        return
    paths = ", ".join(f"{path.name} {path.bytes / 1e6:.1f} MB" for path in sent.paths)
    click.echo(
        f"{sent.file}: {sent.bytes} bytes in {sent.seconds:.2f} s, {megabits(sent.goodput_bps)}, SHA-256 equal; "
        f"{paths}{decided_by(sent.changes)}"
    )


def decided_by(changes: Sequence[SchedulerChange]) -> str:
    """Who decided, one after the other, where it was not the same one all the time."""
    if not changes:
        return ""
    later = "".join(f", {change.after} after {change.seconds:.1f} s" for change in changes)
    return f"; {changes[0].before} decided{later}"
