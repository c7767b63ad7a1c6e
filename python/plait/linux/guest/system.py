"""System calls that Python's standard library lacks: mounts, namespaces, power."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .plan import NAMESPACES

CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
PR_SET_TIMERSLACK = 29
POWER_OFF = 0x4321FEDC

FOLDER = Path("/dev/plait")
"""Mount point of the run's folder on the host, in a file system of the guest, so that it hides none
of the host's files. Python, programs and the run may be anywhere."""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def mount(source: str, target: Path | str, kind: str, flags: int = 0, options: str = "") -> None:
    """Mount a file system; OSError if it fails."""
    arguments = (source.encode(), os.fspath(target).encode(), kind.encode(), flags, options.encode())
    _check(_libc.mount(*arguments), f"mounting {kind} on {target}")


def mount_all(folder: str) -> None:
    """Mount the usual file systems, and the host's `folder` in writable form."""
    mount("none", "/proc", "proc")
    mount("none", "/sys", "sysfs")
    mount("none", "/dev", "devtmpfs")
    FOLDER.mkdir()
    mount("none", FOLDER, "hostfs", options=folder)
    Path(NAMESPACES).mkdir()


def unslack() -> None:
    """Make timers fire on time, also in processes that this one starts."""
    _check(_libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0), "timer slack")


def power_off() -> None:
    """Power off the machine."""
    os.sync()
    _libc.reboot(POWER_OFF)


class Namespaces:
    """Network namespaces by name; the empty name is the first one."""

    def __init__(self) -> None:
        self._open = {"": os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)}

    def add(self, name: str) -> None:
        """Create a namespace."""
        file = Path(NAMESPACES, name)
        file.touch()
        _check(_libc.unshare(CLONE_NEWNET), f"namespace {name}")
        mount("/proc/self/ns/net", file, "none", MS_BIND)
        self._open[name] = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        self._enter("")

    def _enter(self, name: str) -> None:
        _check(_libc.setns(self._open[name], CLONE_NEWNET), f"entering {name!r}")

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Enter a namespace with this thread, for everything that it opens or starts meanwhile."""
        self._enter(name)
        try:
            yield
        finally:
            self._enter("")
