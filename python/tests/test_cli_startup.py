"""Help, input errors and completion load no library of a run, so they answer at once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from plait.cli import cli

HEAVY = ("dask", "distributed", "jinja2", "matplotlib", "numpy", "plotly", "polars", "scipy")
"""Libraries that take longer to load than all other modules together."""
SCRIPT = """
import atexit, sys
heavy = {*sys.argv.pop(1).split(",")}
atexit.register(lambda: print("loaded:", *sorted(heavy & set(sys.modules))))
from plait.cli import main
main()
"""


def commands(group: click.Group = cli, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the words of every command, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*before, name)
        below = group.get_command(context, name)
        if isinstance(below, click.Group):
            yield from commands(below, (*before, name))


def loaded(*arguments: str) -> tuple[int, str]:
    """Returns the exit status and the heavy libraries that the command loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(HEAVY), *arguments],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["fly"], ["--fly"], ["reproduce"]])
def test_what_runs_nothing_loads_no_library_for_it(arguments: list[str]) -> None:
    status = 0 if arguments[:1] in (["--help"], ["--version"]) else 2
    assert loaded(*arguments) == (status, "loaded:")


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_help_and_slips_of_every_command_load_no_library(command: tuple[str, ...]) -> None:
    assert loaded(*command, "--help") == (0, "loaded:")
    assert loaded(*command, "--hlep") == (2, "loaded:")


def test_the_script_sees_what_a_command_loads(scenario_file: Path) -> None:
    """Ensures that the tests above can fail."""
    assert "polars" in loaded("run", str(scenario_file))[1]
