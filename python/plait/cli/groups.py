"""Groups of commands: imported on first use, and quiet on Ctrl-C."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C, hidden from click, which would print an empty line."""


class PlaitGroup(click.Group):
    """A group of commands; passes Ctrl-C on unchanged."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


@dataclass(frozen=True)
class Place:
    """The place of a command, ``module:attribute`` in `plait.cli`, and its summary for the list."""

    at: str
    summary: str


class LazyGroup(PlaitGroup):
    """A group whose commands are imported on first use.

    Statistics and figures take longer to load than a run.

    Args:
        places: the places of the commands, by their names.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, Place], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the help text."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command by its name."""
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name].at.split(":")
        command: click.Command = getattr(importlib.import_module(f"plait.cli.{module}"), attribute)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command name without importing the commands; then options, as click does."""
        names = [name for name in self._places if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._places[name].summary) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands as click does, without importing them."""
        width = formatter.width - 6 - max(len(name) for name in self._places)
        stand_ins = [click.Command(name, help=place.summary) for name, place in self._places.items()]
        with formatter.section("Commands"):
            formatter.write_dl([(str(one.name), one.get_short_help_str(width)) for one in stand_ins])
