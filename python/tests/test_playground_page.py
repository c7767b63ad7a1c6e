"""The playground's page in a browser, without network: its results and its controls."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Command
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
async ([requests, other]) => {
  const packed = Uint8Array.from(atob(document.getElementById("simulator").textContent.trim()), c => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = other ? Uint8Array.from(other) : await new Response(unpacked).arrayBuffer();
  const module = await WebAssembly.compile(bytes);
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
"""Returns the worker's answers to the requests, by the page's simulator or by another module."""
ONCE = bytes.fromhex(
    "0061736d 01000000 01110360017f017f60027f7f017e60027f7f00 030403000102 0503010001 0606017f0141000b"
    "0736 04 066d656d6f72790200 0a706c6169745f726f6f6d0000 0c706c6169745f616e737765720001"
    "0d706c6169745f72656c656173650002 0a180304 0041080b 0e 00230004 40000b4101240042020b 02000b 0b080100 41000b027b7d"
)
"""A module in place of the simulator. Each instance answers the first request by `{}`, then traps:

    (memory (export "memory") 1) (data (i32.const 0) "{}") (global $used (mut i32) (i32.const 0))
    (func (export "plait_room") (param i32) (result i32) i32.const 8)
    (func (export "plait_answer") (param i32 i32) (result i64)
      global.get $used  if unreachable end  i32.const 1  global.set $used  i64.const 2)
    (func (export "plait_release") (param i32 i32))
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


def answers(page: Page, requests: list[dict[str, Any]], module: bytes = b"") -> list[str]:
    """Returns the answers of the simulator in the browser."""
    found: list[str] = page.evaluate(CALL, [[json.dumps(one) for one in requests], [*module] or None])
    return found


def opened_anew(page: Page, state: dict[str, Any]) -> None:
    """Opens a state by its address."""
    packed = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
    # A run of the state before may end while the page gets the event.
    page.evaluate(
        """(hash) => new Promise((resolve) => {
          addEventListener("hashchange", () => {
            document.getElementById("status").textContent = "";
            resolve();
          }, { once: true });
          location.hash = hash;
        })""",
        packed,
    )
    drawn(page)


def changed(page: Page, field: str, value: str) -> None:
    """Writes a value into a field."""
    page.locator(f"#{field}").fill(value)
    page.locator(f"#{field}").press("Enter")


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
    written = opened.evaluate("""() => {
      const [slider, replace] = [document.getElementById("rate-0"), history.replaceState];
      window.written = 0;
      history.replaceState = (...values) => { window.written += 1; replace.apply(history, values); };
      document.getElementById("status").textContent = "";
      for (let step = 0; step < 40; step += 1) {
        slider.value = Number(slider.value) + 1;
        slider.dispatchEvent(new Event("input"));
      }
      return window.written;
    }""")
    assert written == 0
    drawn(opened)
    assert opened.locator("#metrics").inner_text() != before
    opened.wait_for_function("(before) => location.href !== before", arg=address)
    assert opened.evaluate("window.written") == 1
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
def test_a_file_is_measured_from_its_beginning_and_equal_schedulers_are_compared_once(opened: Page) -> None:
    opened.locator("#preset").select_option("0")
    opened.locator("#scheduler1").select_option("round-robin")
    opened.locator("#traffic").select_option("file")
    opened.wait_for_function("document.getElementById('summary0').textContent.startsWith('24.4 Mbit/s')")
    opened.locator("#as-command").click()
    assert "--schedulers round-robin\n" in opened.locator("#text-words").inner_text()
    opened.keyboard.press("Escape")


@NEEDS_SIMULATOR
def test_arrow_keys_choose_a_packet_and_show_its_decision(opened: Page) -> None:
    opened.locator("#preset").select_option("0")
    drawn(opened)
    opened.locator("#packets1").focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    opened.wait_for_function("document.querySelectorAll('#why-words thead th').length === 3")
    words = opened.locator("#why-words").inner_text()
    assert re.search(r"segment \d+ on (dsl|lte), sent at", words)


