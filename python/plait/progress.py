"""A progress bar on standard error for work that takes more than a second; silent where nobody watches."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

PATIENCE_SECONDS = 1.0
"""Work shorter than this shows no bar."""


class Progress:
    """Context manager whose `update` takes the done share, 0 to 1, as often as one likes."""

    quiet = False
    """Set to True to show no bar anywhere in this process."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: RichProgress | None = None
        self._task = TaskID(0)
        self._start = time.monotonic()

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        return self

    def update(self, share: float) -> None:
        """Show that `share` (0 to 1) of the work is done."""
        if self._bar is None:
            if Progress.quiet or not sys.stderr.isatty():
                return
            if time.monotonic() - self._start < PATIENCE_SECONDS:
                return
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._title, total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
