"""Tables lose no digit, however wide the terminal is."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from plait.analysis import analyze
from plait.cli import analyze as command
from plait.cli.tables import print_rows
from plait.sweep import Dataset, read, sweep

PLAN = """
schedulers = ["lowest-rtt", "intelligent-delivery-delay", "redundant:mode=opportunistic", "blest"]
seeds = 2
set = { "path.lte.rtt" = "{rtt}ms" }
[scenario]
duration = "2s"
path = [{ name = "dsl", rate = "16Mbit", rtt = "25ms" }, { name = "lte", rate = "30Mbit", rtt = "60ms", loss = "0.5%" }]
[[axis]]
rtt = { range = [20, 200], points = 9 }
"""
WIDTHS = (60, 80, 120, 200)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("widths")
    (folder / "plan.toml").write_text(PLAN)
    return read(sweep(folder / "plan.toml", folder / "set").folder)


def numbers(text: str) -> list[str]:
    return sorted(re.findall(r"[+−]?\d[\d,.]*", text))


@pytest.mark.parametrize("width", WIDTHS)
def test_analyze_says_every_number_at_every_width(
    width: int, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = analyze(dataset)

    def printed(columns: int) -> str:
        out = Console(file=io.StringIO(), width=columns)
        monkeypatch.setattr(command, "console", lambda: out)
        command._print(found)
        assert isinstance(out.file, io.StringIO)
        return out.file.getvalue()

    whole, text = printed(1000), printed(width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text.replace(" … ", " ")
    assert set(numbers(whole)) == set(numbers(text))
    for name in dataset.schedulers:
        assert name in text


@pytest.mark.parametrize("width", WIDTHS)
def test_cells_are_whole_and_in_order(width: int) -> None:
    out = Console(file=io.StringIO(), width=width)
    headings = ["name", *(f"column {number}" for number in range(8))]
    rows = [[f"row {row}", *(f"{row}{column}23456.789" for column in range(8))] for row in range(3)]
    print_rows(out, "title", headings, rows, [0])
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    cells = [cell for row in rows for cell in row]
    found = re.findall("|".join(map(re.escape, cells)), text)
    assert found == cells
    assert ("┃" in text) == (width >= 153)
