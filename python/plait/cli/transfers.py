"""What `plait send`, `plait recv` and `plait proxy` share: options, and how a transfer stands."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import click

from plait import _core
from plait.support.progress import Progress
from plait.transfers.report import PathProgress, TransferProgress

SECRET = click.option(
    "--secret",
    metavar="TEXT",
    envvar="PLAIT_SECRET",
    help="What the sender has to know; also as PLAIT_SECRET in the environment, where other users' ps does not see it.",
)
LINES = click.option("--json", "as_json", is_flag=True, help="Print lines of JSON on standard output.")
CLEAR = "\r\x1b[K"
"""What takes the terminal's line away."""


def print_line(event: Mapping[str, Any]) -> None:
    """One line of JSON, at once."""
    click.echo(json.dumps(event, ensure_ascii=False))
    sys.stdout.flush()


def announce(end: _core.Receiving | _core.Exit, command: str, as_json: bool) -> None:
    """What the other side has to type: `command`, the address, the certificate's fingerprint, and the secret."""
    host, port = end.host, end.port
    if as_json:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        print_line(
            {"event": "listening", "address": address, "fingerprint": end.fingerprint, "secret": end.secret}
        )
        return
    place = "HOST" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    click.echo(f"{command} {place}:{port} --fingerprint {end.fingerprint} --secret {end.secret}")
    sys.stdout.flush()


def show(progress: TransferProgress) -> None:
    """One line on the terminal that says how a transfer stands; nothing where nobody watches."""
    show_line(f"{100 * progress.share:5.1f} %", progress.paths)


def show_line(words: str, paths: Iterable[PathProgress]) -> None:
    """These words and how paths stand, in the place of the terminal's line; nothing where nobody watches."""
    if watched():
        sys.stderr.write(f"{CLEAR}{words}  {'  '.join(_path(path) for path in paths)}")
        sys.stderr.flush()


def clear() -> None:
    """Take that line away."""
    if watched():
        sys.stderr.write(CLEAR)
        sys.stderr.flush()


def watched() -> bool:
    """Whether somebody watches."""
    return sys.stderr.isatty() and not Progress.quiet


def megabits(bps: float) -> str:
    """A rate for people."""
    return f"{bps / 1e6:.1f} Mbit/s"


def _path(path: PathProgress) -> str:
    if path.usable:
        return f"{path.name} {megabits(path.rate_bps)}"
    return f"{path.name} down ({path.trouble})" if path.trouble else f"{path.name} down"
