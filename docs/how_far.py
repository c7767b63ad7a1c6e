"""Makes `docs/how-far.md`: how far schedulers are from bounds and best schedules: `make how-far`.

An interrupted run continues. The raw rows are in `results/how-far`: `runs.parquet` and
`points.parquet`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click
import polars as pl

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from studies import distances  # noqa: E402
from studies.distances import Distances  # noqa: E402
from studies.domains import Domain, Place, domains, even  # noqa: E402

from plait import bound, plots  # noqa: E402
from plait.benchmark.bench import labelled  # noqa: E402
from plait.benchmark.runs import JOURNAL, forget, measured  # noqa: E402
from plait.cli.errors import guarded  # noqa: E402
from plait.engines import core_hash  # noqa: E402
from plait.runs.oracle import oracle  # noqa: E402
from plait.scenarios.scheduler import ALL  # noqa: E402
from plait.support.files import make_folder, parquet, whole_file, write_text  # noqa: E402
from plait.support.pages import fill  # noqa: E402
from plait.support.progress import Progress  # noqa: E402
from plait.sweep.journal import Journal, Row  # noqa: E402
from plait.sweep.planned_scheduler import PlannedScheduler  # noqa: E402

PAGE = HERE / "how-far.md"
IMAGES = HERE / "images"
FOLDER = HERE.parent / "results" / "how-far"
SETTINGS = (
    "redundant:mode=opportunistic",
    "redundant:mode=when-idle",
    "xlink:mode=deadline",
    "lowest-rtt+rp",
    "lowest-rtt+bm",
)
"""Settings of built-in schedulers that run beside all defaults, as in the league."""
EVALUATIONS = 300
"""Runs of each search, so that its result does not depend on the machine."""
UNLIMITED = 1e6
"""Seconds that never end a search."""
POINTS = {
    "domain": pl.String,
    "point": pl.Int64,
    "bound": pl.String,
    "limit": pl.Float64,
    "joint": pl.Float64,
    "oracle": pl.Float64,
}
Told = Callable[[float], None]


def runs_of(domain: Domain, threads: int, progress: Told) -> pl.DataFrame:
    """Make the runs of all schedulers at a domain's points."""
    planned = [PlannedScheduler(*one) for one in labelled([ALL, *SETTINGS]).items()]
    return measured(domain.points, planned, threads=threads, folder=FOLDER, progress=progress)


def searched(points: Sequence[Place], evaluations: int, threads: int, progress: Told) -> list[float | None]:
    """Search the best schedule of each point, and return its value.

    A search that ended in an earlier call of the same code is not repeated.
    """
    told = hashlib.sha256(f"{core_hash()} {evaluations}".encode())
    for one in points:
        told.update(one.scenario.json.encode())
    journal = Journal(FOLDER / f"{JOURNAL}oracle-{told.hexdigest()[:16]}")
    found = journal.read()
    journal.replace(found)
    for index, one in enumerate(points):
        if index not in found:
            best = oracle(one.scenario, seconds=UNLIMITED, evaluations=evaluations, threads=threads)
            found[index] = Row(None, json.dumps(best.value))
            journal.append(index, found[index])
        progress((index + 1) / len(points))
    journal.close()
    return [json.loads(found[index].values or "null") for index in range(len(points))]


def places(domain: Domain, found: dict[tuple[str, int], float | None]) -> pl.DataFrame:
    """Return the bounds of a domain's points, beside the values of the searches."""
    rows = []
    for point in domain.points:
        given = [one for one in bound(point.scenario) if one.metric == point.metric]
        valid = [one for one in given if one.valid]
        # Of equal bounds, the one with the fewest assumptions.
        name = min((one.name for one in valid if one.value == valid[0].value), default=None)
        limit = valid[0].value if valid else None
        joint = next((one.value for one in given if one.name == distances.JOINT), None)
        rows.append((*place(point), name, limit, joint, found.get(place(point))))
    return pl.DataFrame(rows, POINTS, orient="row")


def place(point: Place) -> tuple[str, int]:
    """Return domain and number of a point."""
    return point.domain, point.number


def make(given: Sequence[Domain], evaluations: int, threads: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make all runs and searches, and return the rows of runs and of points."""
    make_folder(FOLDER)
    rows, points = [], []
    for domain in given:
        with Progress(f"running {domain.title}", lines=True) as progress:
            rows.append(runs_of(domain, threads, progress.update))
        chosen = [domain.points[at] for at in even(len(domain.points), domain.searches)]
        with Progress(f"searching {domain.title}", lines=True) as progress:
            best = searched(chosen, evaluations, threads, progress.update)
        points.append(places(domain, dict(zip(map(place, chosen), best, strict=True))))
    return pl.concat(rows), pl.concat(points)


def write(found: Distances) -> None:
    """Write the page and its figures."""
    drawn, texts = distances.diagrams(found)
    figures = {
        "how-far-ratios": distances.curves(found),
        "how-far-bounds": distances.certain(found),
        "how-far-packets": drawn,
    }
    for name, figure in figures.items():
        plots.save(figure, IMAGES / f"{name}.png")
    tables = {**distances.tables(found), **texts}
    values = {**distances.values(found), "evaluations": f"{EVALUATIONS}"}
    write_text(PAGE, fill(PAGE.read_text(encoding="utf-8"), tables, values))
    click.echo("wrote docs/how-far.md")


@click.command()
@click.option("--page", is_flag=True, help="Only write the page, from the stored rows.")
@click.option("--threads", type=click.IntRange(0), default=0, help="0 means one per core.")
def main(page: bool, threads: int) -> None:
    """Make all runs and searches, and write the page and its figures anew."""
    given = domains()
    files = [FOLDER / f"{name}.parquet" for name in ("runs", "points")]
    if not page:
        made = make(given, EVALUATIONS, threads)
        for file, frame in zip(files, made, strict=True):
            with whole_file(file) as temporary:
                temporary.write_bytes(parquet(frame))
        forget(FOLDER)
    write(Distances(given, *(pl.read_parquet(file) for file in files)))


if __name__ == "__main__":
    guarded(lambda: main(standalone_mode=False))
