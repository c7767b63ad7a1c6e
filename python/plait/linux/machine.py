"""What the lab needs of the machine besides programs: its architecture, and what it lets an ordinary process do."""

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
"""Where User-Mode Linux runs, as the machine calls itself."""
MEMORY_BYTES = 256 << 20
"""Room that the guest's memory may take, and usually does not."""
MEMORY_FOLDER = Path("/dev/shm")
"""A file system in memory, on most machines."""

# Exits with the error's number if a process may not let itself be traced.
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
    """Everything that is not a program; RunError says what is in the way and what helps."""
    found = obstacles()
    if found:
        raise RunError("; ".join(found))


def obstacles() -> list[str]:
    """What is in the way of the lab here, each in one line that says what helps."""
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
    """Whether addresses can be the same in every run, as results are to be."""
    setarch = tools.find("setarch")
    if setarch is None:  # tools.require says so
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
    """Whether processes can be traced: that is how the guest's are run."""
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
    """Where the guest's memory is, as a file: the first fit one of TMPDIR, memory, and where temporary files are.

    Raises:
        RunError: none is; what is wrong with each.
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
    """Why the guest's memory cannot be in a folder; None if it can."""
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
