"""`plait send`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from plait.cli.transfers import LINES, SECRET, clear, megabits, print_line, show
from plait.scenarios.scheduler import parse_choice
from plait.support.progress import Progress
from plait.transfers.report import TransferProgress
from plait.transfers.sender import MTU, Transfer

DEFAULT = "lowest-rtt"


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
@click.option(
    "--local",
    multiple=True,
    metavar="ADDR[%INTERFACE]",
    help="A local address to send from, a path; may be repeated. %INTERFACE: leaving there whatever the routes prefer.",
)
@click.option(
    "--interface",
    multiple=True,
    metavar="NAME",
    help="An interface to send from, a path; repeatable. Default: all that are up, the loopback one to this machine.",
)
@click.option(
    "--cost",
    multiple=True,
    metavar="PATH=NUMBER",
    help="What a path costs, for schedulers that look at it: cheapest-first. PATH is an interface or an address.",
)
@click.option(
    "--budget",
    multiple=True,
    metavar="PATH=SIZE",
    help="How much a path may carry, copies included, for example wwan0=500MB.",
)
@click.option(
    "--backup", multiple=True, metavar="PATH", help="A path that is used only while no other works."
)
@click.option(
    "--scheduler",
    "name",
    metavar="NAME",
    help=f"NAME, NAME:parameter=value:…, FILE.py:CLASS:… or LIBRARY.so:CLASS:…; default: {DEFAULT}.",
)
@click.option("--redundant", is_flag=True, help="Every packet on every path: --scheduler redundant.")
@click.option("--congestion", default="cubic", show_default=True, help="Congestion control of each path.")
@click.option(
    "--mtu",
    type=int,
    default=MTU,
    show_default=True,
    metavar="BYTES",
    help="A UDP datagram's payload; every path has to carry it.",
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
    as_json: bool,
) -> None:
    """Send a file over several network interfaces at once.

    The other side is `plait recv` or `plait-quic recv`, which prints HOST:PORT, its fingerprint and the secret. Ends
    with 0 when the receiver has the file whole, by its SHA-256.
    """
    if redundant and name is not None:
        message = "--redundant and --scheduler exclude each other"
        raise click.UsageError(message)
    if not secret:
        message = "a secret is needed: --secret or PLAIT_SECRET, as the receiver prints it"
        raise click.UsageError(message)
    transfer = Transfer(
        file,
        to,
        fingerprint=fingerprint,
        secret=secret,
        local=local,
        interface=interface,
        cost={name: _number(text) for name, text in _pairs("--cost", cost).items()},
        budget=_pairs("--budget", budget),
        backup=backup,
        scheduler=parse_choice("redundant" if redundant else name or DEFAULT),
        congestion=congestion,
        mtu=mtu,
    )

    def tell(progress: TransferProgress) -> None:
        if as_json and not Progress.quiet:
            print_line({"event": "progress", **asdict(progress)})
        elif not as_json:
            show(progress)

    try:
        sent = transfer.run(tell)
    finally:
        clear()
    if as_json:
        print_line({"event": "sent", **asdict(sent), "goodput_bps": sent.goodput_bps})
        return
    paths = ", ".join(f"{path.name} {path.bytes / 1e6:.1f} MB" for path in sent.paths)
    click.echo(
        f"{sent.file}: {sent.bytes} bytes in {sent.seconds:.2f} s, {megabits(sent.goodput_bps)}, SHA-256 equal; {paths}"
    )


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """PATH=VALUE of an option, by path."""
    pairs = [text.rpartition("=") for text in texts]
    for text, (path, _, _) in zip(texts, pairs, strict=True):
        if not path:
            message = f"{option} {text!r}: expected PATH={'NUMBER' if option == '--cost' else 'SIZE'}"
            raise click.UsageError(message)
    return {path: value for path, _, value in pairs}


def _number(text: str) -> int:
    """What a path costs."""
    if not text.isdecimal():
        message = f"--cost: expected PATH=NUMBER, got {text!r}"
        raise click.UsageError(message)
    return int(text)
