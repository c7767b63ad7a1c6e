"""Assigns all processes of a machine to one processor.

The kernel and the processes that run the guest's processes take turns; two never run at once. On
several processors each turn would wake another processor, which takes longer than the turn.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter
from pathlib import Path

_machines: Counter[int] = Counter()
_lock = threading.Lock()


class Placement:
    """The processor of one machine: the one with the fewest machines of this process.

    The machine moves if another process occupies the processor.
    """

    def __init__(self, process: int) -> None:
        self._process = process
        self._ran = self._waited = 0
        self._processor: int | None = None
        self.move()

    def move(self) -> None:
        """Move to the next processor, if there is another one."""
        processors = sorted(os.sched_getaffinity(0))
        with _lock:
            before = self._processor
            self._leave()
            others = [one for one in processors if one != before] or processors
            chosen = min(others, key=lambda one: (_machines[one], (one + os.getpid()) % len(processors)))
            _machines[chosen] += 1
            self._processor = chosen
        for process in (self._process, *_children(self._process)):
            with contextlib.suppress(OSError):
                os.sched_setaffinity(process, {chosen})

    def look(self) -> None:
        """Move the machine if it waited longer than it ran since the last call."""
        ran, waited = self._times()
        if waited - self._waited > ran - self._ran:
            self.move()
        self._ran, self._waited = ran, waited

    def _times(self) -> tuple[int, int]:
        """Return the kernel's total run time and its total wait for a processor, in nanoseconds."""
        try:
            ran, waited, _ = Path(f"/proc/{self._process}/schedstat").read_text("ascii").split()
        except (OSError, ValueError):
            return self._ran, self._waited
        return int(ran), int(waited)

    def leave(self) -> None:
        """Release the processor after the machine's end."""
        with _lock:
            self._leave()

    def _leave(self) -> None:
        if self._processor is not None:
            _machines[self._processor] -= 1
            self._processor = None


def _children(process: int) -> list[int]:
    """Return the present children; later ones inherit the processor."""
    try:
        return [
            int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()
        ]
    except OSError:
        return []
