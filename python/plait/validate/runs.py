"""The runs of a validation, as a frame with a row per run and metric; results can be stored."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import polars as pl

from plait import _core
from plait._core import RunError
from plait.engines import Refused
from plait.linux import kernel
from plait.linux.plan import make_plan
from plait.runs.run import Task, run_tasks
from plait.scenarios.scheduler import override, parse_choice
from plait.support.files import make_folder, write_text
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


@dataclass(frozen=True, eq=False)
class CaseRuns:
    """Runs of a case with a scheduler: the kernel's with one seed, the simulator's up to a seed."""

    case: Case
    scheduler: str
    seed: int

    def kernel_key(self) -> str:
        """Return a key that changes with the kernel's behaviour and with the measurement of it.

        Raises:
            Refused: the kernel cannot run the case. RunError: there is no kernel.
        """
        choice = override(parse_choice(self.scheduler)).built_in
        scenario = self.case.run(self.seed, simulated=False)
        job = _core.Job(scenario.json, scheduler=choice, seed=self.seed)
        return _hash(make_plan(job).to_json() + kernel.identity() + _core.measurement())

    def simulator_key(self) -> str:
        """Return a key that changes with the simulator's behaviour."""
        case = self.case
        last = case.run(self.seed, simulated=True)
        told = f"{self.scheduler} {self.seed} {case.simulated.json} {last.json}"
        return _hash(f"{_core_identity()} {told}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def _core_identity() -> str:
    """Return a key that changes with the simulator."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]


class Stopped(Exception):  # noqa: N818 - no error
    """The run is no longer wanted."""


Document = Mapping[str, Any]
"""The stored result of a run: values by metric, or an outcome."""


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
        keep: a folder for the results: a file per run of the kernel, and one per case and scheduler
            of the simulator.
        resume: use results in that folder of the same engine for the same scenario.
        threads: number of parallel runs, 0 for one per core.
        progress: called with the completed share of the work.

    Raises:
        ScenarioError: a scenario is not valid. RunError: there is no kernel.
    """
    kernel.require()
    if keep is not None:
        make_folder(keep)
    work = _Work(keep, resume, threads)
    orders = [
        CaseRuns(case, scheduler, validation.runs.simulator)
        for case in validation.cases
        for scheduler in case.schedulers
    ]
    # The simulator's runs are short: they count as a fifth of the progress.
    shares = [0.0, 0.0]

    def told(part: int, weight: float) -> Callable[[float], None]:
        def tell(share: float) -> None:
            shares[part] = weight * share
            if progress is not None:
                progress(sum(shares))

        return tell

    simulated = list(work.do(orders, CaseRuns.simulator_key, "sim", _simulate, told(0, 0.2)))
    real = [
        CaseRuns(order.case, order.scheduler, seed)
        for order, documents in simulated
        for seed in range(1, kernel_runs(validation, documents) + 1)
    ]
    rows, outcomes = [], []
    for order, documents in [
        *simulated,
        *work.do(real, CaseRuns.kernel_key, "linux", _run_kernel, told(1, 0.8)),
    ]:
        for run in documents:
            place = (order.case.id, order.scheduler, run["engine"], run["seed"])
            if "kind" in run:
                outcomes.append(Outcome(*place, kind=run["kind"], reason=run["reason"]))
            rows += [(*place, name, value) for name, value in run.get("values", {}).items()]
    return Measured(pl.DataFrame(rows, schema=SCHEMA, orient="row"), tuple(outcomes))


class _Work:
    """Makes runs, or reads stored ones."""

    def __init__(self, keep: Path | None, resume: bool, threads: int) -> None:
        self._keep, self._resume = keep, resume
        self._workers = threads or os.cpu_count() or 1

    def do(
        self,
        orders: Sequence[CaseRuns],
        key: Callable[[CaseRuns], str],
        engine: str,
        make: Callable[[CaseRuns, Callable[[float], None]], list[Document]],
        progress: Callable[[float], None],
    ) -> Iterator[tuple[CaseRuns, list[Document]]]:
        """Return the documents of each order's runs, in the order of the orders.

        A document is stored as soon as it is complete.
        """
        found: dict[CaseRuns, list[Document]] = {}
        files: dict[CaseRuns, Path | None] = {}
        for order in orders:
            try:
                name = f"{engine}-{key(order)}.json"
                files[order] = None if self._keep is None else self._keep / name
            except Refused as refused:
                found[order] = [_outcome(engine, order.seed, "refused", refused.why)]
        for order, file in files.items():
            if self._resume and file is not None and file.is_file():
                found[order] = json.loads(file.read_text(encoding="utf-8"))
        shares = dict.fromkeys(orders, 0.0) | dict.fromkeys(found, 1.0)
        stop = threading.Event()

        def one(order: CaseRuns) -> list[Document]:
            def watch(share: float) -> None:
                shares[order] = share
                if stop.is_set():
                    raise Stopped

            watch(0.0)
            documents = make(order, watch)
            file = files[order]
            if file is not None and not any(run.get("kind") == "failed" for run in documents):
                write_text(file, json.dumps(documents, ensure_ascii=False) + "\n")
            return documents

        with ThreadPoolExecutor(self._workers) as pool:
            futures: dict[Future[list[Document]], CaseRuns] = {}
            for order in orders:
                if order not in found:
                    futures[pool.submit(one, order)] = order
            try:
                for future in as_completed(futures):
                    found[futures[future]] = future.result()
                    shares[futures[future]] = 1.0
                    progress(sum(shares.values()) / len(shares))
            except BaseException:
                stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        progress(1.0)
        return iter([(order, found[order]) for order in orders])


def _outcome(engine: str, seed: int, kind: Kind, reason: str) -> Document:
    return {"engine": engine, "seed": seed, "kind": kind, "reason": reason}


def _simulate(order: CaseRuns, watch: Callable[[float], None]) -> list[Document]:
    """Make all runs of the simulator for a case and a scheduler."""
    case, choice = order.case, parse_choice(order.scheduler)
    documents: list[Document] = []
    for seed in range(1, order.seed + 1):
        watch(len(documents) / order.seed)
        task = Task(scenario=case.run(seed, simulated=True), scheduler=choice, seed=seed)
        try:
            result = run_tasks([task], threads=1)[0]
        except RunError as error:
            documents.append(_outcome("sim", seed, "failed", str(error)))
        else:
            if result.fallback is not None:
                documents.append(_outcome("sim", seed, "fell back to TCP", result.fallback))
            else:
                documents.append({"engine": "sim", "seed": seed, "values": values(result.data)})
    return documents


def _run_kernel(order: CaseRuns, watch: Callable[[float], None]) -> list[Document]:
    """Make one run of the kernel, with its own counters."""
    scenario = order.case.run(order.seed, simulated=False)
    task = Task(scenario=scenario, scheduler=parse_choice(order.scheduler), seed=order.seed)
    try:
        # Only runs of the kernel have counters.
        result: Mapping[str, Any] = run_tasks([task], threads=1, engine="linux", progress=watch)[0].data
    except RunError as error:
        return [_outcome("linux", order.seed, "failed", str(error))]
    if result.get("fallback") is not None:
        return [_outcome("linux", order.seed, "fell back to TCP", result["fallback"])]
    return [{"engine": "linux", "seed": order.seed, "values": {**values(result), **counted(result)}}]
