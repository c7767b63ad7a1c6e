"""A progress bar on standard error for work that takes more than a second; silent where nobody watches.

Of work that is counted it shows how much is done, how fast it goes and how long it still takes.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

PATIENCE_SECONDS = 1.0
"""Work shorter than this shows no bar."""


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The rate in the last half minute."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")


class Progress:
    """Context manager whose `update` takes what is done, as often as one likes: a share, or how many of `total`.

    Args:
        title: what is being done.
        total: how many there are to do, and `unit` of what; None for work that is not counted.
    """

    quiet = False
    """Set to True to show no bar anywhere in this process."""

    def __init__(self, title: str, total: int | None = None, unit: str = "") -> None:
        self._title, self._total, self._unit = title, total, unit
        self._bar: RichProgress | None = None
        self._task = TaskID(0)
        self._start = time.monotonic()

    def __enter__(self) -> Progress:
        self._start = time.monotonic()
        return self

    def update(self, done: float) -> None:
        """Show that so much of the work is done."""
        if self._bar is None:
            if Progress.quiet or not sys.stderr.isatty():
                return
            if time.monotonic() - self._start < PATIENCE_SECONDS:
                return
            counted = TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {self._unit}"), Rate()
            self._bar = RichProgress(
                TextColumn("{task.description}"),
                BarColumn(),
                *([TaskProgressColumn()] if self._total is None else counted),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(self._title, total=self._total or 1.0, completed=int(done))
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
