"""Ends a run whose class of the user in Python does not return from a call."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from plait import _core
from plait.scenarios.roles import Role, role_of

LIMIT_SECONDS = 10.0
"""Maximum wall-clock time of one call. Simulated time stands still meanwhile, so results do not
depend on it."""
LOOKS = 10
"""Number of checks within the limit."""
DEBUGGERS = ("bdb", "pdb", "pydevd", "debugpy")
"""Debugger modules. Their frames, or frames that they trace, show that a user steps through the
program."""


class _NeverReturnedError(BaseException):
    """Raised in the user's code; `except Exception` there does not catch it."""


class Watchdog:
    """Context manager around runs: a call beyond the time limit raises RunError.

    It checks the methods of the user's classes through the frames of the thread that entered it, so
    a decision costs nothing. It cannot interrupt C code that does not return. With a debugger it
    does nothing.

    Args:
        called: objects or classes whose methods are called meanwhile; only those written in
            Python count.
    """

    def __init__(self, called: Iterable[object]) -> None:
        self._codes: dict[CodeType, tuple[Role, str]] = {}
        for one in called:
            kind = one if isinstance(one, type) else type(one)
            role = role_of(kind)
            for name in role.methods:
                method = getattr(one, name, None)
                code = getattr(getattr(method, "__func__", method), "__code__", None)
                if code is not None:
                    self._codes[code] = (role, f"{kind.__name__}.{name}")
        self._thread = threading.get_ident()
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None
        self._found: tuple[Role, str] | None = None

    def __enter__(self) -> Watchdog:
        if self._codes and not _is_debugged(sys._getframe()):
            self._watcher = threading.Thread(target=self._watch, name="plait-watchdog", daemon=True)
            self._watcher.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        if self._found is not None and not isinstance(error, _NeverReturnedError):
            with suppress(
                _NeverReturnedError
            ):  # the call returned after all, before the exception was raised
                time.sleep(0)
        if isinstance(error, _NeverReturnedError) and self._found is not None:
            role, method = self._found
            expected = f"; expected {role.answer}" if role.answer else ""
            message = f"{role.name} {method} had not returned after {LIMIT_SECONDS:g} s{expected}"
            raise _core.RunError(message) from None

    def _watch(self) -> None:
        """Look for a frame that stays.

        It holds a reference to the frame, so that no other frame can have the same identity.
        """
        last: FrameType | None = None
        looks = 0
        while not self._ended.wait(LIMIT_SECONDS / LOOKS):
            frame, innermost = self._called()
            if frame is None or frame is not last:
                last, looks = frame, 0
                continue
            looks += 1
            if looks >= LOOKS and innermost is not None and not _is_debugged(innermost):
                where = f"{Path(innermost.f_code.co_filename).name}, line {innermost.f_lineno}"
                role, name = self._codes[frame.f_code]
                self._found = (role, f"{name} ({where})")
                del innermost
                _raise_in(self._thread)

    def _called(self) -> tuple[FrameType | None, FrameType | None]:
        """Return the frame of the method in progress, and the innermost frame."""
        innermost = sys._current_frames().get(self._thread)
        frame = innermost
        while frame is not None and frame.f_code not in self._codes:
            frame = frame.f_back
        return frame, innermost


def _is_debugged(frame: FrameType | None) -> bool:
    """Whether a debugger traces a frame or one of its callers, or is one of them."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None:
        return True
    while frame is not None:
        module = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if frame.f_trace is not None or module.lstrip("_").startswith(DEBUGGERS):
            return True
        frame = frame.f_back
    return False


def _raise_in(thread: int) -> None:
    """Raise the exception in a thread as soon as it executes Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_NeverReturnedError))
