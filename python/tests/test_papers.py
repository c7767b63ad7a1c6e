import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import plait
from plait.papers import Reproduction, load_paper, names, reproduce
from plait.papers.description import Claim, Expected
from plait.papers.figures import kind
from plait.papers.reproduce import tasks
from plait.papers.rows import Row, agrees
from plait.papers.wording import difference, said
from plait.results.wording import wording
from plait.scenarios.scheduler import parse_choice

ROOT = Path(__file__).resolve().parents[2]
LARGE = ("schedulers-csws14",)
"""Papers that take minutes.

`make reproduce` makes all their runs; other tests make a few points of each design.
"""
FULL = [pytest.param(name, marks=[pytest.mark.full] if name in LARGE else []) for name in names()]


@pytest.mark.parametrize("name", names())
def test_descriptions_are_complete(name: str) -> None:
    paper = load_paper(name)
    assert paper.id == name
    assert paper.baseline in paper.schedulers
    made = tasks(paper)
    for figure in paper.figures:
        assert callable(kind(figure).draw)
        assert {(scenario, label) for scenario in figure.scenarios for label in figure.schedulers} <= set(
            made
        )
    for expected in paper.expected.values():
        assert (expected.paper is None) != (expected.claim is None)
        assert (expected.paper is None) == (expected.tolerance is None)


@pytest.mark.parametrize("name", names())
def test_scenario_files_say_what_the_models_are_given(name: str) -> None:
    for case in load_paper(name).scenarios.values():
        if case.file is None:
            continue
        if not case.paths:  # this case does not use the models
            continue
        paths = json.loads(plait.load(case.file).json)["path"]
        assert len(paths) == len(case.paths)
        for path, model in zip(paths, case.paths, strict=True):
            rate = plait.PathModel(path["forward"]["rate"], path["forward"]["delay"])
            back = plait.PathModel(path["backward"]["rate"], path["backward"]["delay"])
            assert rate.bits_per_second == model.bits_per_second
            assert rate.rtt_ns + back.rtt_ns == model.rtt_ns


@pytest.mark.parametrize("name", names())
def test_one_set_of_model_options_per_paper(name: str) -> None:
    paper, options = load_paper(name), []
    for case in paper.scenarios.values():
        if case.file is not None:
            transport = json.loads(plait.load(case.file).json)["transport"]
            for key in paper.varied:  # parameters that vary between the cases
                transport.pop(key)
            if case.id.endswith("-charged"):  # Table I by the second interpretation
                assert transport.pop("receive_window_accounting") == "buffer"
                transport["receive_window_accounting"] = "outstanding"
            options.append(transport)
    assert all(one == options[0] for one in options)


def test_agreement() -> None:
    value = Expected("s", "daps", "m", paper=100.0, tolerance=0.05)
    assert agrees(value, 105.0)
    assert agrees(value, 105.1) is False
    assert agrees(value, None) is False
    claim = Expected("s", "daps", "m", claim=Claim(at_least=-2.0, at_most=2.0))
    assert agrees(claim, 2.0)
    assert agrees(claim, -2.1) is False
    assert agrees(Expected("s", "daps", "m"), 3.0) is None


def test_rows_as_json_and_as_words() -> None:
    row = Row("case", "daps", "change.app_delay_ms.mean", -63.0, -60.0, 0.1, None, True, "note")
    assert row.document() == {
        "id": "case/daps/change.app_delay_ms.mean",
        "scenario": "case",
        "scheduler": "daps",
        "metric": "change.app_delay_ms.mean",
        "paper": -63.0,
        "measured": -60.0,
        "interval": None,
        "tolerance": 0.1,
        "claim": None,
        "agrees": True,
        "note": "note",
    }
    missed = replace(row, agrees=False, reason="the weather")
    assert missed.document()["note"] == "note; not reproduced: the weather"
    assert said(row) == "−63.0"
    assert difference(row) == "−4.8 %"
    assert wording("paths.slow.throughput_bps").number(968_400.0) == "0.968"
    assert wording("app_delay_ms.mean").heading == "mean application delay (ms)"


@pytest.mark.parametrize("name", FULL)
def test_a_fresh_run_gives_the_tables_of_the_readme_and_a_reason_for_each_difference(
    name: str, reproduced: Callable[[str], Reproduction]
) -> None:
    done = reproduced(name)
    for row in done.rows:
        assert bool(row.reason) == (row.agrees is False), row.id
        assert (row.reason in row.document()["note"]) or row.agrees
    spec = importlib.util.spec_from_file_location("measured", ROOT / "docs" / "measured.py")
    assert spec is not None
    assert spec.loader is not None
    measured = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measured)
    text = (ROOT / "papers" / name / "README.md").read_text(encoding="utf-8")
    assert measured.fill(text, measured.tables(done)) == text, "run docs/measured.py"


