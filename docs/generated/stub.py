"""The stub's classes of facts, from the Rust structs behind them: `python/plait/_core.pyi`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "python" / "plait" / "_core.pyi"
SOURCES = [ROOT / "crates" / "plait-py" / "src" / name for name in ("facts.rs", "controller_facts.rs")]
WIDTH = 100
CLASS = re.compile(r"((?:/// .*\n)+)(?:#\[.*\n)+pub\(crate\) struct (\w+) \{\n((?: .*\n)+)\}\n")
FIELD = re.compile(r"((?:    /// .*\n)+)    (\w+): (.+),\n")
IN_STUB = r"^@final\nclass {}:\n.*?\n(?=\n*^\S)"
TYPES = {
    "f64": "float",
    "String": "str",
    "&'static str": "str",
    **dict.fromkeys(("u8", "u32", "u64", "usize"), "int"),
}
"""Types of Rust that have another name in Python."""


def filled(text: str) -> str:
    """The stub with the classes that the Rust source has now."""
    source = "".join(file.read_text(encoding="utf-8") for file in SOURCES)
    for about, name, body in CLASS.findall(source):
        fields = (
            f"    {field}: {python_type(rust)}\n{docstring(lines)}"
            for lines, field, rust in FIELD.findall(body)
        )
        written = f"@final\nclass {name}:\n{docstring(about)}\n{''.join(fields)}"
        place = re.search(IN_STUB.format(name), text, re.M | re.S)
        assert place, f"{STUB}: no class {name}"
        text = text[: place.start()] + written + text[place.end() :]
    return text


def python_type(rust: str) -> str:
    """The type in Python of a field of a compiled class."""
    if found := re.fullmatch(r"Option<(.+)>", rust):
        return f"{python_type(found[1])} | None"
    if found := re.fullmatch(r"Vec<(.+)>", rust):
        return f"list[{python_type(found[1])}]"
    return TYPES.get(rust, rust)


def docstring(lines: str) -> str:
    """Lines of Rust documentation as an indented docstring."""
    text = " ".join(re.sub(r"^ *///", "", lines, flags=re.M).split())
    return textwrap.indent(textwrap.fill(f'"""{text}"""', WIDTH - 4, break_on_hyphens=False), "    ") + "\n"
