"""The page of a reproduction, in a browser."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from matplotlib.figure import Figure
from playwright.sync_api import Browser

from plait.papers.description import load_paper
from plait.papers.headline import HeadlineTable
from plait.papers.page import page

PHONE = 390
DESKTOP = 1280


def test_figures_can_be_read_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    """Figures have at least half their width in pixels, so text of 16 pixels is at least 8 high.

    Wider figures scroll inside the page.
    """
    buffer = io.BytesIO()
    Figure(figsize=(9.6, 4.0), dpi=144).savefig(buffer, format="png")
    paper = replace(load_paper("daps-icc14"), measures=())
    text = page(paper, [], HeadlineTable([], [], []), [("A figure", buffer.getvalue())])
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    opened = browser.new_page(viewport={"width": PHONE, "height": 844})
    opened.goto((tmp_path / "index.html").as_uri())
    shown, pixels = opened.evaluate(
        "(image => [image.clientWidth, image.naturalWidth])(document.querySelector('figure img'))"
    )
    assert shown >= pixels / 2
    assert opened.evaluate("document.documentElement.scrollWidth") <= PHONE
    opened.set_viewport_size({"width": DESKTOP, "height": 844})
    whole = "(box => box.scrollWidth <= box.clientWidth)(document.querySelector('.picture'))"
    assert opened.evaluate(whole)
    opened.close()
