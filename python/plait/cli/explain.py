"""`plait explain`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from plait._core import ScenarioError
from plait.cli.options import JSON, SEED, WORKLOAD
from plait.cli.output import print_json
from plait.cli.sheet import console
from plait.scenarios.own_workload import load_with
from plait.scenarios.scheduler import parse_choice
from plait.scenarios.units import duration_ns, moment_text
from plait.support.progress import Progress
from plait.support.tables import BARE, Cell, Content, table

if TYPE_CHECKING:
    from plait.results.result import Result

WIDTH = 110
"""Maximum columns of a decision's table."""
LEAST_FOR_VERDICT = 32
"""Minimum columns for the verdicts in the table; with fewer they stand below it."""
STYLES = {
    "chosen": "bold green",
    "available": "",
    "temporarily-unavailable": "yellow",
    "definitely-unavailable": "red",
}
MEANING = """
chosen: the decision names the path
passed over, available: the path could have sent a segment at once
temporarily unavailable: an acknowledgement, a write or a decision has to come first
definitely unavailable: the path's state forbids it
cwnd left: cwnd less segments in flight, lost and queued; facts are from before the decision
""".strip()


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--at", required=True, metavar="TIME", help="Begin at this time, such as 1.2s.")
@click.option(
    "--scheduler",
    "name",
    metavar="NAME",
    help="NAME, NAME:parameter=value:…, or FILE.py:CLASS:parameter=value:… instead of the scenario's.",
)
@SEED
@WORKLOAD
@click.option("--count", type=click.IntRange(min=1), help="Number of decisions; default: 1.")
@click.option("--until", metavar="TIME", help="Print all decisions up to this time.")
@click.option("--path", metavar="NAME", help="Only decisions that name this path.")
@click.option("--token", metavar="HEX", help="The connection to explain, for a kernel's log of several.")
@JSON
def explain(
    file: Path,
    at: str,
    name: str | None,
    seed: int | None,
    workload: str | None,
    count: int | None,
    until: str | None,
    path: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Explain decisions: the facts of the scheduler, and which paths could send.

    Simulates FILE until just after TIME, and prints the first decision from TIME on. FILE may be a
    folder of `plait send --record` or `plait run --out --decisions`; then the decision is one of
    that run. FILE may also be a log NAME.bin of `plait-mptcp log --out`; then TIME counts from the
    connection's first decision.
    """
    from plait.runs.decisions import Question, look_up, look_up_recorded, read_kernel_log

    if count is not None and until is not None:
        message = "--count and --until exclude each other"
        raise ScenarioError(message)
    question = Question(
        at=_moment("--at", at),
        count=count or 1,
        until=None if until is None else _moment("--until", until),
        path=path,
    )
    if file.suffix == ".bin":
        _has_its_own(
            f"{file} is a kernel's log", ("--scheduler", name), ("--seed", seed), ("--workload", workload)
        )
        answer = look_up_recorded(read_kernel_log(file, _token(token)), question)
    elif token is not None:
        message = f"--token {token}: {file} is no log of plait-mptcp (NAME.bin)"
        raise ScenarioError(message)
    elif file.is_dir():
        _has_its_own(f"{file} is a folder of results", ("--workload", workload))
        answer = look_up_recorded(_recorded(file, name, seed), question)
    else:
        choice = None if name is None else parse_choice(name)
        with Progress("simulating") as progress:
            scenario = load_with(workload, file)
            answer = look_up(scenario, question, scheduler=choice, seed=seed, progress=progress.update)
    document = answer.document()
    if as_json:
        print_json(document)
        return
    _print(document)


def _has_its_own(what: str, *options: tuple[str, object]) -> None:
    """Refuse options for a run that was made before.

    Raises:
        ScenarioError: an option is given.
    """
    for option, given in options:
        if given is not None:
            message = f"{option} {given}: {what}, which has its own"
            raise ScenarioError(message)


def _recorded(folder: Path, name: str | None, seed: int | None) -> Result:
    """Return the run in a folder; if there are several, the one with this scheduler and seed.

    Raises:
        ScenarioError: there is no such run, or more than one, or it has no decisions.
    """
    from plait.results.recorded import read_results
    from plait.results.result import recorded_table

    results = [
        result
        for result in read_results(folder)
        if name in (None, result.scheduler) and seed in (None, result.seed)
    ]
    if len(results) != 1:
        asked = " such runs; expected one: choose with --scheduler, --seed, or the run's own folder"
        message = f"{folder}: {len(results) or 'no'}{asked}"
        raise ScenarioError(message)
    if recorded_table(results[0].run, "decisions") is None:
        message = (
            f"{folder}: no decisions were recorded; plait run --out --decisions and plait send --record do"
        )
        raise ScenarioError(message)
    return results[0]


def _token(text: str | None) -> int | None:
    try:
        return None if text is None else int(text, 16)
    except ValueError:
        message = f"--token {text}: no token; expected: hexadecimal digits, as `ss -Mi` shows them"
        raise ScenarioError(message) from None


def _moment(option: str, text: str) -> int:
    try:
        return duration_ns(text)
    except ScenarioError as error:
        message = f"{option}: {error}"
        raise ScenarioError(message) from error


def _print(document: dict[str, Any]) -> None:
    output = console()
    width = min(output.width, WIDTH)

    def line(text: str, style: str = "") -> None:
        output.print(text, style=style, width=width, highlight=False, markup=False)

    seed = None if document["seed"] is None else f"seed {document['seed']}"
    line(", ".join(one for one in (document["scenario"], document["scheduler"], seed) if one is not None))
    for decision in document["decisions"]:
        line("")
        line(f"{moment_text(decision['time_ns'])}  {_decided(decision)}", "bold")
        _print_paths(decision, output, width)
        line(_connection(decision))
        if decision["reason"] is not None:
            line(f"reason: {decision['reason']}")
    line("")
    line(_neighbours(document), "dim")
    line(MEANING, "dim")


def _decided(decision: dict[str, Any]) -> str:
    """Describe the decision in words."""
    path, segment, segments, until = (
        decision[key] for key in ("path", "segment", "segments", "wait_until_ns")
    )
    amount = f"segment {segment}" if segments == 1 else f"{segments} segments, from {segment} on,"
    words = {
        "assign": f"assign {amount} to {path}",
        "reinject": f"reinject a copy of segment {segment} on {path}",
        "recall": f"recall the segments queued on {path}",
        "limit": f"lift the limit of {path}" if segments is None else f"limit {path} to {segments} in flight",
        "penalize": f"penalize {path}: halve its congestion window",
        "defer": "defer the stream at the head: the others go first",
        "wait": "wait" if until is None else f"wait, until {moment_text(until)} at most",
    }
    return words[decision["decision"]]


def _columns(decision: dict[str, Any]) -> dict[str, list[str]]:
    """Return the facts of the paths for people, by heading.

    Columns that few schedulers need are left out if they have no value.
    """
    paths = decision["paths"]
    columns = {
        "path": [one["path"] for one in paths],
        "state": [one["state"] for one in paths],
        "srtt (ms)": [_ms(one["srtt_ns"]) for one in paths],
        "forward delay (ms)": [_ms(one["forward_delay_ns"]) for one in paths],
        "cwnd": [_count(one["cwnd"]) for one in paths],
        "ssthresh": [_count(one["ssthresh"]) for one in paths],
        "limit": [_count(one["limit"]) for one in paths],
        "in flight": [_count(one["in_flight"]) for one in paths],
        "queued": [_count(one["queued"]) for one in paths],
        "cwnd left": [_count(one["cwnd_left"]) for one in paths],
    }
    optional = ("forward delay (ms)", "limit")
    return {name: cells for name, cells in columns.items() if name not in optional or set(cells) != {"–"}}


def _print_paths(decision: dict[str, Any], output: Console, width: int) -> None:
    """Print a row per path, ending with its verdict; on narrow terminals verdicts stand below."""
    columns = _columns(decision)
    verdicts = [Text(_verdict(one, decision), style=STYLES[one["kind"]]) for one in decision["paths"]]
    words = [place for place, heading in enumerate(columns) if heading in ("path", "state")]
    rows: list[Sequence[Cell]] = [
        [Text(column[row]) for column in columns.values()] for row in range(len(verdicts))
    ]
    content = Content([*columns], rows, words)
    whole_widths = content.widths(sys.maxsize, BARE) or []
    beside = width - sum(one + BARE.gap for one in whole_widths) >= LEAST_FOR_VERDICT
    if beside:
        whole = [[*row, verdict] for row, verdict in zip(rows, verdicts, strict=True)]
        content = Content([*columns, "verdict"], whole, [*words, len(columns)])
    output.print(table(content, width, style=BARE), width=width, highlight=False)
    if not beside:
        for one, verdict in zip(decision["paths"], verdicts, strict=True):
            output.print(Text.assemble(f"{one['path']}: ", verdict), width=width, highlight=False)


def _verdict(path: dict[str, Any], decision: dict[str, Any]) -> str:
    """Describe in words the reason for which the path was chosen or not."""
    name = path["verdict"]
    if name == "chosen":
        ahead = decision["decision"] == "assign" and decision["segments"] > path["cwnd_left"]
        return "chosen, to wait in its queue" if ahead else "chosen"
    occupied = f"{path['in_flight']} of {path['cwnd']} in flight"
    if path["queued"]:
        occupied = f"{path['in_flight']} in flight + {path['queued']} queued of {path['cwnd']}"
    words = {
        "passed-over": "passed over",
        "open": "available",
        "not-established": "not established",
        "failed": "failed",
        "potentially-failed": "potentially failed",
        "backup": "backup while an active path works",
        "nothing-to-send": "nothing to send",
        "carries-segment": "carries the segment already",
        "recovery": "in loss recovery",
        "congestion-window": f"congestion window full ({occupied})",
        "limit": f"the scheduler's limit of {path['limit']} reached",
        "receiver-window": "receiver's window full",
    }
    text = words.get(name, name)
    return text if path["kind"] == "available" else f"{path['kind'].replace('-', ' ')}: {text}"


def _connection(decision: dict[str, Any]) -> str:
    """Describe the connection's facts in one line."""
    unassigned = "endless" if decision["unassigned"] is None else decision["unassigned"]
    oldest = "none in flight"
    if decision["oldest_unacked"] is not None:
        oldest = f"{decision['oldest_unacked']} on {decision['oldest_unacked_path']}"
    facts = [f"unassigned {unassigned}", f"receiver's window left {decision['window_left']}"]
    if decision["send_buffer_left"] is not None:
        facts.append(f"send buffer left {decision['send_buffer_left']}")
    return "segments: " + ", ".join([*facts, f"oldest unacknowledged {oldest}"])


def _neighbours(document: dict[str, Any]) -> str:
    before, after = document["previous_ns"], document["next_ns"]
    shown = document["decisions"]
    first = "no decision before" if before is None else f"decision before: {_when(before, shown[0])}"
    last = "none after" if after is None else f"after: {_when(after, shown[-1])}"
    return f"{first}, {last}"


def _when(moment: int, shown: dict[str, Any]) -> str:
    return "at the same moment" if moment == shown["time_ns"] else moment_text(moment)


def _ms(nanoseconds: int | None) -> str:
    """Format milliseconds for people: four digits, at most two of them after the point."""
    if nanoseconds is None:
        return "–"
    value = nanoseconds / 1e6
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def _count(amount: int | None) -> str:
    return "–" if amount is None else f"{amount}"
