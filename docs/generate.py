"""Write generated text about the code into the pages with a place for it: `make reference`."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS)]

import generated  # noqa: E402


def main() -> None:
    """Fill in every page with a place for generated text."""
    for file in generated.pages():
        before = file.read_text(encoding="utf-8")
        after = generated.filled(before)
        if after != before:
            file.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
