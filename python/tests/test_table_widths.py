"""Tables lose no digit in a terminal of any width."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType

import plait.cli.validate  # noqa: F401  for sys.modules: as an attribute, `validate` is the command
from plait.advice import advise
from plait.advice.page import evidence, page
from plait.cli import cli, sheet
from plait.support.tables import BARE, FRAMED, RULED, Content, TableStyle, table
from plait.sweep import Dataset, read, sweep
from plait.validate import requests

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


SCENARIO = """
name = "three"
duration = "2s"
[transport]
protocol = "mptcp"
[workload]
kind = "bulk"
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
[[path]]
name = "cellular-long-name"
rate = "30Mbit"
rtt = "60ms"
loss = "0.5%"
[[path]]
name = "sat"
rate = "900Mbit"
rtt = "600ms"
"""
LONG = "redundant+rp+bm:mode=probing:probe_after=200"
COMMANDS = (
    ("run", "three.toml", "--scheduler", LONG, "--alone"),
    ("compare", "three.toml", "--schedulers", "round-robin,lowest-rtt,daps,intelligent-delivery-delay"),
    ("compare", "three.toml", "--schedulers", f"blest+rp,{LONG}", "--alone"),
    ("analyze", "set"),
    ("analyze", "set", "--metric", "app_delay_ms.p95", "--by", "rtt"),
    ("explain", "three.toml", "--scheduler", "intelligent-delivery-delay", "--at", "1s", "--count", "3"),
    ("reproduce", "--list"),
    ("schedulers",),
    ("keys",),
    ("keys", "transport"),
    ("validate", "linux", "--list"),
)
"""Commands that print tables.

Other tests below check `advise`, `reproduce` and the results of `validate`.
"""


def numbers(text: str) -> set[str]:
    return set(re.findall(r"[+−]?\d[\d,.]*", text))


def whole(text: str, width: int) -> None:
    """Asserts that no line exceeds the width and no text is cut."""
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text.replace(" … ", " ").replace("[…]", "")


@pytest.fixture
def printed(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[tuple[str, ...], int], str]:
    """Returns a function that runs a command in a terminal of a given width."""
    (tmp_path / "three.toml").write_text(SCENARIO)
    (tmp_path / "set").symlink_to(dataset.folder)
    monkeypatch.chdir(tmp_path)

    def at(arguments: tuple[str, ...], width: int) -> str:
        monkeypatch.setattr(sheet, "WIDTH", width)
        done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout

    return at


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_every_command_says_every_number_at_every_width(
    arguments: tuple[str, ...], printed: Callable[[tuple[str, ...], int], str]
) -> None:
    widest = numbers(printed(arguments, 1000))
    for width in WIDTHS:
        text = printed(arguments, width)
        whole(text, width)
        assert numbers(text) == widest, width


@pytest.mark.parametrize("width", WIDTHS)
def test_analyze_names_every_scheduler(
    width: int, dataset: Dataset, printed: Callable[[tuple[str, ...], int], str]
) -> None:
    text = printed(("analyze", "set"), width)
    assert all(name in text for name in dataset.schedulers)


def test_analyze_has_120_columns_at_most(printed: Callable[[tuple[str, ...], int], str]) -> None:
    text = printed(("analyze", "set"), 500)
    assert 100 < max(map(len, text.splitlines())) <= 120


def drawn(content: RenderableType, width: int) -> str:
    out = Console(file=io.StringIO(), width=width)
    out.print(content, width=width)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_advice_leaves_columns_out_and_cuts_none() -> None:
    advice = advise(
        ["dsl 16Mbit 25ms", "a-link-with-a-name 30Mbit 60ms"], schedulers=["lowest-rtt", LONG], events=60_000
    )
    widest = numbers(drawn(page(advice, 200), 200))
    for width in WIDTHS:
        text = drawn(page(advice, width), width)
        # Users copy commands, so these may be longer than the line.
        whole(text, width)
        assert numbers(drawn(evidence(advice, width), width)) <= widest
        for one in advice.standings:
            assert one.label in " ".join(text.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_requests_of_both_engines_are_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = requests.draw(3, 4)
    found = [
        requests.LatencyDifference(
            case,
            dict.fromkeys(requests.MEASURES, 1234.5 + number),
            dict.fromkeys(requests.MEASURES, 4321.5 * number + 1),
        )
        for number, case in enumerate(cases)
    ]
    out = Console(file=io.StringIO(), width=width)
    monkeypatch.setattr(sys.modules["plait.cli.validate_tables"], "console", lambda: out)
    sys.modules["plait.cli.validate_tables"].print_requests(found)
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    whole(text, width)
    assert "1235.5" in text
    assert f"{found[3].percent('mean'):+.1f}" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_cells_are_whole_and_in_order(width: int) -> None:
    headings = ["name", *(f"column {number}" for number in range(8))]
    rows = [[f"row {row}", *(f"{row}{column}23456.789" for column in range(8))] for row in range(3)]
    text = drawn(table(Content(headings, rows, breaks=[0]), width, title="title"), width)
    cells = [cell for row in rows for cell in row]
    found = re.findall("|".join(map(re.escape, cells)), text)
    assert found == cells
    assert ("┃" in text) == (width >= 153)


@pytest.mark.parametrize("style", [FRAMED, RULED, BARE])
@pytest.mark.parametrize("width", range(23, 90, 3))
def test_a_table_takes_what_it_says(width: int, style: TableStyle) -> None:
    """A table that just fits its width is printed as a table; text breaks only between words."""
    content = Content(
        ["who", "what it does", "value\n(unit)"],
        [
            ["first", "a sentence of several words, unbreakable-in-places", "12345.6"],
            ["second", "short", "7"],
        ],
        words=(0, 1),
    )
    text = drawn(table(content, width, style=style), width)
    whole(text, width)
    cells = text.replace("│", " ").split()
    assert {"unbreakable-in-places", "12345.6", "sentence"} <= set(cells)
    assert (content.widths(width, style) is None) == ("value (unit):" in text)
