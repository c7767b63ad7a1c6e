"""What the site takes from the code while it is built: nothing of this is written twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from generated import api, commands, keys, metrics, schedulers

PARTS: Mapping[str, Callable[[str], str]] = {
    "scenario keys": lambda _: keys.tables(),
    "commands": lambda _: commands.help_texts(),
    "python": lambda _: api.reference(),
    "metrics": metrics.definitions,
    "scheduler": schedulers.facts,
    "schedulers": lambda _: schedulers.overview(),
    "options": lambda _: schedulers.options(),
    "papers": lambda _: schedulers.papers(),
}
"""What a page can ask for by `<!-- generated: NAME -->` or `<!-- generated: NAME: ARGUMENT -->`."""


class UnknownPartError(ValueError):
    """A page asks for something that nobody makes."""


def part(name: str, argument: str = "") -> str:
    """The Markdown of one part; UnknownPartError names what there is."""
    if name not in PARTS:
        message = f"generated {name!r}: unknown; expected one of: {', '.join(PARTS)}"
        raise UnknownPartError(message)
    return PARTS[name](argument)
