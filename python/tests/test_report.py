"""Reports: contents of the pages, and their use in a browser without network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reported import SCHEDULERS

import plait
from plait.sweep import read

PHONE: Any = {"width": 390, "height": 844}
DESKTOP: Any = {"width": 1280, "height": 900}


class Opened:
    """A page in the browser, with its errors, warnings and network requests."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page, self.file = page, file
        self.wrong: list[str] = []
        page.on(
            "console",
            lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.requested(request.url))
        page.goto(file.as_uri())

    def requested(self, url: str) -> None:
        if url != self.file.as_uri() and not url.startswith(("data:", "blob:")):
            self.wrong.append(f"request of {url}")

    def __call__(self, script: str, argument: Any = None) -> Any:
        return self.page.evaluate(script, argument)

    def traces(self, chart: str) -> Any:
        """Returns name, colour and number of points for each trace of a chart."""
        return self(
            "id => document.getElementById(id).data.map(one => "
            "[one.name, (one.line || one.marker || {}).color, one.x.length])",
            chart,
        )


@pytest.fixture(scope="module")
def desktop(browser: Any) -> Iterator[Any]:
    """A browser window without network."""
    context = browser.new_context(viewport=DESKTOP, offline=True)
    yield context
    context.close()


@pytest.fixture(scope="module")
def runs_page(desktop: Any, results_folder: Path) -> Opened:
    return Opened(desktop.new_page(), plait.report(results_folder, results_folder.parent / "runs.html"))


@pytest.fixture(scope="module")
def dataset_page(desktop: Any, dataset_folder: Path) -> Opened:
    return Opened(desktop.new_page(), plait.report(dataset_folder, dataset_folder.parent / "dataset.html"))


@pytest.fixture
def runs(runs_page: Opened) -> Opened:
    runs_page.page.bring_to_front()  # background pages draw one frame per second
    return runs_page


@pytest.fixture
def dataset(dataset_page: Opened) -> Opened:
    dataset_page.page.bring_to_front()
    return dataset_page


@pytest.fixture(params=["runs", "dataset"])
def either(request: pytest.FixtureRequest, desktop: Any) -> Opened:
    opened: Opened = request.getfixturevalue(request.param)
    return opened


def test_every_chart_is_drawn_and_nothing_is_loaded(either: Opened) -> None:
    drawn = either(
        "[...document.querySelectorAll('.chart')].map(one => [one.id, one.querySelectorAll('.main-svg').length > 0])"
    )
    assert len(drawn) >= 4
    assert all(done for _, done in drawn), drawn
    assert either.wrong == []


def test_axes_say_what_they_show(either: Opened) -> None:
    titles = either(
        """[...document.querySelectorAll('.chart')].map(one => [one.id, Object.entries(one.layout)
        .filter(([key]) => /^[xy]axis/.test(key)).map(([key, axis]) => (axis.title || {}).text).filter(Boolean)])"""
    )
    for chart, texts in titles:
        assert texts, chart
        for text in texts:
            assert re.search(r"\(.+\)|packets", text) or text in ("rtt_ms", "buffer"), (chart, texts)


def test_a_phone_scrolls_down_only(either: Opened) -> None:
    either.page.set_viewport_size(PHONE)
    either.page.wait_for_timeout(300)
    assert either("document.documentElement.scrollWidth") <= PHONE["width"]
    widths = either(
        "[...document.querySelectorAll('.chart .main-svg')].map(one => one.getBoundingClientRect().right)"
    )
    assert max(widths) <= PHONE["width"]
    either.page.set_viewport_size(DESKTOP)
    either.page.wait_for_timeout(300)
    assert either.wrong == []


def test_a_dark_screen_gets_other_colours(either: Opened) -> None:
    chart = either("data.charts[0].id")
    look = "[getComputedStyle(document.body).backgroundColor, document.querySelector('.chart').layout.font.color]"
    light, traces = either(look), either.traces(chart)
    either.page.emulate_media(color_scheme="dark")
    either.page.wait_for_function(
        "colour => document.querySelector('.chart').layout.font.color !== colour", arg=light[1]
    )
    assert all(one != other for one, other in zip(light, either(look), strict=True))
    assert all(one[1] != other[1] for one, other in zip(traces, either.traces(chart), strict=True))
    either.page.emulate_media(color_scheme="light")
    either.page.wait_for_function(
        "colour => document.querySelector('.chart').layout.font.color === colour", arg=light[1]
    )
    assert either.traces(chart) == traces


