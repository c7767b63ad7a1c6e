"""A run in a thread of its own that waits for its caller at every action.

The simulator calls the scheduler, and Gymnasium's caller calls `step`: both want to be the caller.
A thread is the simplest correct solution, because the run keeps its stack while it waits:

- A process per run would copy facts through pipes, and a run again from its beginning for each
  action would take quadratic time.
- Greenlets switch faster, but they replace the C stack below compiled code, which Rust and PyO3 do
  not promise to bear. They would be one more dependency.

Only one of the two threads ever runs, so the result does not depend on their timing. The queues
are `SimpleQueue`, whose `put` may interrupt itself: garbage collection may close an environment at
any place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from plait.gym.facts import Facts
from plait.results.result import Result

Run = Callable[[Callable[[Facts], Any], Callable[[float], None]], Result]
"""A run: gets a function that asks for an action, and one to be called with its progress."""


class _StoppedError(BaseException):
    """Ends a run whose caller does not continue it; `except Exception` does not catch it."""


@dataclass(frozen=True)
class _End:
    """The end of a run: its result, or its error."""

    result: Result | None
    error: BaseException | None = None


_STOP = object()
"""The answer that ends a run."""


class Handover:
    """A run that is continued action by action.

    The run begins at once. Its thread holds no reference to the caller's environment, which may
    therefore be garbage while the run waits.
    """

    def __init__(self, run: Run) -> None:
        self._questions: SimpleQueue[Facts | _End] = SimpleQueue()
        self._answers: SimpleQueue[Any] = SimpleQueue()
        self._stopped = False
        self._thread = threading.Thread(target=self._work, args=(run,), name="plait-run", daemon=True)
        self._thread.start()

    def wait(self) -> Facts | Result:
        """Return the facts of the next action, or the result at the end of the run.

        Raises:
            Exception: the error of the run.
        """
        try:
            told = self._questions.get()
        except BaseException:  # Ctrl-C: a later answer would belong to an earlier question
            self.stop()
            raise
        if not isinstance(told, _End):
            return told
        self._thread.join()
        if told.error is not None:
            raise told.error
        assert told.result is not None
        return told.result

    def answer(self, action: Any) -> None:
        """Give the action that the run waits for."""
        self._answers.put(action)

    def stop(self) -> None:
        """End the run, and its thread."""
        self._stopped = True
        self._answers.put(_STOP)
        if threading.current_thread() is not self._thread:  # garbage collection may run there
            self._thread.join()

    def _work(self, run: Run) -> None:
        try:
            end = _End(run(self._ask, self._check))
        except BaseException as error:  # raised in the caller's thread
            end = _End(None, error)
        self._questions.put(end)

    def _ask(self, facts: Facts) -> Any:
        self._questions.put(facts)
        answer = self._answers.get()
        if answer is _STOP:
            raise _StoppedError
        return answer

    def _check(self, _share: float) -> None:
        """End the run also where it asks no more."""
        if self._stopped:
            raise _StoppedError
