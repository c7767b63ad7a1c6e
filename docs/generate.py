"""Write generated text about the code into the stub and the pages: `make reference`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS)]

import generated  # noqa: E402
from generated import builders, stub  # noqa: E402


def main() -> None:
    """Fill in the stub, `Transport`, and every page with a place for generated text."""
    update(stub.STUB, stub.filled)
    if update(builders.FILE, builders.filled):
        os.execv(sys.executable, [sys.executable, *sys.argv])  # `plait` has the old fields
    for file in generated.pages():
        update(file, generated.filled)


def update(file: Path, filled: Callable[[str], str]) -> bool:
    """Write a file anew if its generated text has changed; whether it has."""
    before = file.read_text(encoding="utf-8")
    after = filled(before)
    if after != before:
        file.write_text(after, encoding="utf-8")
    return after != before


if __name__ == "__main__":
    main()
