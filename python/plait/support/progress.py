"""A progress bar on standard error for work that takes more than a second.

If standard error is not a terminal, long work can write a line from time to time instead. Counted
work shows its progress, its rate and the remaining time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.support.bar import Bar

PATIENCE_SECONDS = 1.0
"""Work shorter than this shows no bar."""
LINE_SECONDS = 30.0
"""Seconds between two lines without a terminal; shorter work writes none."""


def span(seconds: float) -> str:
    """Format a rough time for people: ``40 s``, ``3 min``, ``2.5 h``."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def part(progress: Callable[[float], None] | None, begin: float, end: float) -> Callable[[float], None]:
    """Return the callback for a part of the work, which goes from one share of it to another."""

    def tell(share: float) -> None:
        if progress is not None:
            progress(begin + share * (end - begin))

    return tell


class Progress:
    """Context manager that shows the amounts passed to `update`: a share, or items of `total`.

    Args:
        title: name of the work.
        total: number of items of kind `unit`; None for uncounted work.
        patience: seconds; work shorter than this shows no bar; by default `PATIENCE_SECONDS`.
        lines: whether to write lines if standard error is not a terminal.
    """

    quiet = False
    """Set to True to hide all progress in this process."""

    def __init__(
        self,
        title: str,
        total: int | None = None,
        unit: str = "",
        *,
        patience: float | None = None,
        lines: bool = False,
    ) -> None:
        self._patience = patience
        self._title, self._total, self._unit, self._lines = title, total, unit, lines
        self._bar: Bar | None = None
        self._start = self._said = time.monotonic()
        self._first: float | None = None

    def __enter__(self) -> Progress:
        self._start = self._said = time.monotonic()
        return self

    def update(self, done: float) -> None:
        """Show the completed amount."""
        if self._bar is None:
            if Progress.quiet:
                return
            if not sys.stderr.isatty():
                self._line(done)
                return
            patience = PATIENCE_SECONDS if self._patience is None else self._patience
            if time.monotonic() - self._start < patience:
                return
            from plait.support.bar import Bar  # noqa: PLC0415 - most commands never need a bar

            self._bar = Bar(self._title, self._total, self._unit, done)
            return
        self._bar.update(done)

    def _line(self, done: float) -> None:
        """Write the progress and the remaining time, from the rate in this process."""
        self._first = done if self._first is None else self._first
        now, whole = time.monotonic(), float(self._total or 1)
        if not self._lines or now - self._said < LINE_SECONDS:
            return
        self._said = now
        counted = "" if self._total is None else f" ({done:,.0f} of {self._total:,} {self._unit})"
        made = done - self._first
        left = "" if made <= 0 else f", about {span((now - self._start) * (whole - done) / made)} left"
        sys.stderr.write(f"{self._title}: {done / whole:.0%}{counted}{left}\n")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
