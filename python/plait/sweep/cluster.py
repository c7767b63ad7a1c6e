"""Runs on an executor: processes or machines behind the interface of `concurrent.futures`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from typing import Any

from plait._core import RunError, ScenarioError
from plait.sweep.chunk import POLL_SECONDS, Chunk, make_chunk
from plait.sweep.journal import Row
from plait.sweep.plan import Plan

CHUNK_SECONDS = 1.0
"""Target duration of a chunk in seconds: long compared with its transport, short compared with the
work that a lost worker loses."""
FIRST_CHUNK, MOST_RUNS = 4, 500
"""Number of runs in the first chunks, and maximum number."""
AHEAD = 3
"""Number of chunks per worker that are submitted at a time."""
PATIENCE_SECONDS = 10.0
"""Seconds for an answer of the scheduler."""
SHARES = 3
"""Minimum number of chunks per worker into which the remaining runs are divided."""
TRIES = 4
"""Number of attempts for a chunk before the sweep fails."""


def make_on(
    executor: Executor,
    plan: Plan,
    missing: Iterable[int],
    workers: Callable[[], int] | None = None,
) -> Iterator[tuple[int, Row]]:
    """Make runs on an executor; rows in the order in which they return.

    Args:
        executor: executor of the chunks, which are pickled.
        plan: plan of the runs.
        missing: numbers of the runs.
        workers: returns the current number of workers, which may change.

    Raises:
        ScenarioError, RunError: see `Chunk`. RunError: a chunk was lost `TRIES` times.
    """
    numbers = list(missing)
    next_at = 0
    under_way: dict[Future[Any], tuple[Chunk, int]] = {}
    count = workers or (lambda: _workers(executor))
    size = FIRST_CHUNK

    def submit(chunk: Chunk, attempt: int) -> None:
        try:
            under_way[executor.submit(chunk)] = (chunk, attempt)
        except (BrokenExecutor, RuntimeError) as error:
            message = f"the executor takes no more work: {type(error).__name__}: {error}; start it again"
            raise RunError(message) from error

    try:
        while True:
            now = max(1, count())
            while len(under_way) < AHEAD * now and next_at < len(numbers):
                # Smaller chunks towards the end, so that all workers end at about the same time.
                share = -(-(len(numbers) - next_at) // (SHARES * now))
                indices = numbers[next_at : next_at + min(size, share)]
                next_at += len(indices)
                submit(make_chunk(plan, indices), 1)
            if not under_way:
                return
            for future in wait(under_way, POLL_SECONDS, FIRST_COMPLETED).done:
                chunk, attempt = under_way.pop(future)
                try:
                    rows, seconds = future.result()
                except (ScenarioError, RunError):
                    raise
                except Exception as error:  # an executor may report a lost worker by any of them
                    if attempt >= TRIES:
                        raise _lost(chunk, error) from error
                    submit(chunk, attempt + 1)
                    continue
                size = _size(len(rows), seconds)
                yield from rows
    finally:
        for future in under_way:
            future.cancel()


def _size(runs: int, seconds: float) -> int:
    """Return the number of runs of the next chunk, from the duration of the last one."""
    return max(1, min(MOST_RUNS, round(runs * CHUNK_SECONDS / max(seconds, 1e-3))))


def _lost(chunk: Chunk, error: Exception) -> RunError:
    first, last = chunk.orders[0].index, chunk.orders[-1].index
    return RunError(
        f"runs {first} to {last}: lost {TRIES} times; the last time: {type(error).__name__}: {error}"
    )


def _workers(executor: Executor) -> int:
    """Return the number of workers of an executor, if known."""
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


@contextmanager
def dask(address: str) -> Iterator[tuple[Executor, Callable[[], int]]]:
    """Yield the executor of a Dask cluster, and a function for its current number of threads.

    Raises:
        ScenarioError: Dask is not installed, or there is no scheduler at `address`.
    """
    try:
        from distributed import Client  # noqa: PLC0415
    except ImportError as error:
        message = f"--cluster {address}: needs Dask; install plait[cluster]"
        raise ScenarioError(message) from error
    try:
        client = Client(address, timeout=PATIENCE_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        message = f"--cluster {address}: no Dask scheduler answers there: {error}; expected an address such as tcp://host:8786"
        raise ScenarioError(message) from error

    def workers() -> int:
        return sum(worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values())

    with client:
        yield client.get_executor(pure=False), workers  # type: ignore[no-untyped-call]