@pytest.mark.parametrize("name", LARGE)
def test_large_papers_in_small(name: str, tmp_path: Path) -> None:
    """Makes every row and figure of the paper from a few points of its designs."""
    done = reproduce(name, members=3)
    assert all(1 <= len(group) <= 3 for group in done.results.values())
    assert all(row.measured is not None for row in done.rows if row.compared)
    page, *figures = done.write(tmp_path)
    assert len(figures) == len(done.paper.figures)
    assert page.read_text(encoding="utf-8").count("data:image/png;base64,") == len(figures)


def test_pooling_depends_on_what_the_talk_does_not_print() -> None:
    """Checks the explanation in papers/schedulers-csws14/README.md."""
    file = ROOT / "papers" / "schedulers-csws14" / "scenarios" / "pooling.toml"
    blind, penalizing = plait.compare(file, ["lowest-rtt", "lowest-rtt+rp"], series="100ms")
    round_trips = []
    for run in (blind, penalizing):
        slow = run.path_series.filter((pl.col("path") == 1) & (pl.col("time_ns") >= 100_000_000_000))
        round_trips.append(slow.select(pl.col("srtt_ns").mean()).item() / 1e9)
    assert blind.metrics["goodput_bps"] < 14e6
    assert penalizing.metrics["goodput_bps"] > 44e6
    # The round trip grows with the queue of the slow path, and so the window limits the goodput.
    assert round_trips[0] > 2 * round_trips[1]
    window = 8 * 6_291_456 / round_trips[0]
    assert 0.5 * window < blind.metrics["goodput_bps"] < 2 * window
    overshooting = plait.load(file, {"transport.hystart": False})
    assert plait.run(overshooting, "lowest-rtt+rp").metrics["goodput_bps"] < 40e6
    shallow = plait.load(file, {"path.good.queue": "100ms", "path.bad.queue": "100ms"})
    # The queue of the slow path cannot grow here.
    assert plait.run(shallow).metrics["goodput_bps"] > 44e6


def test_the_reasons_given_for_differences_hold() -> None:
    """Checks the reasons in papers/daps-icc14/README.md for three values that differ."""
    folder = ROOT / "papers" / "daps-icc14" / "scenarios"
    run = plait.run(
        folder / "table2-2-100-35kB.toml", parse_choice("daps:round_trip=smoothed"), series="10ms"
    )
    steady = run.path_series.filter(pl.col("time_ns") >= 10_000_000_000)
    fast, slow = (steady.filter(pl.col("path") == index) for index in (0, 1))
    assert (
        2 <= slow.select(pl.col("srtt_ns").mean()).item() / fast.select(pl.col("srtt_ns").mean()).item() < 3
    )
    assert fast["in_flight_packets"].cast(float).to_numpy().max() <= 2
    assert slow["link_queue_packets"].cast(float).to_numpy().mean() > 2
    for queue in (17, 50, 200):
        scenario = plait.Scenario(
            duration="100s",
            warmup="10s",
            transport=plait.Transport(
                protocol="cmt-sctp", receive_buffer="500kB", receive_window_accounting="outstanding"
            ),
            paths=[
                plait.Path(name=name, rate="1Mbit", rtt=rtt, queue=f"{queue}p")
                for name, rtt in (("fast", "20ms"), ("slow", "200ms"))
            ],
        )
        blind, daps = plait.compare(scenario, ["round-robin", "daps"])
        unblocked = daps.metrics["app_delay_ms"]["mean"] - daps.metrics["blocking_ms"]["mean"]
        assert unblocked > 0.5 * blind.metrics["app_delay_ms"]["mean"]


def test_sttf_leaves_no_page_on_the_path_that_joined_first() -> None:
    """Checks the text in papers/sttf-ton19/README.md about a page over two paths of 10 ms."""
    alike = {
        f"path.{name}.{key}": value
        for name in ("wlan", "mobile")
        for key, value in (("rate", "20Mbit"), ("rtt", "10ms"))
    }
    page = plait.load(ROOT / "papers" / "sttf-ton19" / "scenarios" / "page.toml", alike)
    blind, plain, planning = (
        plait.run(page, parse_choice(one)).metrics["request_latency_ms"]["mean"]
        for one in ("lowest-rtt", "sttf", "sttf:alike=0")
    )
    assert plain < 1.1 * blind
    assert planning < 1.1 * blind


def test_an_unknown_paper_names_the_known_ones() -> None:
    with pytest.raises(plait.ScenarioError, match="daps-icc14"):
        load_paper("blest")
