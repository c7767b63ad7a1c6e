"""Write the numbers of the page on the simulator's accuracy: ``make validate``.

Run from anywhere: `.venv/bin/python docs/validation.py FOLDER`. It reads the runs that
``plait validate linux --out FOLDER`` left in FOLDER, draws the figure beside the page, and fills in
tables and values.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

from plait import plots
from plait.cli.errors import guarded
from plait.support.files import OutputError, write_text
from plait.support.pages import fill
from plait.validate import Agreement, Measured, load_validation
from plait.validate.report import figure, region_figure
from plait.validate.tables import tables, values

HERE = Path(__file__).resolve().parent
DRAW = "reported"
REGIONS = "![Percentiles of the differences, region by region](images/validation-regions.png)"


def main(folder: Path) -> None:
    """Fill in the page from the runs in a folder.

    Raises:
        OutputError: the folder has no runs.
    """
    frames = []
    for name in ("runs", "outcomes"):
        file = folder / f"{name}.parquet"
        if not file.is_file():
            message = f"{file}: no such file; plait validate linux --out {folder} writes it"
            raise OutputError(message)
        frames.append(pl.read_parquet(file))
    found = Agreement(load_validation(draw=DRAW), Measured.of(*frames))
    plots.save(figure(found), HERE / "images" / "validation.png")
    plots.save(region_figure(found), HERE / "images" / "validation-regions.png")
    page = HERE / "validation.md"
    made = tables(found)
    made["regions"] = f"{REGIONS}\n\n{made['regions']}"
    write_text(page, fill(page.read_text(encoding="utf-8"), made, values(found)))


if __name__ == "__main__":
    guarded(lambda: main(Path(sys.argv[1] if len(sys.argv) > 1 else "results/validation")))
