"""Write generated text about the code into the stub and the pages: `make reference`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS)]

import generated  # noqa: E402
from generated import stub  # noqa: E402


def main() -> None:
    """Fill in the stub, which the pages quote, and every page with a place for generated text."""
    update(stub.STUB, stub.filled)
    for file in generated.pages():
        update(file, generated.filled)


def update(file: Path, filled: Callable[[str], str]) -> None:
    """Write a file anew if its generated text has changed."""
    before = file.read_text(encoding="utf-8")
    after = filled(before)
    if after != before:
        file.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
