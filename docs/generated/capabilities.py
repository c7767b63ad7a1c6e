"""The attributes by which a scheduler declares its needs, from the Rust source that defines them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from plait.support.pages import markdown

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "crates" / "plait-sched" / "src" / "decision.rs"
FACTS = ROOT / "crates" / "plait-py" / "src" / "facts.rs"
DOCUMENTED = r"((?: *///.*\n)+) *"
"""Documentation of an item, which follows."""
CAPABILITY = re.compile(DOCUMENTED + r'(\w+) = "[\w-]+",')
DECISION = re.compile(DOCUMENTED + r"(\w+)(?: \{|,)")
CLASS = re.compile(r"pub\(crate\) struct (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(DOCUMENTED + r"(\w+): ")
CAUTION = "Without its attribute, a decision ends the run with an error, and a fact is None or 0."


def table() -> str:
    """What each attribute allows, and the decisions and facts that need it."""
    rows = []
    for lines, name in CAPABILITY.findall(block("capabilities! {")):
        needed = [f"`{one}`" for one in (*decisions(name), *facts(name))]
        rows.append([f"`{name}`", told(lines), ", ".join(needed) or "–"])
    return f"{CAUTION}\n\n{markdown(['attribute', 'what it allows', 'needed by'], rows, (0, 1, 2))}"


def decisions(capability: str) -> Iterator[str]:
    """The decisions whose documentation names a capability."""
    for lines, name in DECISION.findall(block("pub enum Decision {")):
        if f"Capabilities::{capability}`" in lines:
            yield name


def facts(capability: str) -> Iterator[str]:
    """The facts that only schedulers with a capability see, and those that the same sentence names."""
    for kind, body in CLASS.findall(FACTS.read_text(encoding="utf-8")):
        shown = {"Path": "PathFacts"}.get(kind, kind)
        for lines, field in FIELD.findall(body):
            for sentence in re.split(r"[.;] ", told(lines)):
                if re.search(rf"needs? `{capability}`", sentence):
                    others = [one for one in re.findall(r"`(\w+)`", sentence) if one != capability]
                    yield from (f"{shown}.{one}" for one in (field, *others))


def block(start: str) -> str:
    """The lines of the Rust source from one to the brace that closes it."""
    return DECISIONS.read_text(encoding="utf-8").partition(f"{start}\n")[2].partition("\n}")[0]


def told(lines: str) -> str:
    """Documentation in one line, as Markdown: names of Rust as those of Python."""
    text = " ".join(re.sub(r"^ *///", "", lines, flags=re.MULTILINE).split())
    text = re.sub(r"\[`crate::Path::(\w+)`\]", r"`PathFacts.\1`", text)
    return re.sub(r"\[`crate::(\w+)::(\w+)`\]", r"`\1.\2`", text)
