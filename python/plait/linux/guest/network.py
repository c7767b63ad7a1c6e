"""Sets up namespaces, devices, routes and queueing disciplines by batches of `ip` and `tc`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .plan import Batch, Change, Plan, Setting
from .system import Namespaces

Tools = Mapping[str, str]
"""Absolute names of ip and tc."""


def set_up(plan: Plan, namespaces: Namespaces, tools: Tools) -> None:
    """Set up the whole network."""
    for name in plan.namespaces:
        namespaces.add(name)
    write_settings([one for one in plan.settings if not one.namespace], namespaces)
    for batch in plan.ip:
        run_batch(tools["ip"], batch, namespaces)
    write_settings([one for one in plan.settings if one.namespace], namespaces)
    for batch in plan.tc:
        run_batch(tools["tc"], batch, namespaces)


def write_settings(settings: Sequence[Setting], namespaces: Namespaces) -> None:
    """Write each setting into its file; an OSError names the file that refuses it."""
    for one in settings:
        with namespaces.inside(one.namespace):
            try:
                Path(one.file).write_text(one.value, encoding="ascii")
            except OSError as error:
                message = f"{one.file} does not take {one.value!r}: {error.strerror}"
                raise OSError(message) from error


def run_batch(program: str, batch: Batch, namespaces: Namespaces) -> None:
    """Run one batch; an OSError names the refused lines."""
    with namespaces.inside(batch.namespace):
        done = subprocess.run(
            [program, "-batch", "-"],
            input="\n".join(batch.lines) + "\n",
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode != 0:
        name = Path(program).name
        message = f"{name} in namespace {batch.namespace!r}: {done.stderr.strip()}: {batch.lines}"
        raise OSError(message)


class Changer:
    """Keeps a waiting `tc` in every namespace with changes: starting one would take too long."""

    def __init__(self, changes: Sequence[Change], namespaces: Namespaces, tools: Tools) -> None:
        self._waiting: dict[str, subprocess.Popen[bytes]] = {}
        for name in sorted({change.namespace for change in changes}):
            with namespaces.inside(name):
                self._waiting[name] = subprocess.Popen(
                    [tools["tc"], "-batch", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
                )

    def make(self, change: Change) -> None:
        """Make one change now."""
        pipe = self._waiting[change.namespace].stdin
        assert pipe is not None
        pipe.write(change.line.encode() + b"\n")

    def close(self) -> None:
        """End the waiting programs; OSError if one refused a line."""
        for name, process in self._waiting.items():
            _, errors = process.communicate()
            if process.returncode != 0:
                message = f"tc in namespace {name!r}: {errors.decode().strip()}"
                raise OSError(message)
