"""Writes the manual page of a program: a frame written by hand, and the program's ``--help``.

``python packaging/man.py FRAME PROGRAM VERSION``: prints the page. ``FRAME`` is a page (roff) with
the lines ``@USAGE@``, ``@COMMANDS@`` and ``@OPTIONS@``. The program may be of clap or of argparse.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ITEM = re.compile(r" {2,8}(\S.*?)(?: {2,}(\S.*))?")
"""A command, argument or option; deeper lines continue its text."""


@dataclass
class Help:
    """The content of ``--help``: usage, and by title the items with their texts."""

    usage: str = ""
    items: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def of(self, *titles: str) -> list[tuple[str, str]]:
        """Returns the items of some titles but ``--help``, which every command has."""
        found = [one for title in titles for one in self.items.get(title, [])]
        return [(name, text) for name, text in found if not name.startswith("-h, ")]


def page(frame: str, program: Path, version: str) -> str:
    """Returns the page of a program."""
    whole = help_of(program)
    commands = [one for one in whole.of("commands", "positional arguments") if one[0] != "COMMAND"]
    each = [(name, text, help_of(program, name)) for name, text in commands]
    parts = {
        "VERSION": version,
        "USAGE": "\n.br\n".join(bold(one.usage) for _, _, one in each),
        "COMMANDS": "\n".join(line for one in each for line in section(*one)),
        "OPTIONS": "\n".join(listed(whole.items["options"])),
    }
    return re.sub(r"@([A-Z]+)@", lambda found: parts[found[1]], frame)


def help_of(program: Path, *command: str) -> Help:
    """Reads the help of a program or of its command."""
    wide = os.environ | {"COLUMNS": "1000"}  # argparse breaks lines
    lines = subprocess.run(
        [program.absolute(), *command, "--help"], check=True, capture_output=True, text=True, env=wide
    ).stdout.splitlines()
    told, title = Help(), ""
    for line in lines:
        if line.lower().startswith("usage: "):
            told.usage = line[len("usage: ") :].replace(" [-h]", "")
        elif re.fullmatch(r"\S.*:", line):
            title = line[:-1].lower()
        elif title and (item := ITEM.fullmatch(line)):
            told.items.setdefault(title, []).append((item[1], item[2] or ""))
        elif title and line.strip():
            name, text = told.items[title].pop()
            told.items[title].append((name, f"{text} {line.strip()}".strip()))
    return told


def section(name: str, text: str, told: Help) -> Iterator[str]:
    """Yields the lines of a command's section."""
    yield from (f".SS {escaped(name)}", sentence(text), ".PP", bold(told.usage))
    yield from listed(told.of("arguments", "positional arguments", "options"))


def listed(items: list[tuple[str, str]]) -> Iterator[str]:
    """Yields the lines of a list of options."""
    for name, text in items:
        yield from (".TP", bold(name), sentence(text))


def bold(text: str) -> str:
    """Returns usage or an option with its words in bold, and placeholders such as <FILE> in italics."""
    text = re.sub(r"<([^>]*)>", r"\\fI\1\\fR", escaped(text))
    return re.sub(r"(?<!\S)(\[*)((?:\\-|[a-z])[a-z\\-]*)", r"\1\\fB\2\\fR", text)


def sentence(text: str) -> str:
    """Returns a help text as a sentence, with words in backquotes in bold."""
    if not text:
        return "\\&"
    ended = text if text[-1] in ".…" else f"{text}."
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fR", escaped(ended[0].upper() + ended[1:]))


def escaped(text: str) -> str:
    """Returns a text that roff prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(page(Path(sys.argv[1]).read_text(), Path(sys.argv[2]), sys.argv[3]), end="")
