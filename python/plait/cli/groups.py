"""Groups of commands: imported when they are used, and quiet about Ctrl-C."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem


class Interrupted(Exception):  # noqa: N818
    """Ctrl-C, kept from click, which would print an empty line."""


class PlaitGroup(click.Group):
    """A group of commands; lets Ctrl-C through unchanged."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


@dataclass(frozen=True)
class Place:
    """Where a command is, ``module:attribute`` within `plait.cli`, and what it does, for the list of commands."""

    at: str
    summary: str


class LazyGroup(PlaitGroup):
    """A group whose commands are imported when they are used: statistics and figures take longer to load than a run.

    Args:
        places: the commands by their names.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, Place], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order in which help lists them."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """A command by its name."""
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name].at.split(":")
        command: click.Command = getattr(importlib.import_module(f"plait.cli.{module}"), attribute)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that a word may become, without importing them; then options, as click does."""
        names = [name for name in self._places if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self._places[name].summary) for name in names]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands as click does, without importing them."""
        width = formatter.width - 6 - max(len(name) for name in self._places)
        stand_ins = [click.Command(name, help=place.summary) for name, place in self._places.items()]
        with formatter.section("Commands"):
            formatter.write_dl([(str(one.name), one.get_short_help_str(width)) for one in stand_ins])
