"""The playground's page in Firefox: the same results as natively, sliders and keys."""

from __future__ import annotations

import json
from collections.abc import Iterator

import firefox
import pytest
from test_playground_page import CALL, NEEDS_SIMULATOR, SCHEDULERS, SECONDS, shortened

import plait
from plait.playground import page as pages
from plait.playground.presets import presets
from plait.scenarios.scenario import from_table

pytestmark = [
    pytest.mark.slow,
    NEEDS_SIMULATOR,
    pytest.mark.skipif(firefox.PROGRAM is None, reason="no Firefox"),
]
SIMULATED = "document.getElementById('status').textContent.startsWith('simulated')"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[firefox.Firefox]:
    """Opens the page from a file and waits for the first pictures."""
    file = tmp_path_factory.mktemp("playground") / "playground.html"
    file.write_text(pages.page(), encoding="utf-8")
    with firefox.started() as browser:
        browser.goto(file.as_uri())
        browser.wait_for(SIMULATED)
        yield browser


def test_results_in_firefox_are_the_native_ones_to_the_byte(opened: firefox.Firefox) -> None:
    cases = [(shortened(one["scenario"]), name) for one in presets() for name in SCHEDULERS]
    assert len(cases) >= 30
    pictures = {"window_ns": [2 * SECONDS, 2 * SECONDS + 1], "series_ns": SECONDS // 100}
    requests = [json.dumps({"scenario": table, "scheduler": name, "run": pictures}) for table, name in cases]
    for (table, name), answer in zip(cases, opened.evaluate(CALL, [requests, None]), strict=True):
        native = plait.run(from_table(table, "playground"), name, packets=True, series="10ms")
        assert answer.startswith(f'{{"result":{native.run.json},"scenario":'), (table, name)


def test_a_slider_changes_the_metrics(opened: firefox.Firefox) -> None:
    metrics = "() => document.getElementById('metrics').textContent"
    before = opened.evaluate(metrics)
    opened.evaluate("""() => {
      document.getElementById("status").textContent = "";
      const slider = document.getElementById("rate-0");
      slider.value = Number(slider.value) + 40;
      slider.dispatchEvent(new Event("input"));
    }""")
    opened.wait_for(SIMULATED)
    assert opened.evaluate(metrics) != before


def test_arrow_keys_choose_a_packet(opened: firefox.Firefox) -> None:
    opened.evaluate("() => document.getElementById('packets1').focus()")
    opened.press("ArrowRight")
    opened.wait_for("document.querySelectorAll('#why-words thead th').length === 3")
