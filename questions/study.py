"""A question as data: runs of its families of scenarios, as one frame with a row per run.

``questions/<name>/question.toml`` has families in the form of papers (`plait.papers.family`), but
their schedulers may be templates as well. It also has the wanted `metrics`. Several seeds are
repetitions (`plait.scenarios.repetition`). Each question has a module that judges the rows.

The frame of the rows has variables, seed and metrics. The module returns tables, values and
figures, and `answer.py` writes them into `docs/questions`, so no number there is typed. Recorded
links are not part of the repository: their folder is an argument.

To add a question: a folder with `question.toml` and scenarios, a module, a line in
`questions/answer.py`, and a page in `docs/questions` with places for tables and values. An answer
takes at most two minutes on two cores, has intervals wherever chance is involved, and states the
counter-arguments.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import plait
from plait.papers.family import expand
from plait.results.metrics import metric_if_known
from plait.results.result import Result
from plait.runs.experiment import frame
from plait.runs.run import Task
from plait.scenarios.scheduler import parse_choice
from plait.scenarios.template import fill
from plait.statistics.estimate import Estimate

HERE = Path(__file__).resolve().parent


class MissingInputError(plait.ScenarioError):
    """An input of a question is not on this machine."""


@dataclass(frozen=True)
class Answer:
    """The answer to a question: Markdown tables, values for sentences, and figures, by name."""

    tables: Mapping[str, str]
    values: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)


def measure(
    folder: Path,
    given: Mapping[str, str] | None = None,
    *,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> pl.DataFrame:
    """Make a question's runs: one row each, with its variables, its seed and the metrics.

    Args:
        folder: folder of `question.toml` and the scenario files.
        given: further variables for the templates, such as the folder of recordings.
        threads: 0 for one per core.
        progress: called with the completed share of the runs.

    Raises:
        ScenarioError: the question or a scenario is not valid. RunError: a run failed.
    """
    question = tomllib.loads((folder / "question.toml").read_text(encoding="utf-8"))
    tasks = []
    for family in question["family"]:
        first = [{key: [value]} for key, value in (given or {}).items()]
        for case in expand({**family, "axis": first + family.get("axis", [])}, folder):
            for label in case["schedulers"]:
                for member in case["members"]:
                    variables = {
                        key: one for key, one in member.variables.items() if key not in (given or {})
                    }
                    task = Task(
                        scenario=plait.load(case["file"], member.changes),
                        scheduler=parse_choice(fill(label, member.variables)),
                        seed=member.seed,
                        perturb=member.seed is not None,
                        labels={"family": case["id"], **variables, "seed": member.seed},
                    )
                    tasks.append(task)

    def read(result: Result) -> dict[str, float | None]:
        flows = {f"flows.{flow['name']}.goodput_bps": flow["goodput_bps"] for flow in result.flows}
        return {name: metric_if_known(result, name) for name in question["metrics"]} | flows

    return frame(tasks, read, threads=threads, progress=progress)


def change(runs: pl.DataFrame, base: pl.DataFrame, pair: Sequence[str], name: str) -> pl.DataFrame:
    """Add a column `change`: percent by which a metric is above that of the paired run.

    That run is the one in `base` with the same values of `pair`.
    """
    other = base.select(*pair, pl.col(name).alias("base")).unique(pair, keep="any")
    return runs.join(other, on=list(pair), nulls_equal=True).with_columns(
        ((pl.col(name) / pl.col("base") - 1) * 100).alias("change")
    )


def values(frame: pl.DataFrame, name: str) -> list[float]:
    """Return a column without its nulls."""
    return [float(one) for one in frame[name].drop_nulls().to_list()]


def written(number: float, decimals: int = 0, *, signed: bool = False) -> str:
    """Format a number for people."""
    if not np.isfinite(number):
        return "–"
    rounded = round(number, decimals) + 0.0  # no −0
    return f"{rounded:{'+' if signed and rounded else ''}.{decimals}f}".replace("-", "−")


def with_interval(found: Estimate, decimals: int = 0, *, signed: bool = False) -> str:
    """Format a value, with its confidence interval in parentheses."""
    value = written(found.value, decimals, signed=signed)
    if found.interval is None:
        return value
    low, high = (written(one, decimals, signed=signed) for one in found.interval)
    return value if low == high == value else f"{value} ({low} … {high})"


def named(rows: Mapping[str, Any]) -> str:
    """Format names as code, with commas; a dash for none."""
    return ", ".join(f"`{row}`" for row in rows) or "–"
