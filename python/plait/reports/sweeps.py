"""The page about a dataset: variables, estimates, distributions, paired differences, winners."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from plait import _core
from plait.analysis.regions import ENOUGH
from plait.reports.chart import colours
from plait.reports.definition import definitions
from plait.reports.field import curve_chart, field_data, value_text
from plait.reports.origin import network_table, scheduler_notes, settings
from plait.reports.reading import Rows
from plait.reports.sample import Sample, difference_data, distribution_chart, estimate_table
from plait.results.summary import count, heading
from plait.scenarios.repetition import MEANING
from plait.sweep.dataset import SCENARIO, distinct_of, identical, once, with_scenario

MOST_FAILURES = 200
"""Maximum number of failed runs in the list."""
MOST_VALUES = 12
"""Maximum number of a variable's values in the list."""


def dataset_page(dataset: Rows) -> dict[str, Any]:
    """Return the input of the page's template."""
    about = dataset.about
    rows = with_scenario(dataset.frame, distinct_of(about))
    same = identical(rows.lazy(), Sample(dataset).metrics, perturbed=about.get("perturbed") is not None)
    sample = Sample(replace(dataset, frame=same.once(rows).drop(SCENARIO)))
    runs = once(dataset.frame, distinct_of(about))
    scenario = _canonical(about.get("scenario"))
    charts = [distribution_chart(sample)] if sample.shown else []
    charts += [curve_chart(sample)] if sample.shown and dataset.variables else []
    field = field_data(sample) if dataset.variables and len(sample.schedulers) > 1 else None
    field = field if field and field["metrics"] and field["maps"] else None
    failures = runs.filter(pl.col("error").is_not_null())
    return {
        "kind": "dataset",
        "title": str(about.get("name") or (scenario or {}).get("name") or "dataset"),
        "summary": _summary(runs, sample, len(failures)),
        "notes": [one for one in (_sentence(same.note), _few(sample)) if one],
        "perturbed": _sentence(MEANING) if same.perturbed else None,
        "labels": sample.schedulers,
        "schedulers": scheduler_notes(sample.schedulers),
        "definitions": definitions(),
        "metrics": [(name, heading(name)) for name in sample.shown],
        "left_out": len(sample.metrics) - len(sample.shown),
        "estimates": estimate_table(sample),
        "mapped": field is not None,
        "variables": dataset.variables,
        "variable_options": [(name, name) for name in dataset.variables],
        "ranges": [(name, [_range(sample.pairs[name])]) for name in dataset.variables],
        "counts": _counts(runs, sample),
        "failures": [
            (
                str(row["index"]),
                [
                    row["scheduler"],
                    *(value_text(row[name]) for name in dataset.variables),
                    str(row["seed"]),
                    row["error"],
                ],
            )
            for row in failures.head(MOST_FAILURES).iter_rows(named=True)
        ],
        "failed": len(failures),
        "plan": _plan(about),
        "network": network_table(scenario) if scenario else None,
        "settings": settings(scenario) if scenario else [],
        "plan_json": json.dumps(about, indent=2, ensure_ascii=False) if about else None,
        "data": {
            "colours": colours(),
            "labels": sample.schedulers,
            "charts": charts,
            "headings": {name: heading(name) for name in sample.shown},
            "ways": {name: dataset.direction(name) for name in sample.shown},
            "differences": difference_data(sample),
            "field": field,
            "enough": ENOUGH,
        },
    }


def _sentence(text: str | None) -> str | None:
    return None if text is None else f"{text[0].upper()}{text[1:]}."


def _summary(runs: pl.DataFrame, sample: Sample, failed: int) -> str:
    parts = [
        count(len(runs), "run"),
        count(len(sample.schedulers), "scheduler"),
        count(len(np.unique(sample.places.scenarios)), "point"),
        count(runs["seed"].n_unique(), "seed"),
        f"{failed:,} failed" if failed else "none failed",
    ]
    return ", ".join(parts)


def _few(sample: Sample) -> str | None:
    """Warn if there are too few points, or seeds of one point, for reliable intervals."""
    points = len(np.unique(sample.places.scenarios))
    what, number = ("points", points) if points > 1 else ("seeds", sample.dataset.frame["seed"].n_unique())
    return f"Only {count(number, what[:-1])}: too few for reliable intervals." if number < ENOUGH else None


def _canonical(scenario: Any) -> dict[str, Any] | None:
    """Return a plan's base scenario with every default; None if it is missing or incomplete."""
    if not isinstance(scenario, dict):
        return None
    try:
        return dict(json.loads(_core.Scenario(json.dumps(scenario), "scenario", ".", format="json").json))
    except _core.ScenarioError:
        return None


def _counts(runs: pl.DataFrame, sample: Sample) -> list[tuple[str, list[str]]]:
    """Return runs and failures by scheduler."""
    counts = {
        row["scheduler"]: row
        for row in runs.group_by("scheduler")
        .agg(runs=pl.len(), failed=pl.col("error").is_not_null().sum())
        .iter_rows(named=True)
    }
    none = {"runs": 0, "failed": 0}
    return [
        (name, [str(counts.get(name, none)[key]) for key in ("runs", "failed")]) for name in sample.schedulers
    ]


def _range(values: pl.Series) -> str:
    """Return a variable's values, or their range if there are many."""
    distinct = values.drop_nulls().unique(maintain_order=True)
    if len(distinct) <= MOST_VALUES:
        return ", ".join(
            value_text(value) for value in (distinct.sort() if values.dtype.is_numeric() else distinct)
        )
    if values.dtype.is_numeric():
        return f"{value_text(distinct.min())} to {value_text(distinct.max())}, {len(distinct):,} values"
    return f"{', '.join(map(str, distinct[:MOST_VALUES]))}, … ({len(distinct):,} values)"


def _plan(about: dict[str, Any]) -> list[tuple[str, list[str]]]:
    """Return the plan's one-line entries."""
    return [
        (key, [str(value)])
        for key, value in about.items()
        if isinstance(value, str | int | float) and key != "name"
    ]
