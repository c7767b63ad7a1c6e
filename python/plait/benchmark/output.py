"""A folder of results: rows of runs, the scores as JSON, a page, and the worst cases as scenarios."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from plait.benchmark import tables
from plait.benchmark.bench import Bench
from plait.benchmark.runs import BOUND
from plait.benchmark.scores import Case
from plait.benchmark.suite import REPETITIONS, amounts
from plait.reports.page import page
from plait.reports.reading import Rows
from plait.reports.sweeps import dataset_page
from plait.results.summary import count
from plait.scenarios.text import scenario_text
from plait.support.files import parquet, whole_file, write_text

CASES = "cases"
BEST_RATIO, BOUND_RATIO = "ratio to the best known value", "ratio to the bound"


def write(found: Bench, folder: Path) -> Path:
    """Write the files, and return the page's one.

    Raises:
        OutputError: the folder is not writable.
    """
    with whole_file(folder / "runs.parquet") as temporary:
        temporary.write_bytes(parquet(found.rows))
    write_text(folder / "bench.json", json.dumps(found.document(), indent=1, ensure_ascii=False) + "\n")
    (folder / CASES).mkdir(exist_ok=True)
    for case in found.worst:
        text = scenario_text(case.point.table, f"{found.title}, point {case.point.id}")
        write_text(case_file(case, folder), text)
    place = folder / "bench.html"
    write_text(place, page(_content(found, folder)))
    return place


def case_file(case: Case, folder: Path) -> Path:
    """Return the scenario file of a case."""
    return folder / CASES / f"{case.point.id}.toml"


def command(found: Bench, case: Case, folder: Path) -> str:
    """Return the command that repeats a case and the best known result there."""
    names = [found.texts.get(one, one) for one in dict.fromkeys([case.scheduler, case.best_scheduler])]
    file = str(case_file(case, folder))
    return shlex.join(
        ["plait", "compare", file, "--schedulers", ",".join(names), "--seeds", str(REPETITIONS)]
    )


def _content(found: Bench, folder: Path) -> dict[str, Any]:
    """Return the input of the page's template: a dataset's page, and the tables before it."""
    scores, labels = found.scores, list(found.texts)
    keys = ["domain", "point", "scheduler"]
    places = pl.DataFrame(
        [{"domain": one.domain, "point": one.number, **amounts(one)} for one in found.points]
    )
    frames = [
        places.with_columns(
            pl.lit(label).alias("scheduler"),
            pl.Series(BEST_RATIO, scores.of_best(label)),
            pl.Series(BOUND_RATIO, np.minimum(scores.ratio(label, scores.values[BOUND]), 1.0)),
        )
        for label in labels
    ]
    errors = found.rows.group_by(keys).agg(pl.col("error").drop_nulls().first())
    frame = pl.concat(frames).join(errors, on=keys, how="left", maintain_order="left")
    numbered = frame.with_columns(seed=pl.lit(1), point=pl.struct("domain", "point").rank("dense"))
    variables = [name for name in places.columns if name != "point"]
    better = [{"name": name, "better": "more"} for name in (BEST_RATIO, BOUND_RATIO)]
    rows = Rows(numbered.with_row_index(), variables, labels, {"name": found.title, "metric": better})
    return dataset_page(rows) | {
        "kind": "bench",
        "summary": f"{count(len(found.points), 'point')}, {count(REPETITIONS, 'repetition')} of each, results of "
        f"{count(len(scores.known), 'scheduler')} there",
        "headings": tables.headings(found),
        "groups": tables.groups(found),
        "case_headings": [*tables.CASE_HEADINGS, "again"],
        "cases": [[*tables.case_line(one), command(found, one, folder)] for one in found.worst],
        "terms": tables.TERMS,
        "definitions": [],
        "plan": [
            (key, [str(value)]) for key, value in found.document().items() if not isinstance(value, list)
        ],
        "plan_json": None,
    }
