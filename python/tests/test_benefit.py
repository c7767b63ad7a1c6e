"""Aggregation benefit: one formula, with link capacities or with goodputs of single paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.cli import cli
from plait.results.benefit import AgainstAlone, aggregation_benefit
from plait.results.summary import metric_rows

FILE = """
name = "two"
duration = "10s"
warmup = "2s"
[[path]]
name = "dsl"
rate = "4Mbit"
rtt = "30ms"
queue = "bdp"
[[path]]
name = "lte"
rate = "3Mbit"
rtt = "60ms"
queue = "bdp"
loss = "0.5%"
[transport]
protocol = "mptcp"
profile = "linux"
"""


def test_kaspars_formula() -> None:
    assert [aggregation_benefit(goodput, [10, 5]) for goodput in (0, 5, 10, 12.5, 15)] == [
        -1,
        -0.5,
        0,
        0.5,
        1,
    ]
    assert aggregation_benefit(8, [4]) == 0
    assert AgainstAlone(12, {"a": 10, "b": 5}).gain_percent == pytest.approx(20)
    assert AgainstAlone(12, {"a": 0, "b": 0}).gain_percent is None
    assert AgainstAlone(12, {"a": 0, "b": 0}).benefit is None


STREAM = """
[workload]
kind = "cbr"
rate = "{rate}"
block = "16KiB"
"""


def test_it_is_left_out_where_the_application_is_the_limit(tmp_path: Path) -> None:
    def shown(more: str) -> bool:
        (tmp_path / "two.toml").write_text(FILE + more)
        found = [plait.run(tmp_path / "two.toml")]
        repeated = plait.repeat(tmp_path / "two.toml", ["lowest-rtt"], seeds=2)
        rows = [[row.heading for row in rows] for rows in (metric_rows(found), repeated.rows())]
        assert rows[0] == rows[1]
        return "aggregation benefit" in rows[0]

    assert shown("")
    assert shown('[workload]\nkind = "file"\nsize = "1MB"\n')
    assert not shown(STREAM.format(rate="2Mbit"))
    assert shown(STREAM.format(rate="20Mbit"))


def test_the_simulators_metric_is_the_same_formula_with_capacities(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(FILE)
    metrics = plait.run(tmp_path / "two.toml").metrics
    # Losses keep this path below its capacity; its benefit is the negated unused share.
    slow = plait.run(plait.load(tmp_path / "two.toml", only=["lte"])).metrics
    missing = slow["aggregation_benefit"]
    assert missing is not None
    assert missing < 0
    capacity = slow["goodput_bps"] / (1 + missing)
    benefit = aggregation_benefit(metrics["goodput_bps"], [capacity * 4 / 3, capacity])
    assert metrics["aggregation_benefit"] == pytest.approx(benefit)


def test_alone_says_what_the_best_path_alone_carries(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(FILE)
    file = str(tmp_path / "two.toml")
    done = CliRunner().invoke(
        cli, ["compare", file, "--schedulers", "lowest-rtt,redundant", "--alone", "--json"]
    )
    runs = json.loads(done.stdout)
    single = plait.run(plait.load(file, only=["dsl"])).metrics["goodput_bps"]
    for run in runs:
        assert run["alone"]["best"] == "dsl"
        assert run["alone"]["goodput_bps"]["dsl"] == single
        gain = (run["metrics"]["goodput_bps"] / single - 1) * 100
        assert run["alone"]["gain_percent"] == pytest.approx(gain)
    assert runs[0]["alone"]["gain_percent"] > 10 > runs[1]["alone"]["gain_percent"]
    # One run has both benefits under different names; they differ in the meaning of 0.
    assert runs[0]["metrics"]["aggregation_benefit"] < runs[0]["alone"]["aggregation_benefit"]
    table = CliRunner().invoke(cli, ["run", file, "--alone"]).stdout
    for words in ("against the best path alone (%)", "aggregation benefit, paths alone", "alone, goodput"):
        assert words in table
    plain = CliRunner().invoke(cli, ["run", file]).stdout
    assert "0 = capacity of the best path, 1 = that of all" in " ".join(plain.split())
    assert "paths alone" not in plain
