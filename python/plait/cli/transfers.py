"""`plait send`, `recv` and `proxy`: the commands of `plait-quic`, with schedulers from files."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import click

from plait import _core
from plait.cli.errors import Ended
from plait.cli.output import say
from plait.scenarios.scheduler import override, parse_choice
from plait.support.progress import Progress


class TransferCommand(click.Command):
    """A command of the core. Python shows and completes its options, the core parses them.

    Args:
        name: the command's name.
    """

    def __init__(self, name: str) -> None:
        described = json.loads(_core.transfer_options(name))
        super().__init__(
            name,
            params=[_parameter(one) for one in described["arguments"]],
            help=f"{described['help'].rstrip('.')}.",
            callback=lambda **_: None,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave the arguments unparsed; click handles only help and completion."""
        if ctx.resilient_parsing or set(args) & {"--help", "-h"}:
            return super().parse_args(ctx, args)
        ctx.args = args
        return args

    def invoke(self, ctx: click.Context) -> None:
        """Run the command in the core.

        Raises:
            Ended: with the command's exit status.
        """
        # The core stops the command cleanly, and notifies the peer.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        quiet = ["--quiet"] if Progress.quiet and "--quiet" not in ctx.args else []
        raise Ended(_core.transfer_command(["plait", str(self.name), *ctx.args, *quiet], Host()))


class Host:
    """The functions that Python adds to the core's commands."""

    def scheduler(self, text: str) -> object:
        """Return the scheduler that ``FILE.py:CLASS`` or ``LIBRARY.so:CLASS`` names.

        Raises:
            ScenarioError: there is no such scheduler.
        """
        choice = override(parse_choice(text))
        return choice.python if choice.foreign is None else choice.foreign

    def recorded(self, folder: str, text: str) -> None:
        """Turn a finished recording into a folder of results; errors do not fail the transfer."""
        from plait.recordings.keeping import keep_recording
        from plait.support.files import OutputError

        try:
            keep_recording(Path(folder), override(parse_choice(text)).document)
        except (_core.ScenarioError, OutputError, OSError) as error:
            say(f"plait: nothing is kept of the recording: {error}")
        else:
            say(f"recorded in {folder}: plait report {folder}, plait replay {folder}")


def _parameter(one: dict[str, Any]) -> click.Parameter:
    """Return an argument or option as click shows it."""
    if one["option"] is None:
        value, count = (f"{one['value']}...", -1) if one["repeats"] else (one["value"], 1)
        metavar = value if one["required"] else f"[{value}]"
        return click.Argument([one["name"]], metavar=metavar, required=one["required"], nargs=count)
    words = one["help"] if one["help"].endswith(".") else f"{one['help']}."
    return click.Option(
        [one["option"], one["name"]],
        metavar=None if one["flag"] else one["value"],
        is_flag=one["flag"],
        multiple=one["repeats"],
        required=one["required"],
        default=None if one["flag"] or one["repeats"] else one["default"] or None,
        show_default=bool(one["default"]) and not one["flag"],
        help=words,
    )


send, recv, proxy = (TransferCommand(name) for name in ("send", "recv", "proxy"))
