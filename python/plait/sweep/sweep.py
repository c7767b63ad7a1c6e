"""Makes the missing runs of a plan's dataset."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from plait.sweep import chunk, cluster
from plait.sweep.dataset import Dataset, read
from plait.sweep.dataset_writer import ROWS, DatasetWriter
from plait.sweep.plan import Plan


@dataclass(frozen=True)
class Outcome:
    """The outcome of a sweep: different runs of the plan, runs made now, and failed ones (of all).

    rows: the number of rows; equal runs have several (`Plan.first`).
    """

    folder: Path
    runs: int
    made: int
    failed: int
    rows: int

    @property
    def dataset(self) -> Dataset:
        """The rows, read from the folder."""
        return read(self.folder)


def sweep(
    plan: Plan | str | PathLike[str],
    folder: str | PathLike[str],
    *,
    threads: int = 0,
    executor: Executor | None = None,
    workers: Callable[[], int] | None = None,
    progress: Callable[[int], None] | None = None,
    rows_per_part: int = ROWS,
) -> Outcome:
    """Make the runs of a plan that its dataset lacks.

    After any interruption the complete rows stay, and the same call makes the others. The dataset
    has the same bytes for any number of interruptions and any place of the runs.

    Args:
        plan: a plan, or the name of a plan file.
        folder: folder of the dataset; made if it does not exist.
        threads: threads of this process; 0 is one per core.
        executor: makes the runs instead, in other processes or on other machines: any object with
            the interface of `concurrent.futures.Executor`, such as
            ``dask.distributed.Client(…).get_executor()``.
        workers: returns the executor's current number of workers; by default the number that it
            reports, or the number of cores.
        progress: called with the number of complete runs, at the beginning and after every run.
        rows_per_part: rows per file of the dataset; a dataset started with another number is
            rejected.

    Raises:
        ScenarioError: the plan is not valid. OutputError: the folder is not writable, or holds
            other data. RunError: an executor lost work several times. KeyboardInterrupt:
            interrupted; no run continues.
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    with DatasetWriter(Path(folder), plan, rows=rows_per_part) as writer:
        made, done = 0, writer.done
        if progress is not None:
            progress(done)
        missing = writer.missing()
        rows = (
            chunk.make(chunk.orders(plan, map(plan.run, missing)), plan.columns.places, threads, plan.metrics)
            if executor is None
            else cluster.make_on(executor, plan, missing, workers)
        )
        for index, row in rows:
            writer.add(index, row)
            made += 1
            if progress is not None:
                progress(done + made)
        writer.finish()
    return Outcome(Path(folder), plan.runs, made, read(folder).failures, len(plan))
