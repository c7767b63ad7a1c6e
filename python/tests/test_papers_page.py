"""The page of a reproduction in a browser."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from plait.papers.description import load_paper
from plait.papers.headline import HeadlineTable
from plait.papers.page import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PHONE = 390
DESKTOP = 1280


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_figures_can_be_read_on_a_phone(tmp_path: Path) -> None:
    """They are at least as wide as half their pixels: text of 16 pixels has 8. What does not fit is scrolled to."""
    from playwright.sync_api import sync_playwright

    buffer = io.BytesIO()
    Figure(figsize=(9.6, 4.0), dpi=144).savefig(buffer, format="png")
    paper = replace(load_paper("daps-icc14"), measures=())
    text = page(paper, [], HeadlineTable([], [], []), [("A figure", buffer.getvalue())])
    (tmp_path / "index.html").write_text(text, encoding="utf-8")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = chromium.new_page(viewport={"width": PHONE, "height": 844})
        opened.goto((tmp_path / "index.html").as_uri())
        shown, pixels = opened.evaluate(
            "(image => [image.clientWidth, image.naturalWidth])(document.querySelector('figure img'))"
        )
        assert shown >= pixels / 2
        assert opened.evaluate("document.documentElement.scrollWidth") <= PHONE
        opened.set_viewport_size({"width": DESKTOP, "height": 844})
        whole = "(box => box.scrollWidth <= box.clientWidth)(document.querySelector('.picture'))"
        assert opened.evaluate(whole)
        chromium.close()
