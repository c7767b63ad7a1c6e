"""Metrics of one's own in plans: a column of the dataset, judged by `analyze`."""

from __future__ import annotations

import base64
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import Command

import plait
from plait.analysis import analyze
from plait.plots.subject import Subject
from plait.reports.reading import Rows, subject
from plait.reports.sweeps import dataset_page
from plait.scenarios.changes import change
from plait.scenarios.scenario import from_table
from plait.support.files import OutputError
from plait.sweep import Dataset, Plan, read, sweep

FUNCTIONS = '''
def stall_ms(result):
    """The longest time without a delivery."""
    times = result.packets["delivered_ns"].drop_nulls().sort().diff().drop_nulls()
    return times.max() / 1e6

def goodput_again(result):
    return result.metrics["goodput_bps"]

def nothing(result):
    return None

def broken(result):
    return 1 / (result.seed - 2)

def text(result):
    return "3"

def endless(result):
    return float("inf") if result.seed == 1 else float("nan")

def counted(result):
    import numpy
    return numpy.int32(3)

limit = 3

class Kind:
    pass
'''
OWN = """
import plait

class First(plait.Scheduler):
    def decide(self, now, connection, paths):
        ready = [path for path in paths if path.open]
        return plait.Assign(ready[0].index) if ready else plait.Wait()
"""


def table(*metrics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "schedulers": ["lowest-rtt", "round-robin"],
        "seeds": 2,
        "set": {"path.slow.rtt": "{rtt}ms"},
        "axis": [{"rtt": [40, 80]}],
        "metric": list(metrics),
        "scenario": {
            "duration": "500ms",
            "transport": {"receive_buffer": "100kB"},
            "path": [
                {"name": "fast", "rate": "8Mbit", "rtt": "20ms"},
                {"name": "slow", "rate": "4Mbit", "rtt": "80ms", "loss": "0.5%"},
            ],
        },
        **changes,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


STALL = {"name": "mine.py:stall_ms", "packets": True}
SAME = {"name": "mine.py:goodput_again", "better": "more"}


def test_a_metric_is_a_column_and_is_analyzed(folder: Path) -> None:
    more = [{"name": f"mine.py:{name}"} for name in ("nothing", "endless", "counted")]
    given = table(STALL, SAME, *more, schedulers=["lowest-rtt", "own.py:First"])
    plan = Plan(given, folder)
    sweep(plan, folder / "here", threads=2)
    dataset = read(folder / "here")
    frame = dataset.frame
    assert frame.height == 8
    assert frame["error"].is_null().all()
    assert frame["goodput_again"].to_list() == frame["goodput_bps"].to_list()
    assert frame["nothing"].is_null().all()
    assert frame["endless"].is_null().all()
    assert frame["counted"].to_list() == [3.0] * 8
    assert dataset.metrics[-5:] == ["stall_ms", "goodput_again", "nothing", "endless", "counted"]
    found = analyze(dataset, metrics=["stall_ms", "goodput_again"])
    assert [one.higher_is_better for one in found.metrics] == [False, True]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:  # as on a cluster
        sweep(Plan(given, folder), folder / "there", executor=executor)
    assert (folder / "there" / "part-00000000.parquet").read_bytes() == (
        folder / "here" / "part-00000000.parquet"
    ).read_bytes()


def test_a_metric_sees_the_run_with_its_tables(folder: Path) -> None:
    given = table(STALL, seeds=1)
    sweep(Plan(given, folder), folder / "out", threads=1)
    stalls = read(folder / "out").frame["stall_ms"].to_list()
    again = []
    for rtt in ("40ms", "80ms"):
        scenario = from_table(change(given["scenario"], {"path.slow.rtt": rtt}))
        for name in ("lowest-rtt", "round-robin"):
            times = plait.run(scenario, name, packets=True).packets["delivered_ns"]
            gaps = times.drop_nulls().sort().diff().drop_nulls()
            again.append(int(str(gaps.max())) / 1e6)
    assert stalls == again
    assert len({*stalls}) > 1


def test_a_metric_that_fails_makes_a_failed_row(folder: Path) -> None:
    outcome = sweep(Plan(table({"name": "mine.py:broken"}), folder), folder / "out", threads=1)
    assert outcome.failed == 4
    errors = read(folder / "out").frame["error"].drop_nulls().unique().to_list()
    assert errors == ["metric 'mine.py:broken': ZeroDivisionError: division by zero (mine.py, line 14)"]
    sweep(Plan(table({"name": "mine.py:text"}), folder), folder / "text", threads=1)
    errors = read(folder / "text").frame["error"].unique().to_list()
    assert errors == ["metric 'mine.py:text': TypeError: returned str; expected a number or None"]


def test_the_bytes_do_not_depend_on_the_folder(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "mine.py").write_text(FUNCTIONS)
    given = table({"name": "mine.py:broken"}, name="set")
    for place in (folder, other):
        sweep(Plan(given, place), place / "out", threads=1)
    for file in ("part-00000000.parquet", "_plan.json"):
        assert (other / "out" / file).read_bytes() == (folder / "out" / file).read_bytes()


def test_a_bundle_repeats_the_metrics(folder: Path, command: Command) -> None:
    """The plan has two files of the same name, and a metric that fails: its message has the name."""
    (folder / "more").mkdir()
    (folder / "more" / "mine.py").write_text("def seed_again(result):\n    return result.seed\n")
    metrics: list[dict[str, Any]] = [STALL, SAME, {"name": "mine.py:broken", "series": "10ms"}]
    sweep(Plan(table(*metrics, {"name": "more/mine.py:seed_again"}), folder), folder / "out", threads=1)
    done = command("bundle", "out", "-o", "out.zip")
    assert done.returncode == 2
    assert "metric mine.py:seed_again is one of your own, and no file of the current" in done.stderr
    done = command("bundle", "out", "-o", "out.zip", "--file", "more/mine.py")
    assert done.returncode == 0, done.stderr
    for file in ("mine.py", "more/mine.py"):
        (folder / file).unlink()
    done = command("rerun", "out.zip", "--out", "again")
    said = "equal: 3 files of 8 runs have the same bytes as in out.zip\n"
    assert (done.returncode, done.stdout) == (0, said), done.stderr


@pytest.mark.parametrize(("better", "way"), [("more", 1), ("less", -1)])
def test_figures_and_pages_know_which_way_is_better(tmp_path: Path, better: str, way: int) -> None:
    """The second scheduler has more of the metric: it wins, or it loses."""
    points = range(16)
    frame = pl.DataFrame(
        {
            "index": range(32),
            "point": [point for point in points for _ in range(2)],
            "seed": [1] * 32,
            "scheduler": ["first", "second"] * 16,
            "error": pl.Series([None] * 32, dtype=pl.String),
            "rtt": [20.0 + point for point in points for _ in range(2)],
            "neither": [1.0 * number for number in range(32)],
            "score": [float(point + more) for point in points for more in (0, 3)],
        }
    )
    about = {
        "name": "scores",
        "labels": ["first", "second"],
        "variables": ["rtt"],
        "metrics": ["neither", "score"],
        "metric": [{"name": "score", "better": better}],
        "runs": 32,
    }
    dataset = Dataset(tmp_path, about, frame.lazy())
    figure = Subject(dataset, "score", baseline="")
    (gain,) = figure.gains(figure.whole)
    assert gain.difference.value == 3 * way
    rows = subject(dataset)
    assert isinstance(rows, Rows)
    page = dataset_page(rows)
    assert [name for name, _ in page["metrics"]] == ["score", "neither"]  # with a direction first
    assert page["data"]["ways"] == {"score": way, "neither": 0}
    winner = 1 if way > 0 else 0
    assert [line["best_mean"] for line in page["estimates"]] == [{winner}, set()]
    assert [line["best_median"] for line in page["estimates"]] == [{winner}, set()]
    assert page["data"]["differences"]["score"][0][1][1] == 3 * way
    field = page["data"]["field"]
    assert [*field["metrics"]] == ["score"]
    packed = field["maps"][0]["metrics"]["score"]["winner"]
    assert set(np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])) == {winner}


