"""Requirements of the lab besides programs: architecture, and permissions of a process."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from plait._core import RunError
from plait.linux import tools

ARCHITECTURES = ("x86_64", "amd64")
"""Architectures of User-Mode Linux, as machines name them."""
MEMORY_BYTES = 256 << 20
"""Space that the guest's memory may take. It usually takes less."""
MEMORY_FOLDER = Path("/dev/shm")
"""A file system in memory, on most machines."""

# Exits with the error number if a process may not be traced.
_TRACING = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    if libc.ptrace(0, 0, 0, 0) != 0:
        os._exit(ctypes.get_errno())
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
_, status = os.waitpid(child, 0)
if os.WIFSTOPPED(status):
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    sys.exit(0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def require() -> None:
    """Check all requirements but programs; a RunError names the obstacles and their remedies."""
    found = obstacles()
    if found:
        raise RunError("; ".join(found))


def obstacles() -> list[str]:
    """Return the obstacles to the lab on this machine, each in one line with its remedy."""
    found = _architecture()
    if found:
        return found
    found = [*_personality(), *_tracing()]
    try:
        memory_folder()
    except RunError as error:
        found.append(str(error))
    return found


def _architecture() -> list[str]:
    system, machine = platform.system(), platform.machine()
    if system == "Linux" and machine.lower() in ARCHITECTURES:
        return []
    return [
        f"the lab's kernel runs on Linux on x86-64 only, and this is {system} on {machine}: use a machine of that kind"
    ]


def _personality() -> list[str]:
    """Check that addresses can be equal in every run, which makes results repeatable."""
    setarch = tools.find("setarch")
    if setarch is None:  # tools.require reports it
        return []
    done = subprocess.run([setarch, "-R", "true"], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    reason = (
        "setarch -R is not permitted here, without which runs cannot be repeated (a container's seccomp profile "
        "forbids personality(ADDR_NO_RANDOMIZE)); start the container with --security-opt seccomp=unconfined"
    )
    return [reason]


def _tracing() -> list[str]:
    """Check that processes can be traced, which is how the guest's processes run."""
    done = subprocess.run([sys.executable, "-ISc", _TRACING], capture_output=True, check=False)
    if done.returncode == 0:
        return []
    reason = (
        f"ptrace is not permitted here ({os.strerror(done.returncode)}), and the lab's kernel runs processes with it; "
        "start the container with --cap-add SYS_PTRACE --security-opt seccomp=unconfined, "
        "or if kernel.yama.ptrace_scope is 3, set it lower"
    )
    return [reason]


def memory_folder() -> Path:
    """Return the folder of the guest's memory file: TMPDIR, memory, or temporary files.

    It is the first suitable one in this order.

    Raises:
        RunError: no folder is suitable; the message has the reason of each.
    """
    given = os.environ.get("TMPDIR")
    folders = [Path(given).absolute()] if given else []
    folders += [MEMORY_FOLDER, Path(tempfile.gettempdir()).absolute()]
    wrong: dict[Path, str] = {}
    for folder in folders:
        reason = _unfit(folder)
        if reason is None:
            return folder
        wrong[folder] = reason
    said = ", ".join(f"{folder} {reason}" for folder, reason in wrong.items())
    message = f"no place for the guest's memory: {said}; name a folder by the environment variable TMPDIR"
    raise RunError(message)


def _unfit(folder: Path) -> str | None:
    """Return the reason why a folder cannot hold the guest's memory; None if it can."""
    try:
        system = os.statvfs(folder)
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    if system.f_flag & os.ST_NOEXEC:
        return "is mounted noexec"
    if not os.access(folder, os.W_OK | os.X_OK):
        return "cannot be written to"
    free = system.f_bavail * system.f_frsize
    if free < MEMORY_BYTES:
        return f"has {free >> 20} MiB free, and {MEMORY_BYTES >> 20} are needed"
    return None