@NEEDS_SIMULATOR
@pytest.mark.parametrize(
    ("name", "from_s"), [("blest", 2.0), ("ecf", 2.0225), ("daps", 1.05), ("plait", 2.0)]
)
def test_the_words_about_a_packet_are_those_of_plait_explain(
    opened: Page, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, from_s: float
) -> None:
    # Too narrow for a table with verdicts: each verdict has its own line.
    monkeypatch.setenv("COLUMNS", "60")
    table = {**next(presets())["scenario"], "name": "words"}
    links = tmp_path / "links.json"
    links.write_text(json.dumps(table), encoding="utf-8")
    opened_anew(opened, {"scenario": table, "schedulers": [name, name], "from_s": from_s, "length_ms": 10})
    opened.locator("#packets1").focus()
    reasons = 0
    for _ in range(6):
        opened.evaluate("document.getElementById('why-words').replaceChildren()")
        opened.keyboard.press("ArrowRight")
        opened.wait_for_selector("#why-words .decided")
        time, decided = opened.locator("#why-words .decided").inner_text().split(": ", 1)
        paths = opened.locator("#why-words thead th").all_inner_texts()[1:]
        verdicts = opened.locator("#why-words tbody tr:first-child td").all_inner_texts()
        facts = opened.locator("#why-words .soft").all_inner_texts()
        at = Decimal(time.removesuffix(" s"))
        span = ("--at", f"{at}s", "--until", f"{at + Decimal('0.000001')}s")
        text = command("explain", str(links), "--scheduler", name, *span).stdout
        blocks = [" ".join(block.split()) for block in text.split("\n\n")]
        [block] = [block for block in blocks if block.startswith(f"{time} {decided} ")]
        expected = [f"{path}: {verdict}" for path, verdict in zip(paths, verdicts, strict=True)]
        assert block.endswith(" ".join([*expected, *facts]))
        reasons += "reason: " in facts[-1]
    assert reasons > 0


@NEEDS_SIMULATOR
@pytest.mark.parametrize(
    ("field", "value", "place"),
    [
        ("rate-1-text", "30Mbitt", 'path[1].rate (lte) = "30Mbitt"'),
        ("outage-1-text", "2 seconds", 'path[1].outages[0].to (lte) = "2 seconds"'),
    ],
)
def test_an_error_is_shown_with_its_place(opened: Page, field: str, value: str, place: str) -> None:
    before = opened.locator(f"#{field}").input_value()
    changed(opened, field, value)
    shown = "(place) => document.querySelector('.old #note0')?.textContent.includes(place)"
    opened.wait_for_function(shown, arg=place)
    changed(opened, field, before)
    opened.wait_for_function("document.querySelector('#results:not(.old) #note0')?.textContent === ''")


@NEEDS_SIMULATOR
def test_a_field_takes_a_table_in_json(opened: Page) -> None:
    note = opened.locator(".field:has(#loss-0) .error")
    for wrong in ("{ kind", '{ model = "gilbert-elliott" }'):
        changed(opened, "loss-0-text", wrong)
        assert re.fullmatch(r"Loss: expected a value such as [\d.]+%, or a table in JSON", note.inner_text())
    changed(opened, "loss-0-text", '{"model": "gilbert-elliott", "to_bad": "1%", "to_good": "20%"}')
    assert note.inner_text() == ""
    opened.locator("#as-file").click()
    table = 'loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "20%" }'
    assert table in opened.locator("#text-words").inner_text()
    opened.keyboard.press("Escape")
    drawn(opened)
    assert opened.locator("#note0").inner_text() == ""
    changed(opened, "loss-0-text", "0%")


@NEEDS_SIMULATOR
def test_a_change_of_structure_keeps_focus_and_groups(opened: Page) -> None:
    focused = "document.activeElement.id || document.activeElement.parentElement.dataset.name"
    names = "[...document.querySelectorAll('details')].map(one => [one.dataset.name, one.open])"
    opened.set_viewport_size({"width": 390, "height": 844})
    opened.locator("details[data-name=dsl] summary").click()
    opened.locator("#protocol").focus()
    opened.locator("#protocol").select_option("mpquic")
    assert opened.evaluate(focused) == "protocol"
    assert opened.evaluate(names) == [["Connection", True], ["dsl", False], ["lte", True]]
    opened.set_viewport_size({"width": 1280, "height": 900})
    for button, then in (
        ("add-path", "add-path"),
        ("add-path", "path4"),
        ("remove-2", "remove-2"),
        ("add-path", "path5"),
        ("remove-3", "add-path"),
    ):
        opened.locator(f"#{button}").evaluate("one => one.focus()")
        opened.keyboard.press("Enter")
        assert opened.evaluate(focused) == then, button
    assert [name for name, _ in opened.evaluate(names)] == ["Connection", "dsl", "lte", "path4"]
    assert opened.locator("#preset").input_value() == "own"
    opened.locator("#preset").select_option("0")
    assert opened.locator("details").count() == 3


