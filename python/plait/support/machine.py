"""Environment of a program: versions, processor, time of day. Never part of a result."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

SECRET = "--secret="


def plait_version() -> str:
    """Return the installed version, such as ``0.1.0``."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow to load

    try:
        return version("plait")
    except PackageNotFoundError:
        return "unknown"


def surroundings() -> dict[str, str | int]:
    """Return the versions of Plait and Python, the system, processor, cores, and time of day."""
    return {
        "plait": plait_version(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "time": datetime.now().astimezone().isoformat(timespec="seconds"),
    }


def processor(description: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's model from Linux, otherwise its architecture."""
    try:
        for line in description.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def command_line() -> str:
    """Return the command as typed, without the program's folder and without secrets."""
    program = Path(sys.argv[0]).name
    return shlex.join(["plait" if program == "__main__.py" else program, *_without_secrets(sys.argv[1:])])


def _without_secrets(words: Sequence[str]) -> list[str]:
    """Return the words with the value of --secret replaced."""
    told = [word == "--secret" for word in ["", *words]]
    return [
        "…" if after else f"{SECRET}…" if word.startswith(SECRET) else word
        for word, after in zip(words, told, strict=False)
    ]
