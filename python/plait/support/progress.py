"""A progress bar on standard error for work that takes more than a second; silent where nobody watches.

Of work that is counted it shows how much is done, how fast it goes and how long it still takes.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plait.support.bar import Bar

PATIENCE_SECONDS = 1.0
"""Work shorter than this shows no bar."""


class Progress:
    """Context manager whose `update` takes what is done, as often as one likes: a share, or how many of `total`.

    Args:
        title: what is being done.
        total: how many there are to do, and `unit` of what; None for work that is not counted.
        patience: seconds; work shorter than this shows no bar; `PATIENCE_SECONDS` unless given.
    """

    quiet = False
    """Set to True to show no bar anywhere in this process."""

    def __init__(
        self, title: str, total: int | None = None, unit: str = "", *, patience: float | None = None
    ) -> None:
        self._patience = patience
        self._title, self._total, self._unit = title, total, unit
        self._bar: Bar | None = None
        self._start = time.monotonic()

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        return self

    def update(self, done: float) -> None:
        """Show that so much of the work is done."""
        if self._bar is None:
            if Progress.quiet or not sys.stderr.isatty():
                return
            patience = PATIENCE_SECONDS if self._patience is None else self._patience
            if time.monotonic() - self._start < patience:
                return
            from plait.support.bar import Bar  # noqa: PLC0415 - most commands end before they need one

            self._bar = Bar(self._title, self._total, self._unit, done)
            return
        self._bar.update(done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
