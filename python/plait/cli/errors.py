"""Report any failure as one line on standard error, with the right exit status."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import click

from plait._core import RunError, ScenarioError
from plait.cli.groups import Interrupted
from plait.scenarios.python_class import place
from plait.support.files import OutputError, remove_empty_folders
from plait.support.words import expected, nearest

FAILED = 1
BAD_INPUT = 2
INTERRUPTED = 130


OF_PLAIT = ("--quiet", "--version")
"""Options of `plait` itself, which its commands do not accept."""


NAMED = 3
"""Maximum number of commands in a message that have an option of another one."""


class Ended(Exception):  # noqa: N818
    """A command run on behalf of the user ended; its exit status becomes that of plait."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def guarded(command: Callable[[], Any]) -> NoReturn:
    """Run the command and exit: 0 success, 1 a run failed, 2 bad input, 130 interrupted.

    Every failure is one line on standard error without a traceback; `PLAIT_TRACEBACK=1` shows one.
    """
    if os.environ.get("PLAIT_TRACEBACK") == "1":
        try:
            command()
        except Ended as ended:
            sys.exit(ended.status)
        sys.exit(0)
    try:
        command()
        sys.stdout.flush()
    except Ended as ended:
        sys.exit(ended.status)
    except (Interrupted, KeyboardInterrupt, click.Abort):
        fail("interrupted", INTERRUPTED)
    except click.ClickException as error:
        fail(_usage(error), BAD_INPUT)
    except (ScenarioError, OutputError) as error:
        fail(str(error), BAD_INPUT)
    except RunError as error:
        fail(str(error), FAILED)
    except BrokenPipeError:
        # The reader closed the pipe (as `head` does): no message can reach anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (Exception, SystemExit) as error:
        fail(f"{type(error).__name__}: {error} ({_place(error)}PLAIT_TRACEBACK=1 shows more)", FAILED)
    sys.exit(0)


def _place(error: BaseException) -> str:
    """Return file and line of an exception, most often in a scheduler written in Python."""
    if found := place(error):
        return f"{found}; "
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}; " if frames else ""


def _usage(error: click.ClickException) -> str:
    """Describe an error in the command line; list the commands if one is missing or unknown."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        message = "Missing command."
    if isinstance(error, click.NoSuchOption) and error.option_name in OF_PLAIT and context is not None:
        return (
            f"{error.option_name} stands before the command: plait {error.option_name} {context.info_name} …"
        )
    if isinstance(error, click.NoSuchOption):
        near = nearest(error.option_name, error.possibilities or _options(context))
        meant = f" (did you mean {near}?)" if near is not None else ""
        return f"no such option: {error.option_name}{meant}{_elsewhere(error.option_name, context)}"
    if context is None or not isinstance(context.command, click.Group) or "ommand" not in message:
        return message
    known = context.command.list_commands(context)
    if isinstance(error, click.exceptions.NoSuchCommand):
        return f"no such command: {error.command_name!r}{expected(error.command_name, known)}"
    return f"{message.rstrip('.')}{expected('', known)}"


def _options(context: click.Context | None, command: click.Command | None = None) -> list[str]:
    """Return all options of a command, by default that of the context."""
    parameters = [] if context is None else (command or context.command).get_params(context)
    return [name for one in parameters for name in (*one.opts, *one.secondary_opts) if name.startswith("--")]


def _elsewhere(option: str, context: click.Context | None) -> str:
    """Return the end of a message that names the commands with this option, at most `NAMED`."""
    root = None if context is None else context.find_root()
    if root is None or not isinstance(root.command, click.Group):
        return ""
    commands = ((name, root.command.get_command(root, name)) for name in root.command.list_commands(root))
    found = [name for name, command in commands if command and option in _options(root, command)][:NAMED]
    has = "has" if len(found) == 1 else "have"
    return f"; {', '.join(f'plait {name}' for name in found)} {has} it" if found else ""


def fail(message: str, status: int) -> NoReturn:
    """Print one line on standard error and exit."""
    remove_empty_folders()
    line = " ".join(message.split())
    sys.stderr.write(f"plait: {line}\n")
    sys.exit(status)
