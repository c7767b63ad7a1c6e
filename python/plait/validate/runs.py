"""The runs of a validation, as a frame with a row per run and metric; results can be stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl

from plait.engines.names import EngineName
from plait.linux import kernel
from plait.results.result import Result
from plait.runs.checkpoint import Checkpoint
from plait.runs.experiment import run_each
from plait.runs.run import Task
from plait.support.progress import part
from plait.validate.cases import Case, Validation
from plait.validate.enough import kernel_runs
from plait.validate.metrics import counted, values

SCHEMA = {
    "case": pl.String,
    "scheduler": pl.String,
    "engine": pl.String,
    "seed": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
}
OUTCOMES = {
    "case": pl.String,
    "scheduler": pl.String,
    "engine": pl.String,
    "seed": pl.Int64,
    "kind": pl.String,
    "reason": pl.String,
}

Kind = Literal["refused", "fell back to TCP", "failed"]


@dataclass(frozen=True)
class Outcome:
    """A run without metrics: the engine refused it, MPTCP fell back to TCP, or it failed."""

    case: str
    scheduler: str
    engine: str
    seed: int
    kind: Kind
    reason: str


@dataclass(frozen=True)
class Measured:
    """All runs.

    runs: columns case, scheduler, engine, seed, metric, value; the engine is linux or sim. The
    kernel's own counters are metrics too, such as ``sender.TcpExt.TCPTimeouts``. outcomes: the runs
    without metrics.
    """

    runs: pl.DataFrame
    outcomes: tuple[Outcome, ...] = ()

    @property
    def failures(self) -> list[Outcome]:
        """Failed runs, which should have had metrics."""
        return [one for one in self.outcomes if one.kind == "failed"]

    def outcome_table(self) -> pl.DataFrame:
        """The outcomes as a frame."""
        return pl.DataFrame([vars(one) for one in self.outcomes], schema=OUTCOMES, orient="row")

    @staticmethod
    def of(runs: pl.DataFrame, outcomes: pl.DataFrame) -> Measured:
        """Read the frames as they were written."""
        return Measured(runs, tuple(Outcome(**row) for row in outcomes.to_dicts()))


Document = Mapping[str, Any]
"""The values of a run by metric, or the kind and the reason of an outcome."""


def measure(
    validation: Validation,
    *,
    keep: Path | None = None,
    resume: bool = False,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Measured:
    """Run every case on both engines; a refused or failed run is an outcome, and others continue.

    Args:
        validation: the cases.
        keep: a folder for the runs, a file per engine.
        resume: use the runs in that folder that the same engine made of the same scenario.
        threads: number of parallel runs, 0 for one per core.
        progress: called with the completed share of the work.

    Raises:
        ScenarioError: a scenario is not valid. RunError: there is no kernel.
    """
    kernel.require()
    pairs = [(case, scheduler) for case in validation.cases for scheduler in case.schedulers]
    rows: list[tuple[Any, ...]] = []
    outcomes: list[Outcome] = []

    def run(engine: EngineName, counts: Sequence[int], told: Callable[[float], None]) -> list[Document]:
        tasks = [
            task(case, scheduler, engine, seed)
            for (case, scheduler), count in zip(pairs, counts, strict=True)
            for seed in range(1, count + 1)
        ]
        documents = run_each(
            tasks,
            _document,
            engine=engine,
            threads=threads,
            progress=told,
            checkpoint=None if keep is None else Checkpoint(keep / f"{engine}.jsonl", engine, resume=resume),
            failed=lambda kind, reason: {"kind": kind, "reason": reason},
        )
        for one, document in zip(tasks, documents, strict=True):
            place = tuple(one.labels.values())
            if "kind" in document:
                outcomes.append(Outcome(*place, **document))
            rows.extend((*place, name, value) for name, value in document.get("values", {}).items())
        return documents

    # The simulator's runs are short: they count as a fifth of the progress.
    count = validation.runs.simulator
    simulated = iter(run("sim", [count] * len(pairs), part(progress, 0.0, 0.2)))
    counts = [kernel_runs(validation, list(islice(simulated, count))) for _ in pairs]
    run("linux", counts, part(progress, 0.2, 1.0))
    return Measured(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tuple(outcomes))


def task(case: Case, scheduler: str, engine: EngineName, seed: int) -> Task:
    """Return the run of a case with a scheduler and a seed, from 1, as a repetition.

    Every case is perturbed, even if the network draws random numbers: losses may be so rare that
    most runs have none, and these would be identical.
    """
    return Task(
        scenario=case.simulated if engine == "sim" else case.scenario,
        scheduler=scheduler,
        seed=seed,
        perturb=True,
        labels={"case": case.id, "scheduler": scheduler, "engine": engine, "seed": seed},
    )


def _document(result: Result) -> Document:
    if result.fallback is not None:
        return {"kind": "fell back to TCP", "reason": result.fallback}
    # Only runs of the kernel have counters.
    return {"values": {**values(result.data), **counted(result.data)}}
