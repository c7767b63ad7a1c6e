"""`plait replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from plait._core import ScenarioError
from plait.cli.options import ENGINE, JSON, OUT, SEED, THREADS
from plait.cli.output import print_json, print_tables, say
from plait.cli.sheet import console
from plait.engines.names import EngineName
from plait.support.progress import Progress
from plait.support.tables import NONE, Content, table

if TYPE_CHECKING:
    from plait.recordings.replay import Difference
    from plait.results.result import Result

MEANING = """
difference: the replay's, in per cent of the transfer's; of values in per cent, in points
round trip: of packets; the receiver's own waiting is not in it
""".strip()


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--schedulers",
    "names",
    metavar="A,B,…|all",
    help="Run these schedulers on the same links, beside the recorded one.",
)
@click.option(
    "--scenario",
    "place",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the scenario there, for plait run; JSON if the name ends in .json, else TOML.",
)
@SEED
@ENGINE
@JSON
@OUT
@THREADS
def replay(
    folder: Path,
    names: str | None,
    place: Path | None,
    seed: int | None,
    engine: EngineName,
    as_json: bool,
    out: Path | None,
    threads: int,
) -> None:
    """Run a recorded transfer again in the simulator, and print the differences.

    FOLDER is an output of `plait send --record`. The links are estimated from acknowledgements.
    """
    from plait.cli.run import choices_of
    from plait.recordings.replay import differences, document
    from plait.recordings.replay import replay as run_again
    from plait.results.writing import write_results
    from plait.support.files import make_folder

    recorded = _recorded(folder)
    if place is not None:
        _write_scenario(recorded, place)
    if out is not None:
        make_folder(out)
    others = [one for one in choices_of(names) if one is not None] if names else []
    with Progress("replaying") as progress:
        runs = run_again(
            recorded, others, seed=seed, engine=engine, threads=threads, progress=progress.update
        )
    if out is not None:
        say(f"wrote {len(write_results(list(runs), out))} files below {out}")
    if as_json:
        print_json(document(recorded, runs))
        return
    _print_differences(recorded, runs[0], differences(recorded, runs[0]))
    if len(runs) > 1:
        print_tables([list(runs)])


def _recorded(folder: Path) -> Result:
    """Return the one recorded transfer in a folder.

    Raises:
        ScenarioError: there is none, or more than one.
    """
    from plait.results.recorded import read_results

    results = read_results(folder)
    if len(results) != 1:
        message = f"{folder}: {len(results)} runs; expected one: name the run's own folder below it"
        raise ScenarioError(message)
    return results[0]


def _write_scenario(recorded: Result, place: Path) -> None:
    from plait.scenarios.text import scenario_text
    from plait.support.files import write_text

    text = f"{recorded.scenario_json or '{}'}\n"
    if place.suffix != ".json":
        comment = f"Links as they were by a recording of {recorded.scenario}"
        text = scenario_text(json.loads(text), comment)
    write_text(place, text)
    say(f"wrote {place}")


def _print_differences(recorded: Result, replayed: Result, found: list[Difference]) -> None:
    output = console()
    headings = ["", "unit", "happened", "replayed", "difference"]
    rows = [
        [
            Text(cell)
            for cell in (one.what, one.unit, _number(one.recorded), _number(one.replayed), _signed(one))
        ]
        for one in found
    ]
    title = f"{recorded.scenario}, {recorded.scheduler}; replayed with {replayed.scheduler}"
    output.print(table(Content(headings, rows, [0, 1]), output.width, title=title), highlight=False)
    for text in recorded.warnings:
        output.print(text, style="dim", highlight=False)
    output.print(MEANING, style="dim", highlight=False)


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.4g}"


def _signed(one: Difference) -> str:
    if one.difference is None:
        return NONE
    text = f"{one.difference:+.1f}".replace("-", "−")
    return f"{text} points" if one.share else f"{text} %"
