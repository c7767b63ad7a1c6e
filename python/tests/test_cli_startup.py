"""What runs nothing loads nothing that a run needs: help, slips of the hand and completion answer at once."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from plait.cli import cli

HEAVY = ("dask", "distributed", "jinja2", "matplotlib", "numpy", "plotly", "polars", "scipy")
"""Libraries that take longer to load than everything else together."""
SCRIPT = """
import atexit, sys
heavy = {*sys.argv.pop(1).split(",")}
atexit.register(lambda: print("loaded:", *sorted(heavy & set(sys.modules))))
from plait.cli import main
main()
"""


def commands(group: click.Group = cli, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, groups too, as the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield (*before, name)
        below = group.get_command(context, name)
        if isinstance(below, click.Group):
            yield from commands(below, (*before, name))


def loaded(*arguments: str) -> tuple[int, str]:
    """The exit status, and which heavy libraries were loaded."""
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
    """Without this, the tests above might not be able to fail."""
    assert "polars" in loaded("run", str(scenario_file))[1]
