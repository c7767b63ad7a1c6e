"""Hooks of MkDocs for the build of the site.

Pages remain readable in the repository. Here their links to files outside of `docs` become links to
pages, the marks of `plait.support.pages` are removed, and text behind `<!-- generated: … -->` is
made anew from the code (`generated`). Files outside of `docs` that are pages of the site, such as
the README and those of the papers, are read from their own places.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT / "python")]

import generated  # noqa: E402

from plait import papers  # noqa: E402
from plait.playground import page as playground  # noqa: E402
from plait.playground import simulator  # noqa: E402

OUTSIDE = {
    **{f"papers/{name}/README.md": f"papers/{name}.md" for name in papers.names()},
    "README.md": "index.md",
    "benches/README.md": "ns-2.md",
    "scenarios/README.md": "scenarios.md",
    "linux/README.md": "linux.md",
    "usrsctp/README.md": "usrsctp.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Files of the repository that are pages of the site, with their places there."""
PLAYGROUND = "plait-playground.html"
"""The page of the playground in the site."""
OPEN = f"[Open the playground]({PLAYGROUND}){{ .md-button .md-button--primary }}"
NOT_BUILT = "This site was built without the playground: `make playground` builds it, then `make docs`."
FENCE = re.compile(r"^( *)(`{3,})(\w*)[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
GENERATED = re.compile(r"(?<!`)<!-- generated: ([^:]+?)(?:: (.+?))? -->")
MARK = re.compile(r"(?!(?<=`)<!--[^>]*-->`)<!-- (?:(?:measured|value): .+?|end) -->")
"""`GENERATED` and `MARK` do not match marks that a page shows as code."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages with files outside of `docs`, and the playground if it is built."""
    for source, place in OUTSIDE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=text))
    if simulator.fault() is None:
        files.append(File.generated(config, PLAYGROUND, content=playground.page()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page for MkDocs; PluginError if it requests something unknown."""
    uri = page.file.src_uri
    if uri == "playground.md":
        door = OPEN if simulator.fault() is None else NOT_BUILT
        markdown = markdown.replace("<!-- playground -->", door)
    source = next((file for file, place in OUTSIDE.items() if place == uri), f"docs/{uri}")
    try:
        text = outside_of_code(filled, generated.emptied(markdown))
        return outside_of_code(lambda part: enlarged(spaced(links(unmarked(part), source, uri))), text)
    except (ValueError, LookupError) as error:
        message = f"{source}: {error}"
        raise PluginError(message) from error


def outside_of_code(change: Any, text: str) -> str:
    """Change the text between fenced blocks; reduce their first lines to the language."""
    made, at = [], 0
    for fence in FENCE.finditer(text):
        rest = fence[0].partition("\n")[2]
        made += [change(text[at : fence.start()]), f"{fence[1]}{fence[2]}{fence[3]}\n{rest}"]
        at = fence.end()
    return "".join([*made, change(text[at:])])


def filled(text: str) -> str:
    """Insert the generated parts."""
    return GENERATED.sub(lambda found: generated.part(found[1], found[2] or ""), text)


def unmarked(text: str) -> str:
    """Remove the marks of measured tables and values; tables keep an empty line around them."""
    text = re.sub(rf"^(?:{MARK.pattern})$", "", text, flags=re.MULTILINE)
    return MARK.sub("", text)


def spaced(text: str) -> str:
    """Insert an empty line before lists and tables: this Markdown needs it, GitHub's does not."""
    made: list[str] = []
    for line in text.split("\n"):
        before = made[-1] if made else ""
        starts_list = bool(re.match(r"([-*]|\d+\.) ", line)) and not re.match(
            r" *([-*]|\d+\.) | {2,}\S", before
        )
        starts_table = line.startswith("|") and not before.startswith("|")
        if before.strip() and (starts_list or starts_table):
            made.append("")
        made.append(line)
    return "\n".join(made)


def links(text: str, source: str, uri: str) -> str:
    """Turn links of the repository into links to pages; name files that no page shows.

    Raises:
        ValueError: the target of a link does not exist.
    """

    def led(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, hash_mark, anchor = target.partition("#")
        wanted = normpath(str(PurePosixPath(source).parent / path))
        if not (ROOT / wanted).exists() and not is_page(wanted):
            message = f"link to {target!r}: no such file"
            raise ValueError(message)
        place = OUTSIDE.get(wanted) or OUTSIDE.get(f"{wanted}/README.md")
        if place is None and wanted.startswith("docs/") and ((ROOT / wanted).is_file() or is_page(wanted)):
            place = wanted.removeprefix("docs/")
        if place is None:
            return f"{words[1:-1]} (`{wanted}`)" if wanted not in words else words[1:-1]
        return f"{words}({relpath(place, PurePosixPath(uri).parent)}{hash_mark}{anchor})"

    return LINK.sub(led, text)


def enlarged(text: str) -> str:
    """Let a figure open by itself, so that a telephone can enlarge it."""
    return re.sub(r"^(!\[[^\]]*\]\(([^)]+)\))$", r"[\1](\2)", text, flags=re.MULTILINE)


def is_page(wanted: str) -> bool:
    """Whether this file of the repository becomes a page of the site."""
    return wanted.removeprefix("docs/") in {*OUTSIDE.values(), PLAYGROUND}
