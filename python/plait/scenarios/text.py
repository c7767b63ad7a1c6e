"""Scenarios as scenario files: a table written as readable TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Table = Mapping[str, Any]

_LARGER: Mapping[str, tuple[tuple[str, int], ...]] = {
    "ns": (("s", 10**9), ("ms", 10**6), ("µs", 10**3)),
    "us": (("s", 10**6), ("ms", 10**3)),
    "ms": (("s", 10**3),),
    "kbit": (("Mbit", 10**3),),
    "bit": (("Mbit", 10**6), ("kbit", 10**3)),
    "kB": (("MB", 10**3),),
    "B": (("MiB", 2**20), ("MB", 10**6), ("kB", 10**3)),
}
"""Units of computed amounts, and larger units that are easier to read."""


def scenario_text(table: Table, comment: str) -> str:
    """Return a scenario's table as a scenario file; the comment is its first line."""
    return "\n".join([f"# {comment}", *_lines(table)]) + "\n"


def _lines(table: Table) -> Iterator[str]:
    """Yield keys first, then tables, then lists of tables such as [[path]]."""
    tables = {key: value for key, value in table.items() if isinstance(value, Mapping) and key != "scheduler"}
    lists = {key: table[key] for key in ("path", "link", "flow") if key in table}
    yield from pairs({key: value for key, value in table.items() if key not in tables and key not in lists})
    for key, inner in tables.items():
        yield from ("", f"[{key}]", *pairs(inner))
    for key, entries in lists.items():
        for entry in entries:
            yield from ("", f"[[{key}]]", *pairs(entry))


def pairs(table: Table) -> list[str]:
    """Return the lines of a table's keys."""
    return [f"{key} = {_toml(value)}" for key, value in table.items()]


def _toml(value: Any) -> str:
    """Format a value as TOML: strings, numbers, truth values, tables and lists."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(pairs(value))} }}"
    if isinstance(value, str):
        return json.dumps(_readable(value), ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(one) for one in value)}]"
    return json.dumps(value)


def _readable(value: str) -> str:
    """Return an amount in the largest unit in which it is whole."""
    for unit, larger in _LARGER.items():
        number = value.removesuffix(unit)
        if number != value and number.isdigit():
            for name, factor in larger:
                if int(number) % factor == 0:
                    return f"{int(number) // factor}{name}"
    return value
