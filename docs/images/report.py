"""Take the pictures of docs/report.md: a report of runs and one of a small sweep, opened in Chromium.

Run from anywhere: `.venv/bin/python docs/images/report.py`. Needs Debian's `chromium`.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import plait
from plait.reports import Rows
from plait.runs.experiment import frame, grid
from plait.runs.run import Task

HERE = Path(__file__).resolve().parent
SCHEDULERS = ["lowest-rtt", "round-robin", "redundant"]
PACKETS = HERE.parents[1] / "papers" / "daps-icc14" / "scenarios" / "table2-2-200-45kB.toml"
METRICS = (
    "goodput_bps",
    "app_delay_ms.mean",
    "app_delay_ms.p95",
    "blocking_ms.mean",
    "receive_buffer_packets.mean",
)
LINKS = """
duration = "6s"
warmup = "1s"
[transport]
protocol = "mptcp"
profile = "standard"
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
queue = "50p"
[[path]]
name = "lte"
rate = "8Mbit"
rtt = "60ms"
queue = "50p"
loss = "0.01%"
"""


POINT = """() => {
  const run = data.schedules[0].windows[0].runs[0].columns;
  const element = document.getElementById("g0-schedule");
  const end = 0.8 * element.layout.xaxis.range[1];
  const row = run.sent.findIndex((at, row) => run.path[row] === 1 && at > 0 && run.arrived[row] < end);
  const box = element.getBoundingClientRect();
  const { xaxis, yaxis2 } = element._fullLayout;
  const middle = (run.sent[row] + run.arrived[row]) / 2;
  return [box.left + xaxis._offset + xaxis.d2p(middle), box.top + yaxis2._offset + yaxis2.d2p(0.5)];
}"""


def dataset(folder: Path) -> Rows:
    """Schedulers over the second path's round-trip time and the receive buffer."""
    file = folder / "links.toml"
    file.write_text(LINKS)
    points = list(
        itertools.product(["25ms", "50ms", "100ms", "200ms", "400ms"], ["64kB", "128kB", "256kB", "1MB"])
    )
    tasks: list[Task] = []
    for point, (rtt, buffer) in enumerate(points):
        changes = {"path.lte.rtt": rtt, "transport.receive_buffer": buffer}
        labels = {"point": point, "error": None, **changes}
        tasks += grid(plait.load(file, changes), SCHEDULERS, range(1, 4), labels, perturb=True)
    rows = frame(tasks, METRICS).with_row_index()
    return Rows(rows, list(changes), SCHEDULERS, {"name": "DSL and LTE"})


def picture(page: Page, top: str, bottom: str, file: Path) -> None:
    """Save the part between two elements, both included."""
    first, last = page.locator(top).bounding_box(), page.locator(bottom).bounding_box()
    assert first is not None
    assert last is not None
    low = first["y"] - 6
    clip = {"x": 0, "y": low, "width": 1100, "height": last["y"] + last["height"] + 12 - low}
    page.screenshot(path=file, clip=clip, full_page=True)


def hover(page: Page) -> None:
    """Point at a packet of the slow path that will wait."""
    place = page.evaluate(POINT)
    page.mouse.move(*place)
    page.wait_for_selector("#g0-schedule .hovertext")


def main() -> None:
    """Make both pages and take a picture of each beside this file."""
    chromium = shutil.which("chromium")
    assert chromium is not None, "docs/images/report.py needs Chromium; on Debian: apt-get install chromium"
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 1800})
        comparison = plait.compare(PACKETS, ["round-robin", "daps"], packets=True)
        page.goto(plait.report(comparison, folder / "runs.html").as_uri())
        hover(page)
        picture(page, "#packets", "#g0-schedule", HERE / "report.png")
        page.goto(plait.report(dataset(folder), folder / "sweep.html").as_uri())
        picture(page, "#field-metric", "#field", HERE / "report-sweep.png")
        browser.close()


if __name__ == "__main__":
    main()
