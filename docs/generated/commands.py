"""The commands, in the words of their own help."""

from __future__ import annotations

from collections.abc import Iterator

import click

from plait.cli import cli

WIDTH = 88
"""Columns of the help texts."""


def help_texts() -> str:
    """Every command's help, a heading each."""
    settings = {**cli.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    top = click.Context(cli, info_name="plait", **settings)
    return "\n\n".join(
        f"{'#' * (2 if depth < 2 else 3)} `{context.command_path}`\n\n```text\n{context.get_help()}\n```"
        for depth, context in contexts(top)
    )


def contexts(context: click.Context, depth: int = 0) -> Iterator[tuple[int, click.Context]]:
    """A command and those below it."""
    yield depth, context
    command = context.command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                made = click.Context(
                    below, parent=context, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH
                )
                yield from contexts(made, depth + 1)