def test_a_scheduler_is_hidden_in_every_chart(either: Opened) -> None:
    chart = either("data.charts[0].id")
    assert {name for name, _, _ in either.traces(chart)} == set(SCHEDULERS)
    either.page.click(".chip[data-scheduler='0']")
    assert {name for name, _, _ in either.traces(chart)} == {"redundant"}
    either.page.click(".chip[data-scheduler='0']")
    assert {name for name, _, _ in either.traces(chart)} == set(SCHEDULERS)


POSITION = """([path, x, y]) => {
  const element = document.getElementById('g0-schedule');
  element.scrollIntoView({ block: 'center' });
  const box = element.getBoundingClientRect();
  const { xaxis, yaxis, yaxis2 } = element._fullLayout;
  const down = path ? yaxis2 : yaxis;
  return [box.left + xaxis._offset + xaxis.d2p(x), box.top + down._offset + down.d2p(y)];
}"""


def hovered(runs: Opened, path: int, x: float, y: float) -> str:
    """Returns the hover text at a point of the space-time diagram.

    x is in milliseconds of the window shown; y is 1 at the sender and 0 at the receiver.
    """
    runs.page.mouse.move(5, 5)
    runs.page.wait_for_timeout(50)
    runs.page.mouse.move(*runs(POSITION, [path, x, y]))
    runs.page.wait_for_selector("#g0-schedule .hovertext", timeout=3000)
    return str(runs("document.querySelector('#g0-schedule .hovertext').textContent"))


