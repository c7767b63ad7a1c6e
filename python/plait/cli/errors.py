"""One line on standard error and the right exit status, whatever goes wrong."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from plait._core import RunError, ScenarioError
from plait.support.files import OutputError

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


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


class LazyGroup(PlaitGroup):
    """A group whose commands are imported when they are used: statistics and figures take longer to load than a run.

    Args:
        places: where each command is: its name, and ``module:attribute``.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, str], **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The names, in the order in which help lists them."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """A command by its name."""
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


def guarded(command: Callable[[], Any]) -> NoReturn:
    """Run the command and leave the process: 0 done, 1 a run failed, 2 bad input, 130 interrupted.

    Every failure is one line on standard error, never a traceback; only `PLAIT_TRACEBACK=1` shows one.
    """
    if os.environ.get("PLAIT_TRACEBACK") == "1":
        command()
        sys.exit(0)
    try:
        command()
        sys.stdout.flush()
    except (Interrupted, KeyboardInterrupt, click.Abort):
        fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        fail(_usage(error), BAD_INPUT)
    except (ScenarioError, OutputError) as error:
        fail(str(error), BAD_INPUT)
    except RunError as error:
        fail(str(error), FAILED)
    except BrokenPipeError:
        # The reader left (as `head` does); nothing is left to be said, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (Exception, SystemExit) as error:
        fail(f"{type(error).__name__}: {error} ({_place(error)}PLAIT_TRACEBACK=1 shows more)", FAILED)
    sys.exit(0)


def _place(error: BaseException) -> str:
    """File and line where an exception was raised, most often in a scheduler written in Python."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}; " if frames else ""


def _usage(error: click.ClickException) -> str:
    """What was wrong with the command line; names the commands where one is missing or unknown."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        message = "Missing command."
    if context is None or not isinstance(context.command, click.Group) or "ommand" not in message:
        return message
    return f"{message.rstrip('.')}; expected one of: {', '.join(context.command.list_commands(context))}"


def fail(message: str, status: int) -> NoReturn:
    """Say one line and leave."""
    line = " ".join(message.split())
    sys.stderr.write(f"plait: {line}\n")
    sys.exit(status)
