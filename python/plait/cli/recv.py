"""`plait recv`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from plait import _core
from plait.cli.output import say
from plait.cli.transfers import LINES, SECRET, announce, clear, megabits, print_line, show
from plait.support.progress import Progress
from plait.transfers.receiver import LISTEN, WINDOW
from plait.transfers.report import Received, progress_of, received_of


@click.command()
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="Where files are kept."
)
@click.option(
    "--listen",
    default=LISTEN,
    show_default=True,
    metavar="ADDR:PORT",
    help="Where to listen; port 0 is any that is free.",
)
@click.option("--once", is_flag=True, help="End after one file: with 0 if it is there, else with 1.")
@SECRET
@click.option(
    "--window",
    type=int,
    default=WINDOW,
    show_default=True,
    metavar="BYTES",
    help="What may be on its way, or wait for what is missing.",
)
@LINES
def recv(out: Path, listen: str, once: bool, secret: str | None, window: int, as_json: bool) -> None:
    """Receive files into a folder; who sends has to know the secret.

    Prints what the other side has to type: address, the certificate's fingerprint, and the secret, which are new each
    time unless the secret is given.
    """
    receiving = _core.Receiving(out, listen=listen, secret=secret or None, window=window)
    announce(receiving, "plait send FILE", as_json)
    failed: list[str] = []

    def hear(text: str) -> None:
        event = json.loads(text)
        ended = event["event"] in ("received", "failed")
        if as_json:
            if ended or not Progress.quiet:
                print_line(event)
        elif event["event"] == "progress":
            show(progress_of(event))
        elif ended:
            clear()
            got = received_of(event)
            if got.error is None:
                rate = megabits((got.bytes - got.resumed_bytes) * 8 / max(got.seconds, 1e-9))
                gap = f"longest gap {got.longest_gap_s * 1e3:.0f} ms"
                click.echo(
                    f"{got.file}: {got.bytes} bytes in {got.seconds:.2f} s, {rate}, SHA-256 equal, {gap}"
                )
            elif not once:
                say(f"plait: {failure(got)}")
        if ended and once:
            failed.extend([failure(received_of(event))] if event["event"] == "failed" else [])
            receiving.stop()

    try:
        receiving.run(hear)
    finally:
        clear()
    if failed:
        raise _core.TransferError(failed[0])


def failure(got: Received) -> str:
    """Why a file is not there, and what is kept of it."""
    kept = f"; {got.kept_bytes} bytes are kept for another try" if got.kept_bytes else ""
    return f"{got.file}: {got.error}{kept}"