@NEEDS_SIMULATOR
def test_an_address_can_hold_changes_during_a_run_but_no_parameters_of_schedulers(opened: Page) -> None:
    first = next(presets())
    dsl, lte = first["scenario"]["path"]
    paths = [{**dsl, "loss": "0%", "loss_steps": [{"at": "2s", "loss": "1%"}]}, {**lte, "name": "varying"}]
    state = {"scenario": {**first["scenario"], "path": paths}, "schedulers": ["blest", "ecf"]}
    opened_anew(opened, state)
    assert opened.locator("#loss-0").count() == 0
    assert opened.locator("#loss-1").count() == 1
    tables = [{"name": "weighted"}, "ecf"]
    opened_anew(opened, {**state, "scenario": first["scenario"], "schedulers": tables})
    assert opened.locator("details[data-name=varying]").count() == 1
    opened_anew(opened, {**state, "scenario": first["scenario"], "schedulers": first["schedulers"]})


@NEEDS_SIMULATOR
def test_a_trap_does_not_outlast_its_request(opened: Page) -> None:
    first, trapped, third = answers(opened, [{}, {}, {}], ONCE)
    assert (first, third) == ("{}", "{}")
    assert "the simulator stopped: unreachable" in trapped


@NEEDS_SIMULATOR
def test_the_page_says_that_it_simulates_and_whether_it_copied(opened: Page) -> None:
    opened.evaluate("""() => {
      const [status, later] = [document.getElementById("status"), window.setTimeout];
      window.said = [];
      new MutationObserver(() => window.said.push(status.textContent)).observe(status, { childList: true });
      window.setTimeout = (act, time) => later(act, time === 200 ? 0 : time);
    }""")
    changed(opened, "seed", "2")
    opened.wait_for_function("window.said.at(-1)?.startsWith('simulated')")
    assert "simulating" in opened.evaluate("window.said")
    replace = "(copy) => Object.defineProperty(navigator, 'clipboard', { value: copy, configurable: true })"
    kept = "{ writeText: async (text) => { window.copied = text; } }"
    opened.evaluate(f"({replace})({kept})")
    opened.locator("#as-address").click()
    opened.wait_for_function("document.getElementById('status').textContent === 'copied'")
    assert opened.evaluate("window.copied") == opened.url
    opened.locator("#as-file").click()
    opened.evaluate(f"({replace})(undefined)")
    opened.locator("#copy").click()
    message = "cannot copy here: select the text"
    opened.wait_for_function(
        "(words) => document.getElementById('copied').textContent === words", arg=message
    )
    opened.keyboard.press("Escape")


@NEEDS_SIMULATOR
def test_packets_are_drawn_before_a_long_run_ends(opened: Page) -> None:
    before = opened.locator("#duration").input_value()
    opened.evaluate("""() => {
      const { dataset } = document.documentElement;
      delete dataset.packetsMs;
      delete dataset.completeMs;
      window.seen = [];
      const look = () => window.seen.push(Object.keys(dataset).join());
      new MutationObserver(look).observe(document.documentElement, { attributes: true });
    }""")
    changed(opened, "duration", "60s")
    opened.wait_for_function("window.seen.includes('packetsMs,completeMs')")
    assert opened.evaluate("window.seen") == ["packetsMs", "packetsMs,completeMs"]
    opened.evaluate("document.getElementById('status').textContent = ''")
    changed(opened, "duration", before)
    drawn(opened)


@NEEDS_SIMULATOR
def test_nothing_is_wider_than_a_telephone(opened: Page) -> None:
    opened.set_viewport_size({"width": 390, "height": 844})
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    cut = "[...document.querySelectorAll('#controls input')].filter(one => one.scrollWidth > one.clientWidth)"
    for one in presets():
        opened.locator("#preset").select_option(label=one["title"])
        assert opened.evaluate(f"{cut}.map(one => one.value)") == []
