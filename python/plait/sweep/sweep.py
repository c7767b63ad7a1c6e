"""Making what is missing of a plan's dataset."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from plait.sweep import chunk, cluster
from plait.sweep.dataset import Dataset, read
from plait.sweep.plan import Plan
from plait.sweep.store import ROWS, Store


@dataclass(frozen=True)
class Outcome:
    """What a sweep did: runs of the plan, made now, and failed (of all)."""

    folder: Path
    runs: int
    made: int
    failed: int

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

    Whatever interrupts it, what was complete stays; the same call goes on from there. The dataset is the same to the
    byte however often it was interrupted and wherever the runs were made.

    Args:
        plan: a plan, or the name of a plan file.
        folder: of the dataset; made if it is not there.
        threads: of this process; 0 is one per core.
        executor: makes the runs instead, in other processes or on other machines: anything with the interface of
            `concurrent.futures.Executor`, such as ``dask.distributed.Client(…).get_executor()``.
        workers: how many the executor has at the moment; by default as many as it says, or as there are cores.
        progress: called with the number of rows that there are, at the beginning and after every run.
        rows_per_part: of the dataset's files; a dataset that was begun with another number is refused.

    Raises:
        ScenarioError: the plan is not valid. OutputError: the folder cannot be written to, or holds something else.
        RunError: an executor lost work again and again. KeyboardInterrupt: interrupted; nothing is left running.
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    with Store(Path(folder), plan, rows=rows_per_part) as store:
        made, done = 0, store.done
        if progress is not None:
            progress(done)
        missing = store.missing()
        rows = (
            chunk.make(chunk.orders(plan, map(plan.run, missing)), plan.columns.places, threads)
            if executor is None
            else cluster.make_on(executor, plan, missing, workers)
        )
        for index, row in rows:
            store.add(index, row)
            made += 1
            if progress is not None:
                progress(done + made)
        store.finish()
    return Outcome(Path(folder), len(plan), made, read(folder).failures)
