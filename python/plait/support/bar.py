"""The bar that `plait.support.progress` shows. A module of its own: most commands end before they need one."""

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
    """How many a second."""

    def render(self, task: Task) -> Text:
        """The rate in the last half minute."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")


class Bar:
    """A bar on standard error, shown from its making to `stop`.

    Args:
        title: what is being done.
        total: how many there are to do, and `unit` of what; None for work that is not counted.
        done: how much of it is done.
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
        """Show that so much of the work is done."""
        self._bar.update(self._task, completed=done)

    def stop(self) -> None:
        """Take the bar off the screen."""
        self._bar.stop()