def test_another_metric_is_another_dataset(folder: Path) -> None:
    sweep(Plan(table(SAME), folder), folder / "out", threads=1)
    for changed in (table(), table({**SAME, "better": "less"})):
        with pytest.raises(OutputError, match="was begun with another plan; changed: metric"):
            sweep(Plan(changed, folder), folder / "out")
    (folder / "mine.py").write_text(FUNCTIONS + "\n")
    with pytest.raises(OutputError, match="changed: metric"):
        sweep(Plan(table(SAME), folder), folder / "out")


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ({"name": "mine.py"}, r"plan: metric 1: name: expected FILE.py:FUNCTION, got 'mine.py'"),
        ({}, "name: expected FILE.py:FUNCTION, got None"),
        ({"name": "none.py:f"}, "none.py cannot be read: No such file"),
        (
            {"name": "mine.py:f"},
            "with one of: stall_ms, goodput_again, nothing, broken, text, endless, counted",
        ),
        ({"name": "mine.py:Kind"}, "expected .*mine.py:FUNCTION with one of"),
        ({**SAME, "better": "most"}, "better: expected one of: less, more; got 'most'"),
        ({**SAME, "packets": 1}, "packets: expected true or false, got 1"),
        ({**SAME, "series": "10"}, "10"),
        ({**SAME, "series": [1]}, r"series: expected a duration, got \[1\]"),
        ({**SAME, "table": True}, "table: unknown"),
    ],
)
def test_wrong_metrics_are_named(folder: Path, metric: dict[str, Any], message: str) -> None:
    with pytest.raises(plait.ScenarioError, match=message):
        Plan(table(metric), folder)


def test_the_name_of_a_column_is_taken(folder: Path) -> None:
    (folder / "mine.py").write_text("def goodput_bps(result):\n    return 1\n")
    with pytest.raises(
        plait.ScenarioError, match="plan: metric 'goodput_bps': a column of the dataset has this"
    ):
        _ = Plan(table({"name": "mine.py:goodput_bps"}), folder).columns
    (folder / "mine.py").write_text("def rtt(result):\n    return 1\n")
    with pytest.raises(plait.ScenarioError, match="plan: metric 'rtt': a column of the dataset has this"):
        _ = Plan(table({"name": "mine.py:rtt"}), folder).columns
