"""The benchmark: its points, its scores, and the command."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import plait
from plait.benchmark import suite
from plait.benchmark.bench import bench, labelled
from plait.benchmark.known import EXTRAS, known, schedulers_of, store
from plait.benchmark.runs import ALONE, BOUND, MEAN, SCHEMA, forget, measured, references
from plait.benchmark.scores import Scores
from plait.benchmark.suite import Point, digest, points
from plait.cli import cli
from plait.scenarios.scheduler import schedulers
from plait.support.pages import fill
from plait.sweep.planned_scheduler import PlannedScheduler

HASHES = {
    "tune": "dbe2ac0d200f582bd0c26737318ed1b2cb15dabf910817ca1d30b2c21f8721d3",
    "report": "f597cdfc10a997c9646718903b0cf551e2dc9e624813a7558e8298bcc478c840",
}
"""Hashes of all points of suite 1. If a point changes, the suite needs another number."""
MINE = """
import plait


class Mine(plait.Scheduler):
    def decide(self, now, connection, paths):
        for path in paths:
            if path.open:
                return plait.Assign(path.index, path.room)
        return plait.Wait()
"""
LOWEST = PlannedScheduler("lowest-rtt", "lowest-rtt")


def test_the_points_never_change() -> None:
    assert {part: digest(points(part)) for part in suite.PARTS} == HASHES


def test_values_come_from_sha256() -> None:
    drawn = hashlib.sha256(b"plait bench 1, tune, bulk, 3 queue p1").digest()
    expected = (20, 60, 200)[int(int.from_bytes(drawn[:6], "big") / 2**48 * 3)]
    assert points("tune", 4, ["bulk"])[3].table["path"][0]["queue"] == f"{expected}p"


def test_points_stay_in_the_domain() -> None:
    paths = [path for one in points("report") for path in one.table["path"]]
    rates = [float(path["rate"].removesuffix("kbit")) for path in paths]
    rtts = [float(path["rtt"].removesuffix("us")) for path in paths]
    assert 1e3 <= min(rates) < 1.2e3
    assert 65e3 < max(rates) <= 80e3
    assert 8e3 <= min(rtts) < 9e3
    assert 250e3 < max(rtts) <= 300e3
    assert 0.45 < sum("forward" in path for path in paths) / len(paths) < 0.55
    assert {len(one.table["path"]) for one in points("report")} == {2, 3, 4}
    kinds = {one.domain: one.table["workload"]["kind"] for one in points("tune") if one.domain != "wide"}
    assert kinds == {"bulk": "bulk", "blocks": "cbr", "files": "file"}
    for one in points("tune"):
        assert one.scenario.json  # valid


def test_parts_and_draws_have_other_points() -> None:
    assert points("tune", 2) == [one for one in points("tune") if one.number < 2]
    tables = {
        json.dumps([one.table["path"] for one in points(part, 3)])
        for part in (*suite.PARTS, "fresh 1", "fresh 2")
    }
    assert len(tables) == 4


def test_undelivered_blocks_count_with_their_age() -> None:
    table = {"name": "x", "workload": {"kind": "cbr", "rate": "1000kbit", "block": "1000B"}}
    point = Point("blocks", 0, table)

    def value(delay: float | None, undelivered: int) -> float | None:
        return point.value(
            {"block_delay_ms.mean": delay, "undelivered_bytes": undelivered, "measured_s": 8.0}
        )

    assert value(50.0, 0) == 50.0
    # A backlog of 80 ms is 40 ms old on average: less than the mean delay.
    assert value(50.0, 10_000) == 50.0
    # Half of the 8 s are undelivered: 2 s old on average.
    assert value(50.0, 500_000) == pytest.approx(0.5 * 50 + 0.5 * 2000)
    # More than the measured time.
    assert value(50.0, 2_000_000) == pytest.approx(8000)
    assert value(None, 500_000) is None


def of_values(domain: str, **values: list[float | None]) -> pl.DataFrame:
    """Build rows: values of schedulers at points, one repetition each."""
    rows = [
        (domain, point, name.replace("_", "-"), 1, value, None)
        for name, own in values.items()
        for point, value in enumerate(own)
    ]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def test_scores_worked_by_hand() -> None:
    chosen = points("tune", 4, ["bulk", "files"])
    rows = pl.concat(
        [
            of_values(
                "bulk", a=[10, 4, 9.6, 8], b=[5, 8, 10, None], alone=[10.6, 4, 1, 1], bound=[10, 8, 20, 20]
            ),
            of_values("files", a=[1, 2, 3, 4], b=[2, 2, 1.5, 4.1], alone=[9, 9, 9, 9], bound=[1, 2, 1, 1]),
        ]
    )
    scores = Scores(chosen, rows, ["a", "b"], "b")
    assert scores.of_best("a").tolist() == pytest.approx([1, 0.5, 0.96, 1, 1, 1, 0.5, 1])
    assert scores.of_best("b").tolist() == pytest.approx([0.5, 1, 1, 0, 0.5, 1, 1, 4 / 4.1])
    found = {(one.scheduler, one.domain): one for one in scores.standings()}
    bulk, files, whole = (found["a", domain] for domain in ("bulk", "files", "all"))
    assert (bulk.near_best.value, files.near_best.value, whole.near_best.value) == (0.75, 0.75, 0.75)
    assert (bulk.near_bound.value, files.near_bound.value) == (0.25, 0.5)
    assert bulk.harmless.value == 0.75  # 10 of 10.6 is below 0.95
    assert bulk.median == pytest.approx(0.98)
    # Ratios to b at the three points with both values: 2, 0.5 and 0.96.
    assert bulk.gain is not None
    assert bulk.gain.value == pytest.approx(100 * (0.96 ** (1 / 3) - 1))
    assert (found["b", "bulk"].missing, found["b", "bulk"].gain) == (1, None)
    worst = scores.worst("b", 2)
    assert [(one.point.id, one.value, one.best, one.best_scheduler) for one in worst] == [
        ("bulk-003", None, 8, "a"),
        ("bulk-000", 5, 10, "a"),
    ]


def test_the_mean_needs_every_repetition() -> None:
    frame = pl.DataFrame({"of": [1, 1, 2, 2], "value": [1.0, 3.0, 5.0, None]})
    means = frame.group_by("of", maintain_order=True).agg(MEAN)
    assert means["value"].to_list() == [2.0, None]


def test_no_run_beats_the_bound_of_its_repetition() -> None:
    chosen = points("tune", 1)
    rows, bounds = measured(chosen, [LOWEST]), references(chosen).filter(pl.col("scheduler") == BOUND)
    joined = rows.join(bounds, on=["domain", "point", "seed"])
    assert len(joined) == len(rows) == len(chosen) * suite.REPETITIONS
    for row in joined.iter_rows(named=True):
        way = next(one.way for one in chosen if one.domain == row["domain"])
        assert way * row["value"] <= way * row["value_right"], row


def test_interrupted_runs_continue(tmp_path: Path) -> None:
    chosen = points("tune", 1, ["files"])
    calls: list[float] = []

    def interrupt(share: float) -> None:
        calls.append(share)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(chosen, [LOWEST], folder=tmp_path, progress=interrupt)
    assert len(list(tmp_path.iterdir())) == 1
    again: list[float] = []
    found = measured(chosen, [LOWEST], folder=tmp_path, progress=again.append)
    assert len(again) == suite.REPETITIONS - 2
    assert found.equals(measured(chosen, [LOWEST]))
    forget(tmp_path)
    assert list(tmp_path.iterdir()) == []


def called(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["--quiet", "bench", *arguments], catch_exceptions=True)


def test_an_own_scheduler_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    given = ["mine.py:Mine", "--fresh", "7", "--points", "1", "--domain", "bulk", "--worst", "1"]
    done = called(*given, "--out", "out", "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    assert (document["suite"], document["part"], document["points"]) == (1, "fresh 7", 1)
    assert [one["scheduler"] for one in document["standings"]] == ["Mine"]
    (case,) = document["worst"]
    assert document == json.loads(Path("out/bench.json").read_text(encoding="utf-8"))
    # The baseline ran too, and its rows are there.
    rows = pl.read_parquet("out/runs.parquet")
    assert rows["scheduler"].unique(maintain_order=True).to_list() == ["Mine", "lowest-rtt"]
    page = Path("out/bench.html").read_text(encoding="utf-8")
    assert "Plait bench 1, fresh 7" in page
    # The command of the worst case gives the value.
    command = next(line for line in called(*given, "--out", "out").output.splitlines() if "compare" in line)
    assert command.split(" --schedulers")[0] == "plait compare out/cases/bulk-000.toml"
    repeated = CliRunner().invoke(cli, [*shlex.split(command)[1:], "--json"])
    metrics = json.loads(repeated.output)["metrics"]
    assert metrics["goodput_bps"]["schedulers"]["Mine"]["mean"]["value"] == pytest.approx(case["value"])


def test_a_failed_run_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(MINE.replace("path.room)", "path.room / 0)"))
    done = called(f"{tmp_path}/bad.py:Mine", "--part", "tune", "--points", "1", "--domain", "files")
    assert isinstance(done.exception, plait.RunError)
    assert str(done.exception).startswith("Mine: 5 runs failed: ")
    assert "ZeroDivisionError" in str(done.exception)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["lowest-rt"], "did you mean lowest-rtt?"),
        (["nobody.py:Mine"], "no such file: nobody.py"),
        (["daps", "daps"], "schedulers: 'daps' is there twice"),
        (["daps", "--baseline", "lowest-rt"], "did you mean lowest-rtt?"),
        (["daps", "--domain", "bulky"], "domain 'bulky': unknown (did you mean bulk?)"),
        (["daps", "--points", "999"], "points: part report has 64 in each domain, got 999"),
        (["--fresh", "1"], "fresh 1 has no stored results; expected at least one scheduler"),
        (["daps", "--fresh", "1", "--part", "tune"], "--fresh and --part exclude each other"),
    ],
)
def test_messages(given: list[str], message: str) -> None:
    done = called(*given)
    assert done.exit_code != 0
    assert message in str(done.exception) + done.output


def test_one_scheduler_can_be_stored_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plait.benchmark.known.FILE", tmp_path / "results.parquet")

    def held(part: str) -> dict[str, float]:
        rows = known(part, points("tune", 1, ["bulk"]))
        return dict(zip(rows["scheduler"], rows["value"], strict=True))

    store("tune", of_values("bulk", a=[1.0], b=[2.0]), keep=False)
    store("report", of_values("bulk", a=[5.0]), keep=False)
    store("tune", of_values("bulk", b=[3.0], c=[4.0]), keep=True)
    assert (held("tune"), held("report")) == ({"a": 1.0, "b": 3.0, "c": 4.0}, {"a": 5.0})
    store("tune", of_values("bulk", b=[3.0]), keep=False)
    assert (held("tune"), held("report")) == ({"b": 3.0}, {"a": 5.0})


def test_results_of_all_built_in_schedulers_are_stored() -> None:
    """If this fails: make bench-suite, or make bench-suite ONLY="NAME"."""
    wanted = {*(one["name"] for one in schedulers()), *EXTRAS}
    for part in suite.PARTS:
        chosen = points(part)
        stored = known(part, chosen)
        assert set(schedulers_of(stored)) == wanted
        assert len(stored) == len(chosen) * (len(wanted) + 2)


def test_the_page_has_the_stored_results() -> None:
    """If this fails: .venv/bin/python docs/bench.py --page."""
    folder = Path(__file__).parents[2] / "docs"
    spec = importlib.util.spec_from_file_location("bench_page", folder / "bench.py")
    assert spec is not None
    assert spec.loader is not None
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    text = page.PAGE.read_text(encoding="utf-8")
    found = bench(worst=0)
    assert fill(text, page.tables(found), page.values(found)) == text


def test_stored_results_are_those_of_this_code() -> None:
    """If this fails, runs have changed: make bench-suite."""
    names = ["lowest-rtt", "intelligent-delivery-delay"]
    for part in suite.PARTS:
        chosen = points(part, 1)
        found = pl.concat(
            [
                measured(chosen, [PlannedScheduler(*one) for one in labelled(names).items()]),
                references(chosen),
            ]
        )
        keys = ["domain", "point", "scheduler"]
        stored = known(part, chosen).select(*keys, "value")
        both = found.group_by(keys).agg(MEAN).join(stored, on=keys)
        assert len(both) == len(chosen) * 4
        for row in both.iter_rows(named=True):
            assert row["value"] == pytest.approx(row["value_right"], rel=1e-9), row


def test_stored_results_are_the_reference() -> None:
    """The best known value is that of all stored schedulers, not only of those of the command."""
    found = bench(["round-robin"], part="tune", number=1, domains=["bulk"])
    stored = known("tune", found.points)
    best = stored.filter(~pl.col("scheduler").is_in([ALONE, BOUND]))["value"].max()
    assert found.scores.best.tolist() == [best]
    assert found.scores.schedulers == ["round-robin"]
