"""Pages with text that programs fill in."""

from __future__ import annotations

import pytest

import plait
from plait.support.pages import fill, markdown


def test_pages_are_filled() -> None:
    page = "a <!-- value: v -->old<!-- end --> b\n<!-- measured: t -->\nold\n<!-- end -->\n"
    assert (
        fill(page, {"t": "| 1 |"}, {"v": "7"})
        == "a <!-- value: v -->7<!-- end --> b\n<!-- measured: t -->\n| 1 |\n<!-- end -->\n"
    )
    with pytest.raises(plait.ScenarioError, match="value 'w': unknown"):
        fill(page.replace("value: v", "value: w"), {"t": ""}, {"v": "7"})
    with pytest.raises(plait.ScenarioError, match="each of the tables t once, found none"):
        fill("", {"t": ""}, {})


def test_numbers_are_aligned_to_the_right() -> None:
    assert (
        markdown(["a", "b", "c"], [["x", "1", "y"]], (0, 2))
        == "| a | b | c |\n| --- | --: | --- |\n| x | 1 | y |"
    )
