"""The bar of `plait.support.progress`, in a module that most commands never need to load."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class Rate(ProgressColumn):
    """The rate per second."""

    def render(self, task: Task) -> Text:
        """Return the rate in the last half minute."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")


class Bar:
    """A bar on standard error, shown from its creation to `stop`.

    Args:
        title: name of the work.
        total: number of items of kind `unit`; None for uncounted work.
        done: completed amount.
    """

    def __init__(self, title: str, total: int | None, unit: str, done: float) -> None:
        counted = TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {unit}"), Rate()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *([TaskProgressColumn()] if total is None else counted),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(title, total=total or 1.0, completed=int(done))
        self._bar.start()

    def update(self, done: float) -> None:
        """Show the completed amount."""
        self._bar.update(self._task, completed=done)

    def stop(self) -> None:
        """Remove the bar from the screen."""
        self._bar.stop()
