"""Compare CoDel and FQ-CoDel with Linux' own and write the numbers of a page: ``make disciplines``.

Run from anywhere:
`.venv/bin/python docs/queues.py [--draw N] [--repetitions N] [--only WORDS] [--rows FOLDER]`.
With `--rows` it makes no runs: it writes the page from the files `rows.json` and `nearby.json` of
an earlier run in that folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from plait.support.files import write_text
from plait.support.pages import fill
from plait.validate.disciplines import cases, compare, nearby, summary, table

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the cases, or read earlier runs, and fill in the page if all cases are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=6)
    parser.add_argument("--only", default="", help="words that a case's name has, such as 'codel 10Mbit'")
    parser.add_argument("--out", type=Path, default=Path("results/disciplines"))
    parser.add_argument("--rows", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.rows or arguments.out
    if arguments.rows is None:
        folder.mkdir(parents=True, exist_ok=True)
        rows: list[dict[str, Any]] = []
        for case in cases(arguments.only):
            rows += compare([case], arguments.draw, arguments.repetitions)
            sys.stdout.write(table(rows[-1:]).splitlines()[-1] + "\n")
            sys.stdout.flush()
            (folder / "rows.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
        if arguments.only:
            return
        around = compare(nearby(), arguments.draw, 1)
        (folder / "nearby.json").write_text(json.dumps(around, indent=1), encoding="utf-8")
    rows, around = (
        json.loads((folder / name).read_text(encoding="utf-8")) for name in ("rows.json", "nearby.json")
    )
    page = HERE / "queues.md"
    tables = {"summary": summary(rows), "cases": table(rows), "nearby": table(around)}
    write_text(page, fill(page.read_text(encoding="utf-8"), tables, {}))


if __name__ == "__main__":
    main()
