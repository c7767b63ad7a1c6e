"""The playground's page in a browser, without network: its results against native ones, its controls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from playwright.sync_api import Browser, Page

import plait
from plait.playground import page as pages
from plait.playground import simulator
from plait.playground.presets import presets
from plait.runs.decisions import Question, look_up
from plait.scenarios.scenario import from_table

NEEDS_SIMULATOR = pytest.mark.skipif(simulator.fault() is not None, reason=str(simulator.fault()))
SCHEDULERS = ("round-robin", "blest", "redundant")
SECONDS = 1_000_000_000
CALL = """
async (requests) => {
  const packed = Uint8Array.from(atob(document.getElementById("simulator").textContent.trim()), c => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const module = await WebAssembly.compile(await new Response(unpacked).arrayBuffer());
  const worker = new Worker(URL.createObjectURL(new Blob([document.getElementById("worker").textContent])));
  worker.postMessage({ module });
  const answers = [];
  for (const request of requests) {
    worker.postMessage({ id: 1, request });
    answers.push(await new Promise((done) => { worker.onmessage = ({ data }) => done(data.answer); }));
  }
  worker.terminate();
  return answers;
}
"""


@pytest.fixture(scope="module")
def opened(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Opens the page from a file, without a network, and waits for the first pictures."""
    file = tmp_path_factory.mktemp("playground") / "playground.html"
    file.write_text(pages.page(), encoding="utf-8")
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    drawn(page)
    yield page
    assert not errors
    context.close()


def drawn(page: Page) -> None:
    """Waits until both runs are drawn."""
    page.wait_for_function(
        "document.getElementById('status').textContent.startsWith('simulated')", timeout=60_000
    )


def answers(page: Page, requests: list[dict[str, Any]]) -> list[str]:
    """Returns the answers of the simulator in the browser."""
    found: list[str] = page.evaluate(CALL, [json.dumps(one) for one in requests])
    return found


def shortened(scenario: dict[str, Any]) -> dict[str, Any]:
    return {**scenario, "duration": "3s", "warmup": "1s"}


@NEEDS_SIMULATOR
def test_results_in_a_browser_are_the_native_ones_to_the_byte(opened: Page) -> None:
    cases = [(shortened(one["scenario"]), name) for one in presets() for name in SCHEDULERS]
    assert len(cases) >= 30
    start, end = 2 * SECONDS, 2 * SECONDS + SECONDS // 20
    pictures = {"window_ns": [start, end], "series_ns": SECONDS // 100}
    requests = [{"scenario": table, "scheduler": name, "run": pictures} for table, name in cases]
    for (table, name), answer in zip(cases, answers(opened, requests), strict=True):
        native = plait.run(from_table(table, "playground"), name, packets=True, series="10ms")
        assert answer.startswith(f'{{"result":{native.run.json},"scenario":'), (table, name)
        tables = json.loads(answer)["tables"]
        assert tables["connection_series"] == native.connection_series.to_dict(as_series=False)
        assert tables["path_series"] == native.path_series.to_dict(as_series=False)
        sent = native.packets.filter(pl.col("sent_ns").is_between(start, end, closed="left"))
        assert tables["packets"] == sent.drop("blocked_ns").to_dict(as_series=False)


@NEEDS_SIMULATOR
def test_the_decision_of_a_packet_is_that_of_plait_explain(opened: Page) -> None:
    table = shortened(next(presets())["scenario"])
    scenario = from_table(table, "playground")
    packets = plait.run(scenario, "lowest-rtt", packets=True).packets.rows(named=True)
    new = [one for one in packets if not one["retransmission"]][500:3000:500]
    requests = []
    for one in new:
        why = {
            "segment": one["sequence"],
            "path": one["path"],
            "sent_ns": one["sent_ns"],
            "reinjection": False,
        }
        requests.append({"scenario": table, "scheduler": "lowest-rtt", "why": why})
    for one, answer in zip(new, answers(opened, requests), strict=True):
        decision = json.loads(answer)["decision"]
        question = Question(at=decision["time_ns"], until=decision["time_ns"])
        explained = look_up(scenario, question, scheduler="lowest-rtt").document()
        assert decision in explained["decisions"]
        first = decision["segment"]
        assert first <= one["sequence"] < first + decision["segments"]


@NEEDS_SIMULATOR
def test_a_slider_changes_pictures_address_and_file(opened: Page) -> None:
    before, address = opened.locator("#metrics").inner_text(), opened.url
    opened.locator("#rate-0").focus()
    opened.evaluate("document.getElementById('status').textContent = ''")
    for _ in range(40):
        opened.keyboard.press("ArrowRight")
    drawn(opened)
    assert opened.locator("#metrics").inner_text() != before
    assert opened.url != address
    rate = opened.locator("#rate-0-text").input_value()
    assert rate != "16Mbit"
    opened.locator("#as-file").click()
    assert f'rate = "{rate}"' in opened.locator("#text-words").inner_text()
    opened.keyboard.press("Escape")
    other = opened.context.new_page()
    other.goto(opened.url)
    drawn(other)
    assert other.locator("#rate-0-text").input_value() == rate
    assert other.locator("#metrics").inner_text() == opened.locator("#metrics").inner_text()
    other.close()


@NEEDS_SIMULATOR
def test_the_file_and_the_commands_are_those_of_the_page(opened: Page, tmp_path: Path) -> None:
    opened.locator("#as-command").click()
    text = opened.locator("#text-words").inner_text()
    opened.keyboard.press("Escape")
    file = re.search(r"<<'END'\n(.*?)END\n", text, re.DOTALL)
    assert file is not None
    links = tmp_path / "my-links.toml"
    links.write_text(file[1], encoding="utf-8")
    names = re.search(r"plait compare my-links.toml --schedulers (\S+)", text)
    assert names is not None
    shown = opened.locator("#metrics tr").first.inner_text().split("\t")[1:]
    for name, goodput in zip(names[1].split(","), shown, strict=True):
        found = plait.run(links, name).metrics["goodput_bps"] / 1e6
        assert float(goodput) == pytest.approx(found, abs=0.051)


@NEEDS_SIMULATOR
def test_arrow_keys_choose_a_packet_and_show_its_decision(opened: Page) -> None:
    opened.locator("#packets1").focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("document.querySelectorAll('#why-words table tbody tr').length === 2")
    words = opened.locator("#why-words").inner_text()
    assert re.search(r"segment \d+ on (dsl|lte), sent at", words)
    assert "The decision names this path." in words


@NEEDS_SIMULATOR
def test_an_error_is_shown_with_its_place(opened: Page) -> None:
    field = opened.locator("#rate-1-text")
    before = field.input_value()
    field.fill("30Mbitt")
    field.press("Enter")
    opened.wait_for_function("document.getElementById('note0').textContent.includes('path[1]')")
    field.fill(before)
    field.press("Enter")
    opened.wait_for_function("document.getElementById('note0').textContent === ''")


@NEEDS_SIMULATOR
def test_nothing_is_wider_than_a_telephone(opened: Page) -> None:
    opened.set_viewport_size({"width": 390, "height": 844})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    opened.set_viewport_size({"width": 1280, "height": 900})
