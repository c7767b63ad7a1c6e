"""Text of pages from the code, behind `<!-- generated: NAME -->`: in the repository, and in the site.

A part on lines of its own ends with `<!-- generated until here -->`.
A part of a sentence ends with `<!-- end -->`.
`.venv/bin/python docs/generate.py`, or `make reference`, writes it into the pages; a test holds them current.

| content | source | written by |
|---|---|---|
| `generated: NAME` | the code: tables, help, docstrings, lists, counts | the build, `make reference` |
| `measured: NAME`, `value: NAME` | runs (`docs/studies`), values of other pages | `make figures` (`docs/draw.py`) |
| pages of files elsewhere | these files, with links led to pages | the build |

To add a page: a Markdown file in `docs` and a line in `mkdocs.yml`. `make test-slow` runs its
blocks in order in one folder (one page: `pytest -m slow python/tests/test_examples.py -k NAME`). A
first line `# file: NAME` writes a file; `text` is output, and `text printed` the output of the block
before, which the test checks; `no-run` needs a reason in `test_examples.py`. Pages of *How-to* have
at most 600 words. Numbers need a place in the page, a study in `docs/studies`, and a line in
`docs/draw.py`. Look at the site in a narrow window and in dark colours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from generated import api, commands, keys, metrics, present, schedulers

PARTS: Mapping[str, Callable[[str], str]] = {
    "scenario keys": lambda _: keys.tables(),
    "commands": lambda _: commands.help_texts(),
    "python": api.reference,
    "metrics": metrics.definitions,
    "scheduler": schedulers.facts,
    "schedulers": lambda _: schedulers.overview(),
    "options": lambda _: schedulers.options(),
    "papers": lambda _: schedulers.papers(),
    "list": present.listing,
    "names": present.plain,
    "count": present.count,
    "agreement": present.agreement,
    "kernel parameters": lambda _: present.kernel_parameters(),
    "kernel patches": lambda _: present.kernel_patches(),
}
"""Parts that a page can ask for by `<!-- generated: NAME -->` or `<!-- generated: NAME: ARGUMENT -->`."""


END = "<!-- generated until here -->"
PLACE = re.compile(r"^<!-- generated: ([^:\n]+?)(?:: ([^\n]+?))? -->$", re.MULTILINE)
BODY = re.compile(rf"^(<!-- generated: [^\n]+? -->\n).*?^{END}\n", re.MULTILINE | re.DOTALL)
IN_SENTENCE = re.compile(r"(?<!`)(<!-- generated: ([^:\n]+?)(?:: ([^\n]+?))? -->)[^\n]*?<!-- end -->")
"""Left alone where a page writes about it, as code."""
ROOT = Path(__file__).resolve().parents[2]


def pages() -> list[Path]:
    """Every page of the repository that may ask for something."""
    below = (
        "*.md",
        *(f"{folder}/README.md" for folder in ("benches", "linux", "scenarios", "crates/*", "papers/*")),
    )
    return sorted(file for pattern in (*below, "docs/**/*.md") for file in ROOT.glob(pattern))


def emptied(text: str) -> str:
    """A page without generated text: the marks alone."""
    return IN_SENTENCE.sub(r"\1", BODY.sub(r"\1", text))


def filled(text: str) -> str:
    """A page with all that is generated, between the marks."""
    text = IN_SENTENCE.sub(lambda found: f"{found[1]}{part(found[2], found[3] or '')}<!-- end -->", text)
    return PLACE.sub(
        lambda found: f"{found[0]}\n{part(found[1], found[2] or '')}\n{END}", BODY.sub(r"\1", text)
    )


class UnknownPartError(ValueError):
    """A page asks for something that nobody makes."""


def part(name: str, argument: str = "") -> str:
    """The Markdown of one part; UnknownPartError names the choices."""
    if name not in PARTS:
        message = f"generated {name!r}: unknown; expected one of: {', '.join(PARTS)}"
        raise UnknownPartError(message)
    return PARTS[name](argument)
