"""A comparison and a sweep for the tests of reports."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

import plait
from plait.runs import experiment
from plait.runs.run import Task
from plait.sweep import Dataset, read

SCHEDULERS = ["round-robin", "redundant"]


def scenario(rtt: float = 80, buffer: str = "60kB", loss: str = "2%") -> plait.Scenario:
    return plait.Scenario(
        name="two <paths>",
        duration="3s",
        warmup="500ms",
        transport=plait.Transport(protocol="mptcp", profile="standard", receive_buffer=buffer),
        paths=[
            plait.Path(name="fast", rate="2Mbit", rtt="20ms", queue="50p"),
            plait.Path(name="slow", rate="1Mbit", rtt=rtt / 1e3, queue="50p", loss=loss),
        ],
    )


def compared() -> plait.Comparison:
    return plait.compare(scenario(), SCHEDULERS, packets=True, series="10ms", decisions=True)


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns metrics by dotted name."""
    row: dict[str, Any] = {}
    for key, value in table.items():
        row |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return row


def make_dataset(folder: Path) -> Dataset:
    """Builds a small sweep: all combinations of three variables; one run fails."""
    tasks = [
        Task(
            scenario=scenario(rtt, buffer, f"{loss}%"),
            scheduler=scheduler,
            seed=seed,
            labels={
                "point": point,
                "seed": seed,
                "scheduler": scheduler,
                "rtt_ms": rtt,
                "buffer": buffer,
                "loss": loss,
            },
        )
        for point, (rtt, buffer, loss) in enumerate(product([20.0, 100.0, 300.0], ["20kB", "100kB"], [0, 3]))
        for seed, scheduler in product([1, 2], SCHEDULERS)
    ]

    def values(result: plait.Result) -> dict[str, Any]:
        paths = {f"paths.{one['name']}.throughput_bps": one["throughput_bps"] for one in result.paths}
        return {"error": None, **flat(dict(result.metrics)), **paths}

    frame = experiment.frame(tasks, values).with_row_index("index")
    metrics = [name for name in frame.columns if name not in ("index", *tasks[0].labels, "error")]
    failed = pl.col("index") == 7
    frame = frame.with_columns(
        pl.when(failed).then(pl.lit("it <broke>")).alias("error"),
        *(pl.when(~failed).then(pl.col(name)).alias(name) for name in metrics),
    )
    folder.mkdir()
    frame[:20].write_parquet(folder / "part-00000000.parquet")
    frame[20:].write_parquet(folder / "part-00000001.parquet")
    plan = {
        "name": "small",
        "version": "0.1.0",
        "labels": SCHEDULERS,
        "runs": len(frame),
        "variables": ["rtt_ms", "buffer", "loss"],
        "metrics": metrics,
    }
    (folder / "_plan.json").write_text(
        json.dumps(plan | {"seeds": [1, 2], "scenario": json.loads(scenario().json)})
    )
    return read(folder)
