"""Options of several commands. `--help` needs them, so this module imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from plait.engines.names import EngineName

Command = TypeVar("Command", bound=Callable[..., Any])

SERIES_DEFAULT = "10ms"

SEED = click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), help="Use this seed instead of the scenario's."
)
SEEDS = click.option(
    "--seeds",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="Run N repetitions with consecutive seeds, from --seed or the scenario's seed on. Print means with 95 % "
    "intervals, and differences of pairs.",
)
PERTURB = click.option(
    "--perturb/--no-perturb",
    default=None,
    help="Vary the scenario by the seed: delays differ by up to 0.5 %, and flows begin up to 10 ms later. "
    "Default: only with several seeds.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")
LATEX = click.option(
    "--latex",
    is_flag=True,
    help="Print the tables as LaTeX with the rules of booktabs; all other lines are comments.",
)
OUT = click.option(
    "--out", type=click.Path(path_type=Path), help="Write JSON, Parquet tables and figures there."
)
THREADS = click.option(
    "--threads",
    type=click.IntRange(min=0),
    default=0,
    help="Number of threads; 0 (the default) means one per core.",
)
SERIES = click.option(
    "--series", help=f"Interval of the time series (with --out); default: {SERIES_DEFAULT}."
)
DECISIONS = click.option(
    "--decisions", is_flag=True, help="Record the scheduler's decisions too (with --out)."
)
PCAP = click.option(
    "--pcap",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write captures of both ends of every path there, for Wireshark, without competing flows.",
)
QLOG = click.option(
    "--qlog",
    type=click.Path(path_type=Path),
    metavar="FILE|DIR",
    help="Write the scheduler's decisions as qlog: to FILE.sqlog, or to a file per run in DIR.",
)
ENGINE = click.option(
    "--engine",
    type=click.Choice(get_args(EngineName)),
    default="sim",
    show_default=True,
    help="The engine: the simulator; the real kernel's MPTCP (plait linux build once); the QUIC connections of plait "
    "send over the simulator's links; or FreeBSD's SCTP over them (plait usrsctp build once).",
)
WHERE = click.option(
    "--where",
    multiple=True,
    metavar="VARIABLE=VALUE",
    help="Only runs with this value of a variable of the sweep; may be repeated.",
)
LABEL = click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="SCHEDULER=TEXT",
    help="Call a scheduler so in tables and figures; may be repeated.",
)
WORKLOAD = click.option(
    "--workload",
    metavar="FILE.py:CLASS",
    help="A class of yours, FILE.py:CLASS:parameter=value:…, writes the data instead of the scenario's workload.",
)
ALONE = click.option(
    "--alone",
    is_flag=True,
    help="Run each path alone, too, under the same transport, and print the gain over the best of them: of the "
    "completion time of a workload that ends, of the delays of blocks or requests, otherwise of the goodput.",
)


def of_runs(command: Command) -> Command:
    """Add the options that all commands with runs have."""
    for option in (THREADS, QLOG, PCAP, DECISIONS, SERIES, OUT, JSON, ALONE, ENGINE, PERTURB, WORKLOAD):
        command = option(command)
    return command


def conditions(where: Sequence[str]) -> dict[str, str]:
    """Return the values of ``--where`` by variable; UsageError for another form."""
    for one in where:
        if "=" not in one:
            message = f"--where {one!r}: expected VARIABLE=VALUE, such as rtt=40"
            raise click.UsageError(message)
    return {name.strip(): value.strip() for name, _, value in (one.partition("=") for one in where)}


def labels_of(labels: Sequence[str]) -> dict[str, str]:
    """Return the texts of ``--label`` by scheduler; UsageError for another form.

    A scheduler may have ``=`` in its parameters, so the last one is meant.
    """
    for one in labels:
        if not all(one.rpartition("=")):
            message = f"--label {one!r}: expected SCHEDULER=TEXT, such as lowest-rtt=minRTT"
            raise click.UsageError(message)
    return {name: text for name, _, text in (one.rpartition("=") for one in labels)}


def needs(option: str, given: object, other: str, present: object) -> None:
    """Reject an option that has no effect without another one.

    Raises:
        UsageError: the option is given, and the other one is not.
    """
    if given and not present:
        message = f"{option} needs {other}"
        raise click.UsageError(message)


def excludes(option: str, given: object, **others: object) -> None:
    """Reject options that have no effect beside another one, such as ``--list``.

    The other options are named by their parameters.

    Raises:
        UsageError: both are given.
    """
    for name, value in others.items():
        if given and value:
            message = f"{option} and --{name.replace('_', '-')} exclude each other"
            raise click.UsageError(message)
