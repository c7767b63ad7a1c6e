"""Times of the playground in Chromium, per preset: from a movement of a slider to its pictures.

`python benches/playground.py` prints times of nine movements of the first path's rate, in
milliseconds: the medians until both diagrams of packets and until everything is drawn, and the
longest time until everything is drawn. Other pages, such as one of an older Plait, may follow as
files. All pages take turns, movement by movement.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
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


def measured(pages: Sequence[Page], preset: int) -> list[list[tuple[float, float]]]:
    """Return both times of each movement per page. The pages take turns."""
    drawn = "() => document.documentElement.dataset.completeMs !== undefined"
    for one in pages:
        one.bring_to_front()
        one.evaluate("() => { delete document.documentElement.dataset.completeMs; }")
        one.locator("#preset").select_option(str(preset))
        one.wait_for_function(drawn)
    times: list[list[tuple[float, float]]] = [[] for _ in pages]
    for _ in range(MOVEMENTS):
        for one, found in zip(pages, times, strict=True):
            one.bring_to_front()
            found.append(tuple(one.evaluate(MOVE)))
    return times


def main() -> None:
    """Print a table of all presets per page."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder, "playground.html")
        file.write_text(page(), encoding="utf-8")
        files = [file, *(Path(name).resolve() for name in sys.argv[1:])]
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        pages = [browser.new_page(viewport={"width": 1280, "height": 900}) for _ in files]
        for opened, place in zip(pages, files, strict=True):
            opened.goto(place.as_uri())
        heads = "".join(" packets (ms) | everything (ms) | longest (ms) |" for _ in files)
        sys.stdout.write(f"| preset |{heads}\n|---|{'--:|' * 3 * len(files)}\n")
        for index, one in enumerate(presets()):
            cells = ""
            for times in measured(pages, index):
                packets, everything = zip(*times, strict=True)
                for value in (statistics.median(packets), statistics.median(everything), max(everything)):
                    cells += f" {value:.0f} |"
            sys.stdout.write(f"| {one['title']} |{cells}\n")
            sys.stdout.flush()
        browser.close()


if __name__ == "__main__":
    main()
