"""Work on several threads, with its progress and its interruption."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")
Watch = Callable[[float], None]
"""Called by work with its completed share, from 0 to 1; raises if the work is not wanted any more."""
POLL_SECONDS = 0.1
"""Seconds between two reports of progress."""
AHEAD = 2
"""Number of items per thread that are taken before one is complete."""


class _Stopped(Exception):  # noqa: N818 - no error
    """Raised to end work that is not wanted any more."""


def in_parallel(
    items: Iterable[Item],
    make: Callable[[Item, Watch], Value],
    *,
    workers: int = 0,
    progress: Callable[[Iterable[float]], None] | None = None,
) -> Iterator[tuple[Item, Value]]:
    """Yield each item with its value, in the order in which the values become ready.

    Args:
        items: taken a few at a time, on the calling thread.
        make: returns the value of an item. It calls the given function now and then.
        workers: number of threads; 0: one per core.
        progress: called with the completed shares of the items that are under way.

    Raises:
        BaseException: of `items`, `make` or `progress`, or an interruption; nothing continues.
    """
    workers, rest = workers or os.cpu_count() or 1, enumerate(items)
    pending: dict[Future[Value], tuple[int, Item]] = {}
    shares: dict[int, float] = {}
    stop = threading.Event()

    def work(number: int, item: Item) -> Value:
        def watch(share: float) -> None:
            shares[number] = share
            if stop.is_set():
                raise _Stopped

        watch(0.0)
        return make(item, watch)

    with ThreadPoolExecutor(workers) as pool:
        try:
            while True:
                for number, item in islice(rest, AHEAD * workers - len(pending)):
                    pending[pool.submit(work, number, item)] = number, item
                if not pending:
                    break
                for future in wait(pending, POLL_SECONDS, FIRST_COMPLETED).done:
                    number, item = pending.pop(future)
                    value = future.result()
                    del shares[number]
                    yield item, value
                if progress is not None:
                    progress(list(shares.values()))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
