"""What pages take from the code, behind `<!-- generated: NAME -->`: in the repository, and in the site.

`.venv/bin/python docs/generate.py`, or `make reference`, writes it into the pages; a test holds them current.
"""

from __future__ import annotations

import re
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


END = "<!-- generated until here -->"
PLACE = re.compile(r"^<!-- generated: ([^:\n]+?)(?:: ([^\n]+?))? -->$", re.MULTILINE)
BODY = re.compile(rf"^(<!-- generated: [^\n]+? -->\n).*?^{END}\n", re.MULTILINE | re.DOTALL)


def emptied(text: str) -> str:
    """A page without what is generated: the marks alone."""
    return BODY.sub(r"\1", text)


def filled(text: str) -> str:
    """A page with all that is generated, between the marks."""
    return PLACE.sub(lambda found: f"{found[0]}\n{part(found[1], found[2] or '')}\n{END}", emptied(text))


class UnknownPartError(ValueError):
    """A page asks for something that nobody makes."""


def part(name: str, argument: str = "") -> str:
    """The Markdown of one part; UnknownPartError names what there is."""
    if name not in PARTS:
        message = f"generated {name!r}: unknown; expected one of: {', '.join(PARTS)}"
        raise UnknownPartError(message)
    return PARTS[name](argument)
