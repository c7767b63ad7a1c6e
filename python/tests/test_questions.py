"""The open questions: their data, the evaluation of runs, and the pages."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import cast

import polars as pl
import pytest

import plait
from plait import plots

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "questions"))

import answer as answers  # noqa: E402
import asymmetry  # noqa: E402
import bidirectional  # noqa: E402
import decision_cost  # noqa: E402
import lte  # noqa: E402
import rtt_error  # noqa: E402
import study  # noqa: E402

PAGES = ROOT / "docs" / "questions"
TRACES = ROOT.parent / "shared" / "traces"

SCENARIO = """
duration = "1s"
[transport]
protocol = "cmt-sctp"

[[path]]
name = "fast"
rate = "2Mbit"
rtt = "20ms"
queue = "50p"
loss = "1%"
[[path]]
name = "slow"
rate = "1Mbit"
rtt = "80ms"
queue = "50p"
"""
QUESTION = """
metrics = ["goodput_bps", "paths.fast.throughput_bps", "block_delay_ms.mean"]
[[family]]
id = "f"
title = "f"
scenario = "two.toml"
schedulers = ["{scheduler}:rtt_error={error}"]
axis = [{ error = [0.0, -0.5] }, { scheduler = ["lowest-rtt", "dqs"] }]
seeds = 2
[family.set]
"path.slow.rtt" = "{extra}ms"
"""


def test_runs_of_a_question(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    (tmp_path / "question.toml").write_text(QUESTION)
    runs = study.measure(tmp_path, {"extra": "90"})
    assert runs.columns == ["family", "error", "scheduler", "seed", *study_metrics()]
    assert runs.select("scheduler", "error", "seed").unique().height == len(runs) == 8
    assert runs["block_delay_ms.mean"].null_count() == 8  # bulk transfers have no blocks
    one = plait.run(
        plait.load(tmp_path / "two.toml", {"path.slow.rtt": "90ms"}),
        {"name": "dqs", "rtt_error": -0.5},
        seed=2,
    )
    row = runs.row(
        by_predicate=(pl.col("scheduler") == "dqs") & (pl.col("error") < 0) & (pl.col("seed") == 2),
        named=True,
    )
    assert row["goodput_bps"] == one.metrics["goodput_bps"]


def study_metrics() -> list[str]:
    return ["goodput_bps", "paths.fast.throughput_bps", "block_delay_ms.mean"]


def test_changes_are_against_the_run_with_the_same_values() -> None:
    runs = pl.DataFrame({"seed": [1, 2], "x": [110.0, 30.0]})
    base = pl.DataFrame({"seed": [2, 1], "x": [60.0, 100.0]})
    found = study.change(runs, base, ["seed"], "x").sort("seed")["change"].to_list()
    assert found == pytest.approx([10.0, -50.0])


@pytest.mark.parametrize(
    ("number", "decimals", "signed", "text"),
    [
        (-0.4, 0, True, "0"),
        (-0.6, 0, True, "−1"),
        (3.14, 1, True, "+3.1"),
        (3.14, 0, False, "3"),
        (math.nan, 0, True, "–"),
    ],
)
def test_numbers_for_people(number: float, decimals: int, signed: bool, text: str) -> None:
    assert study.written(number, decimals, signed=signed) == text


def cases() -> pl.DataFrame:
    """Cases of the asymmetry question.

    `daps` halves the delay if the ratio is 5 or more, and starves a faster path.
    """
    rows = [
        {
            "protocol": protocol,
            "cf": rate,
            "buffer": buffer,
            "ratio": ratio,
            "share": share,
            "scheduler": scheduler,
            "goodput_bps": 1e6 * (0.5 if scheduler == "daps" and rate == 10 else 1.0),
            "app_delay_ms.mean": 50.0 if scheduler == "daps" and ratio >= 5 else 100.0,
            "blocking_ms.mean": 10.0,
            "receive_buffer_packets.mean": 2.0,
        }
        for protocol in asymmetry.PROTOCOLS
        for rate in (1, 10)
        for buffer in ("small", "large")
        for ratio in (1, 5, 20)
        for share in (1, 2)
        for scheduler in ("round-robin", "lowest-rtt", "daps", "daps-rounds")
    ]
    return pl.DataFrame(rows)


def test_asymmetry(tmp_path: Path) -> None:
    found = asymmetry.answer(cases())
    lines = [line for line in found.tables["triggers"].splitlines() if "`daps` | CMT-SCTP" in line]
    assert "| 1 | small | 4 of 6 | 5 … 40 | 5 | −50 | 0 |" in lines[0]
    assert "| 10 | small | 0 of 6 | – | none | −50 | −50 |" in lines[2]
    assert found.values["daps, CMT-SCTP, 1, large: ratio"] == "5"
    assert found.values["daps-pays"] == "24 of 72"
    assert found.values["daps-rounds-pays"] == "0 of 72"
    for name, figure in found.figures.items():
        plots.save(figure, tmp_path / f"{name}.png")


def test_costs_of_errors() -> None:
    point = {"c1": 1.0, "c2": 2.0, "r1": 10.0, "r2": 20.0, "b1": 1.0, "b2": 1.0}
    goodput = {-0.5: 1.0, -0.1: 2.0, 0.0: 2.0, 0.1: 2.0, 0.5: 4.0}
    rows = [
        {"family": family, "scheduler": "daps", "error": error, "goodput_bps": value, "app_delay_ms.mean": 1 / value,
         "block_delay_ms.mean": 5.0, **point, "r2": second}
        for family in ("bulk", "blocks")
        for second in (20.0, 40.0)
        for error, value in goodput.items()
    ]  # fmt: skip
    runs = pl.DataFrame(rows)
    found = rtt_error.costs(runs, "bulk", "goodput_bps")
    # Factors of 0.5 and 2: the logarithms cancel.
    assert found.filter(pl.col("size") == 0.5)["log"].to_list() == pytest.approx([0.0, 0.0])
    made = rtt_error.answer(runs)
    assert made.values["goodput_bps-daps-50"] == "0.0"
    assert "0 of 2" in made.tables["goodput_bps"]


def test_both_ways_are_compared_by_seed() -> None:
    rows = [
        {"way": way, "network": network, "scheduler": scheduler, "seed": seed, "goodput_bps": seed * 1e6 * factor,
         "app_delay_ms.mean": 10.0 * seed, "flows.back.goodput_bps": 1e6 if way == "two-way" else None}
        for network in ("a", "b")
        for scheduler, halved in (("x", 0.5), ("y", 1.5))
        for way, factor in (("one-way", 1.0), ("two-way", halved))
        for seed in (2, 1)
    ]  # fmt: skip
    found = bidirectional.answer(pl.DataFrame(rows))
    assert "| `x` | 0.8" in found.tables["a"]
    assert "| −50 | 15.0" in found.tables["a"]
    assert found.values["goodput-least"] == "−50"
    assert found.tables["best"].splitlines()[2].startswith("| a | `x` | `y` |")


def test_ratios_of_decision_costs(tmp_path: Path) -> None:
    names = [one["name"] for one in plait.schedulers()]
    for index, name in enumerate([decision_cost.ENGINE, *names, *decision_cost.OPTIONS]):
        for count in decision_cost.COUNTS:
            file = tmp_path / name / f"{count}-paths" / "new" / "sample.json"
            file.parent.mkdir(parents=True)
            cost = 10.0 + 5 * index * count
            file.write_text(json.dumps({"iters": [2.0, 4.0], "times": [2 * cost + 7, 4 * cost]}))
    found = decision_cost.ratios(tmp_path)
    assert found["lowest-rtt"] == [1.0, 5 / 3, 3.0]
    assert found[decision_cost.ENGINE] == [1 / 3] * 3
    (tmp_path / "daps" / "4-paths" / "new" / "sample.json").unlink()
    with pytest.raises(study.MissingInputError, match="cargo bench"):
        decision_cost.answer(tmp_path)


def test_recordings_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(study.MissingInputError, match="--traces"):
        answers.recordings(None)
    with pytest.raises(study.MissingInputError, match=r"ATT-LTE-driving-2016\.down: no such recording"):
        answers.recordings(tmp_path)


def test_recorded_links() -> None:
    if not TRACES.is_dir():
        pytest.skip("recordings of LTE links are not in ../shared/traces")
    changes = {
        "duration": "3s",
        "path.att.forward.trace": str(TRACES / lte.RECORDINGS[0]),
        "path.verizon.forward.trace": str(TRACES / lte.RECORDINGS[2]),
    }
    run = plait.run(plait.load(ROOT / "questions" / "lte" / "bulk.toml", changes), "lowest-rtt")
    assert 0 < run.metrics["goodput_bps"] < 40e6


def test_lte_counts_each_stretch_once() -> None:
    rows = [
        {"work": work, "start": start, "ra": ra, "rv": 50, "scheduler": scheduler, "goodput_bps": 1e6 * factor**sign,
         "app_delay_ms.mean": 20.0, "block_delay_ms.mean": 20.0, "block_delay_ms.p95": 30.0}
        for work in ("bulk", "blocks")
        for start, sign in ((0, 1), (20, -1))
        for ra in (50, 150)
        for scheduler, factor in (("lowest-rtt", 1.0), ("x", 2.0))
    ]  # fmt: skip
    found = lte.answer(pl.DataFrame(rows))
    assert found.values["goodput_bps-x"].startswith("0 (")
    assert found.values["block_delay_ms.mean-x"] == "0"


@pytest.mark.parametrize("name", answers.NAMES)
def test_a_page_per_question_with_its_figures(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    pictures = cast("list[str]", re.findall(r"!\[.+?\]\((.+?)\)", text))
    assert pictures
    assert all((PAGES / picture).is_file() for picture in pictures)
    assert f"({name}.md)" in (PAGES / "README.md").read_text(encoding="utf-8")
    # Every generated place has text.
    assert re.findall(r"<!-- (?:measured|value): .+? -->\s*<!-- end -->", text) == []
    if name in answers.RUNS:
        for file in (ROOT / "questions" / name).glob("*.toml"):
            if file.name != "question.toml":
                plait.load(file)


def test_the_page_of_errors_says_which_of_them_cost_nothing() -> None:
    text = (PAGES / "rtt-error.md").read_text(encoding="utf-8")
    sentence = re.findall(
        r"\*\*An error of up to ±20 % has no measurable cost for bulk transfers with (.+?)\.\*\*",
        text.replace("\n", " "),
    )
    assert sentence == ["lowest-RTT, delivery-delay, DQS and daps-rounds"]
    rows = {
        (name, row.group(1)): row.group(2)
        for name in ("goodput_bps", "app_delay_ms.mean")
        for row in re.finditer(
            r"\| `(.+?)` \| (.+) \|", text.split(f"<!-- measured: {name} -->")[1].split("<!-- end")[0]
        )
    }
    costs = set()
    for (_, scheduler), cells in rows.items():
        # The columns for errors of 5, 10 and 20 %.
        for interval in re.findall(r"\((\S+) … (\S+)\)", cells)[:3]:
            low, high = (float(bound.replace("−", "-")) for bound in interval)
            if low > 0 or high < 0:
                costs.add(scheduler)
    assert costs & {"lowest-rtt", "delivery-delay", "dqs", "daps-rounds"} == set()
    assert "intelligent-delivery-delay" in costs
