"""The stub's classes of facts, from the Rust structs behind them: `python/plait/_core.pyi`."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STUB = ROOT / "python" / "plait" / "_core.pyi"
SOURCE = ROOT / "crates" / "plait-py" / "src" / "facts.rs"
WIDTH = 100
CLASS = re.compile(r"((?:/// .*\n)+)(?:#\[.*\n)+pub\(crate\) struct (\w+) \{\n((?: .*\n)+)\}\n")
FIELD = re.compile(r"((?:    /// .*\n)+)    (\w+): (.+),\n")
IN_STUB = r"^@final\nclass {}:\n.*?\n(?=\n*^\S)"
TYPES = {"f64": "float", "String": "str", "&'static str": "str", "u8": "int", "u32": "int", "u64": "int"}
"""Types of Rust that have another name in Python."""


def filled(text: str) -> str:
    """The stub with the classes that the Rust source has now."""
    for about, name, body in CLASS.findall(SOURCE.read_text(encoding="utf-8")):
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
    optional = re.fullmatch(r"Option<(.+)>", rust)
    return f"{python_type(optional[1])} | None" if optional else TYPES.get(rust, rust)


def docstring(lines: str) -> str:
    """Lines of Rust documentation as an indented docstring."""
    text = " ".join(re.sub(r"^ *///", "", lines, flags=re.M).split())
    return textwrap.indent(textwrap.fill(f'"""{text}"""', WIDTH - 4, break_on_hyphens=False), "    ") + "\n"