def test_hovering_a_packet_tells_its_life(runs: Opened, comparison: plait.Comparison) -> None:
    start, shown = runs("[data.schedules[0].windows[0].start_ns, data.schedules[0].windows[0].shown_ms]")
    packets = comparison["round-robin"].packets.with_columns(at=(pl.col("sent_ns") - start) / 1e6)
    visible = packets.filter(
        pl.col("at").is_between(0.05 * shown, 0.6 * shown), pl.col("arrived_ns") < start + 0.9e6 * shown
    )
    assert len(visible) >= 4
    for row in visible[1 :: len(visible) // 3].iter_rows(named=True):
        middle = ((row["sent_ns"] + row["arrived_ns"]) / 2 - start) / 1e6
        text = hovered(runs, row["path"], middle, 0.5)
        assert f"packet {row['sequence']}path" in text
        assert (
            f"path {['fast', 'slow'][row['path']]}, {'retransmission' if row['retransmission'] else 'original'}"
            in text
        )
        assert f"sent {row['sent_ns'] / 1e6:.3f} ms" in text
        assert f"arrived {row['arrived_ns'] / 1e6:.3f} ms" in text
        assert (
            f"delivered {row['delivered_ns'] / 1e6:.3f} ms, waited {row['blocked_ns'] / 1e6:.3f} ms" in text
        )


def test_switching_the_scheduler_draws_its_packets(runs: Opened, comparison: plait.Comparison) -> None:
    before = runs.traces("g0-schedule")
    runs.page.click("button[data-run='1']")
    after = runs.traces("g0-schedule")
    assert before != after
    start, end = runs(
        "[0, 1].map(edge => data.schedules[0].windows[0].start_ns + edge * data.schedules[0].windows[0].span_ms * 1e6)"
    )
    held = comparison["redundant"].packets.filter(pl.col("sent_ns").is_between(start, end, closed="left"))
    drawn = runs(
        """() => { const one = data.schedules[0].windows[0].runs[1].columns;
        return [...one.sequence.keys()].filter(row => one.sent[row] >= 0)
          .map(row => [one.sequence[row], one.kind[row]]); }"""
    )
    kinds = held["retransmission"].cast(int) + held["reinjection"].cast(int)
    assert sorted(map(tuple, drawn)) == sorted(zip(held["sequence"], kinds, strict=True))
    assert {0, 2} <= {kind for _, kind in drawn}
    assert sum(points for name, _, points in after if name == "duplicates") > 0
    runs.page.click("button[data-run='0']")
    assert runs.traces("g0-schedule") == before


def test_zooming_keeps_to_the_window(runs: Opened) -> None:
    span = "document.getElementById('g0-schedule').layout.xaxis.range.reduce((low, high) => high - low)"
    first = runs(span)
    runs.page.click("[data-act='in']")
    runs.page.wait_for_timeout(200)
    assert runs(span) == pytest.approx(first / 2)
    runs.page.click("[data-act='all']")
    runs.page.wait_for_timeout(200)
    assert runs(span) >= runs("data.schedules[0].windows[0].span_ms")
    assert runs.wrong == []


def test_the_map_says_who_wins(dataset: Opened, dataset_folder: Path) -> None:
    frame = read(dataset_folder).frame
    for metric, factor in (("goodput_bps", 1e-6), ("app_delay_ms.mean", 1.0)):
        dataset.page.select_option("#field-metric", metric)
        told = dataset("document.getElementById('field').data.flatMap(one => one.customdata)")
        wide = frame.pivot(
            "scheduler", index=["point", "seed", "rtt_ms", "buffer"], values=metric
        ).drop_nulls()
        points = wide.group_by("point", "rtt_ms", "buffer").agg(pl.col(SCHEDULERS).mean() * factor)
        means = points.group_by("rtt_ms", "buffer").agg(pl.col(SCHEDULERS).mean(), points=pl.len())
        assert len(means) == 6
        for row in means.iter_rows(named=True):
            place = f"rtt_ms: {row['rtt_ms']:g}<br>buffer: {row['buffer']}<br>"
            (text,) = {one for line in told for one in line if one.startswith(place)}
            values = {name: float(re.search(rf"{name}: ([\d.]+)", text)[1]) for name in SCHEDULERS}  # type: ignore[index]
            assert values == pytest.approx({name: row[name] for name in SCHEDULERS}, rel=1e-3)
            assert f"compared over {row['points']} point" in text
            assert "too few for an interval" in text
            best = (max if metric == "goodput_bps" else min)(SCHEDULERS, key=lambda name: row[name])
            assert re.search(rf"<b>{best}</b>|<b>tie</b>", text), text
    failed = frame.filter(pl.col("error").is_not_null()).row(0, named=True)
    assert (
        sum(f"buffer: {failed['buffer']}<br>" in one and "1 failed" in one for line in told for one in line)
        > 0
    )
    dataset.page.select_option("#field-x", "2")
    assert dataset("document.getElementById('field').layout.xaxis.title.text") == "loss"
    dataset.page.select_option("#field-y", "2")
    axes = "['xaxis', 'yaxis'].map(axis => document.getElementById('field').layout[axis].title.text)"
    assert dataset(axes) == ["buffer", "loss"]
    assert dataset.wrong == []


def test_the_baseline_and_the_metric_can_be_chosen(dataset: Opened, dataset_folder: Path) -> None:
    frame = read(dataset_folder).frame
    dataset.page.select_option("select[data-choice='metric']", "app_delay_ms.mean")
    assert "application delay" in dataset("document.getElementById('d-distribution').layout.xaxis.title.text")
    dataset.page.select_option("#baseline", "1")
    wide = frame.pivot("scheduler", index=["point", "seed"], values="app_delay_ms.mean").drop_nulls()
    # Less delay is better, so the gain is the saved delay.
    # Each point counts once, with the mean of its seeds.
    gains = wide.with_columns(gain=pl.col("redundant") - pl.col("round-robin"))
    gaps = gains.group_by("point").agg(pl.col("gain").mean())["gain"]
    cells = dataset(
        "[...document.querySelectorAll('#difference-table tr:nth-child(2) > *')].map(one => one.textContent)"
    )
    assert cells[:2] == ["round-robin", str(len(gaps))]
    mean = gaps.mean()
    assert isinstance(mean, float)
    assert float(cells[2].split(" ")[0].replace("−", "-")) == pytest.approx(mean, rel=1e-3)
    assert float(cells[4].removesuffix(" %")) == pytest.approx(100 * (gaps > 0).sum() / len(gaps), abs=0.05)
    assert "it <broke>" in dataset("document.querySelector('#failed + .scroll').textContent")
    assert dataset.wrong == []


def test_the_page_says_what_was_run(runs: Opened) -> None:
    text = runs("document.body.innerText")
    for words in (
        "two <paths>",
        "seed 1",
        "Python",
        "processor",
        "2 Mbit/s",
        "loss 2%",
        "receive buffer 60kB",
    ):
        assert words in text, words
    given = json.loads(runs("document.querySelector('details pre').textContent"))
    assert given["transport"]["receive_buffer"] == "60kB"
