"""Write the numbers of the page on the simulator's accuracy: ``make validate``.

Run from anywhere: `.venv/bin/python docs/validation.py FOLDER [BBR]`. It reads the runs that
``plait validate linux --out FOLDER`` left in FOLDER, draws the figure beside the page, and fills in
tables and values. BBR has the runs of ``plait validate linux --draw 33000 --congestion bbr``. Without
it the section on BBR stays as it is.
"""

from __future__ import annotations

import re
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
BBR_DRAW = "33000"
BBR_GOALS = "goals with BBR"
BBR = re.compile(rf"<!-- measured: {BBR_GOALS} -->\n(.*?)\n<!-- end -->", re.DOTALL)
REGIONS = "![Percentiles of the differences, region by region](images/validation-regions.png)"


def measured(folder: Path) -> Measured:
    """Return the runs of both engines in a folder.

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
    return Measured.of(*frames)


def main(folder: Path, bbr: Path | None) -> None:
    """Fill in the page from the runs in a folder, and its section on BBR from those in another.

    Raises:
        OutputError: a folder has no runs.
    """
    found = Agreement(load_validation(draw=DRAW), measured(folder))
    plots.save(figure(found), HERE / "images" / "validation.png")
    plots.save(region_figure(found), HERE / "images" / "validation-regions.png")
    page = HERE / "validation.md"
    text = page.read_text(encoding="utf-8")
    made = tables(found)
    made["regions"] = f"{REGIONS}\n\n{made['regions']}"
    with_bbr = BBR.search(text)
    assert with_bbr, "the page has a section on BBR"
    made[BBR_GOALS] = with_bbr[1]
    if bbr:
        drawn = Agreement(load_validation(draw=BBR_DRAW, control="bbr"), measured(bbr))
        made[BBR_GOALS] = tables(drawn)["goals"]
    write_text(page, fill(text, made, values(found)))


if __name__ == "__main__":
    folders = [Path(argument) for argument in sys.argv[1:]] or [Path("results/validation")]
    guarded(lambda: main(folders[0], folders[1] if len(folders) > 1 else None))
