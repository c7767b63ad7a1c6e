"""The runs of a validation, as a frame with a row per run and metric; what the kernel did can be kept."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from plait import _core
from plait._core import RunError
from plait.files import make_folder, write_text
from plait.linux import kernel
from plait.linux.plan import make_plan
from plait.run import Task, run_tasks
from plait.scheduler import override, parse_choice
from plait.validate.cases import Case, Validation
from plait.validate.metrics import values

SHAKEN = "sim, shaken"
"""The engine's name of runs with delays changed by next to nothing."""
SHAKES = 6
"""How many of these there are where chance has no part."""
SCHEMA = {
    "case": pl.String,
    "scheduler": pl.String,
    "engine": pl.String,
    "seed": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Order:
    """One run of the kernel."""

    case: Case
    scheduler: str
    seed: int

    def task(self) -> Task:
        """What is run."""
        choice = parse_choice(self.scheduler)
        return Task(scenario=self.case.scenario, scheduler=choice, seed=self.seed)

    def key(self) -> str:
        """Changes with whatever changes what the kernel does.

        Raises:
            ScenarioError: the kernel cannot do it. RunError: there is no kernel.
        """
        task = self.task()
        choice = override(task.scheduler).built_in
        job = _core.Job(self.case.scenario.json, scheduler=choice, seed=self.seed)
        text = make_plan(job).to_json() + kernel.identity()
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Failure:
    """A run of the kernel that failed."""

    case: str
    scheduler: str
    seed: int
    reason: str


class Stopped(Exception):  # noqa: N818 - no error
    """The run is not wanted any more."""


def measure(
    validation: Validation,
    *,
    keep: Path | None = None,
    resume: bool = False,
    threads: int = 0,
    progress: Callable[[float], None] | None = None,
) -> tuple[pl.DataFrame, list[Failure]]:
    """Run every case on both engines.

    Args:
        validation: the cases.
        keep: a folder for the kernel's results, one file each.
        resume: take from there what the same kernel made of the same scenario.
        threads: runs at a time, 0 for one per core.
        progress: called with the share of the kernel's runs that is done.

    Returns:
        A frame with columns case, scheduler, engine, seed, metric, value, the engine being linux, sim, or `SHAKEN` (for
        the cases without random losses); and the runs of the kernel that failed.

    Raises:
        ScenarioError: a scenario is not valid. RunError: the simulator failed, or there is no kernel.
    """
    kernel.require()
    tasks, rows = [], []
    for case in validation.cases:
        for scheduler in case.schedulers:
            for seed in range(1, case.simulator_seeds + 1):
                choice = parse_choice(scheduler)
                tasks.append(Task(scenario=case.simulated, scheduler=choice, seed=seed))
                rows.append((case.id, scheduler, "sim", seed))
            for index in range(1, SHAKES + 1 if case.seeds == 1 else 1):
                tasks.append(Task(scenario=case.shaken(index), scheduler=parse_choice(scheduler), seed=1))
                rows.append((case.id, scheduler, SHAKEN, index))
    found = []
    for row, result in zip(rows, run_tasks(tasks, threads=threads), strict=True):
        found += _rows(*row, result.data)
    orders = [
        Order(case, scheduler, seed)
        for case in validation.cases
        for scheduler in case.schedulers
        for seed in range(1, case.seeds + 1)
    ]
    documents, failures = _kernel_runs(orders, keep, resume, threads, progress)
    for order in orders:
        if order in documents:
            found += _rows(order.case.id, order.scheduler, "linux", order.seed, documents[order])
    return pl.DataFrame(found, schema=SCHEMA, orient="row"), failures


def _rows(case: str, scheduler: str, engine: str, seed: int, run: Any) -> list[tuple[Any, ...]]:
    return [(case, scheduler, engine, seed, name, value) for name, value in values(run).items()]


def _kernel_runs(
    orders: Sequence[Order],
    keep: Path | None,
    resume: bool,
    threads: int,
    progress: Callable[[float], None] | None,
) -> tuple[dict[Order, Any], list[Failure]]:
    """The documents of the kernel's runs; each is kept as soon as it is there."""
    if keep is not None:
        make_folder(keep)
    documents: dict[Order, Any] = {}
    failures: list[Failure] = []
    files = {order: (keep or Path()) / f"{order.key()}.json" for order in orders}
    for order, file in files.items():
        if keep is not None and resume and file.is_file():
            documents[order] = json.loads(file.read_text(encoding="utf-8"))
    shares = [1.0 if order in documents else 0.0 for order in orders]
    stop = threading.Event()

    def make(index: int) -> Any:
        def watch(share: float) -> None:
            shares[index] = share
            if stop.is_set():
                raise Stopped

        watch(0.0)
        document = run_tasks([orders[index].task()], threads=1, engine="linux", progress=watch)[0].data
        if keep is not None:
            write_text(files[orders[index]], json.dumps(document, ensure_ascii=False) + "\n")
        return document

    workers = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        futures = {pool.submit(make, index): orders[index] for index, share in enumerate(shares) if share < 1}
        try:
            for future in as_completed(futures):
                order = futures[future]
                try:
                    documents[order] = future.result()
                except RunError as error:
                    failures.append(Failure(order.case.id, order.scheduler, order.seed, str(error)))
                if progress is not None:
                    progress(sum(shares) / len(shares))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return documents, failures
