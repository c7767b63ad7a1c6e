"""What `plait send` and `plait recv` share: options, and how a transfer stands."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

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


def show(progress: TransferProgress) -> None:
    """One line on the terminal that says how a transfer stands; nothing where nobody watches."""
    if watched():
        paths = "  ".join(_path(path) for path in progress.paths)
        sys.stderr.write(f"{CLEAR}{100 * progress.share:5.1f} %  {paths}")
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
