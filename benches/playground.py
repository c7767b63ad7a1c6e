"""Times of the playground in Chromium, per preset: from a movement of a slider to its pictures.

`python benches/playground.py` prints the medians of nine movements of the first path's rate, in
milliseconds: until both diagrams of packets are drawn, and until everything is drawn.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from plait.playground.page import page
from plait.playground.presets import presets

MOVEMENTS = 9
MOVE = """
() => new Promise((done) => {
  const { dataset } = document.documentElement;
  delete dataset.completeMs;
  const slider = document.querySelector("#rate-0, #rtt-0, #loss-0");
  slider.value = Number(slider.value) + (Number(slider.value) > 100 ? -1 : 1);
  slider.dispatchEvent(new Event("input"));
  const look = () => (dataset.completeMs
    ? done([Number(dataset.packetsMs), Number(dataset.completeMs)])
    : setTimeout(look, 10));
  look();
})
"""


def measured(opened: Page, preset: int) -> list[float]:
    """Return the medians of both times for a preset."""
    drawn = "() => document.documentElement.dataset.completeMs !== undefined"
    opened.evaluate("() => { delete document.documentElement.dataset.completeMs; }")
    opened.locator("#preset").select_option(str(preset))
    opened.wait_for_function(drawn)
    times = [opened.evaluate(MOVE) for _ in range(MOVEMENTS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def main() -> None:
    """Print a table of all presets."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "playground.html")
        file.write_text(page(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.goto(file.as_uri())
        sys.stdout.write("| preset | packets (ms) | everything (ms) |\n|---|--:|--:|\n")
        for index, one in enumerate(presets()):
            packets, everything = measured(opened, index)
            sys.stdout.write(f"| {one['title']} | {packets:.0f} | {everything:.0f} |\n")
        browser.close()


if __name__ == "__main__":
    main()
