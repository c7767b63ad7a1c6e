"""`plait keys`: the keys of a scenario file."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from plait._core import ScenarioError
from plait.cli.options import JSON
from plait.cli.output import print_json
from plait.cli.sheet import console
from plait.scenarios.keys import Key, scenario_keys
from plait.support.words import nearest

IGNORED = ("protocol", "kind", "model", "name", "or")
"""Words in table names that are not sections of their own."""
LEAST = 40
"""Minimum width of wrapped text in columns, also on narrower terminals."""


def sections(table: str) -> list[str]:
    """Return the words by which a user finds a table.

    For ``[transport] protocol = "mptcp"`` they are ``transport`` and ``mptcp``.
    """
    words = re.findall(r"\w+\.py:\w+|[\w-]+", table)
    return [word.replace("_", "-") for word in words if word not in IGNORED]


@click.command("keys")
@click.argument("section", required=False)
@JSON
def list_keys(section: str | None, as_json: bool) -> None:
    """List the keys of scenario files, with their values, defaults and meanings.

    SECTION is a table such as transport, path or workload, the topic of a table (mptcp, codel, cbr), or a key such
    as queue. Without it all sections are listed.

    \b
    plait keys transport
    plait keys queue
    """  # noqa: D301  click wants the character, not its escape
    found = scenario_keys() if section is None else of_section(section, scenario_keys())
    if as_json:
        print_json(found)
        return
    width = max(console().width, LEAST)
    lines = overview(found, width) if section is None else descriptions(found, width)
    click.echo("\n".join(lines))


def of_section(section: str, keys: Sequence[Key]) -> list[Key]:
    """Return the keys of the tables that a word names, otherwise the keys with that name.

    Raises:
        ScenarioError: there is no such section or key; the message lists the choices.
    """
    word = section.strip("[]").lower().replace("_", "-")
    tables = [one for one in keys if word in map(str.lower, sections(one["table"]))]
    # `workload` and `transport` are tables as well as keys at the top: the table is more helpful.
    found = tables or [one for one in keys if one["key"].replace("_", "-") == word]
    if not found:
        known = dict.fromkeys(name for one in keys for name in sections(one["table"]))
        near = nearest(word, [*known, *dict.fromkeys(one["key"] for one in keys)])
        meant = "" if near is None else f" (did you mean {near}?)"
        message = f"section {section!r}: unknown{meant}; expected a key or one of: {', '.join(known)}"
        raise ScenarioError(message)
    return found


def overview(keys: Sequence[Key], width: int) -> Iterator[str]:
    """Yield every table with the names of its keys."""
    for table, members in groupby(keys, lambda one: one["table"]):
        yield table
        names = ", ".join(one["key"] for one in members)
        yield from textwrap.wrap(
            names, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )
    yield ""
    more = "plait keys SECTION describes the keys of a table, such as transport, or one key, such as queue."
    yield from textwrap.wrap(more, width)


def descriptions(keys: Sequence[Key], width: int) -> Iterator[str]:
    """Yield every key with its type, its default and its meaning."""
    for number, (table, members) in enumerate(groupby(keys, lambda one: one["table"])):
        if number:
            yield ""
        yield table
        for one in members:
            yield f"  {one['key']}"
            for text in (f"takes {one['kind']}; {_default(one['default'])}", one["doc"]):
                yield from textwrap.wrap(
                    text, width, initial_indent="      ", subsequent_indent="      ", break_on_hyphens=False
                )


def _default(default: object) -> str:
    """Describe the value of a key that is not set."""
    if default is None:
        return "required"
    if isinstance(default, bool):
        return f"unless given, {str(default).lower()}"
    return f"unless given, {default}"
