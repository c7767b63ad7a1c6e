"""Meaning of the metrics, from their only definition: the docstrings of `plait.results.metrics`."""

from __future__ import annotations

import re

from plait.results.metrics import FlowMetrics, Metrics, PathMetrics, QueueMetrics

ENTRY = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (.+)$")


def definitions() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return names and meanings of the metrics of connection, path, competing flow and queue."""
    whose = (
        ("of the connection", Metrics),
        ("of a path", PathMetrics),
        ("of a competing flow", FlowMetrics),
        ("of an active queue", QueueMetrics),
    )
    return [(name, entries(table.__doc__ or "")) for name, table in whose]


def entries(text: str) -> list[tuple[str, str]]:
    """Return the entries ``name, name: meaning`` of a docstring.

    Other lines continue the entry before.
    """
    found: list[tuple[str, str]] = []
    for line in (one.strip() for one in text.splitlines()[1:]):
        entry = ENTRY.match(line)
        if entry is not None:
            found.append((entry[1], entry[2]))
        elif line and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line}")
    return found
