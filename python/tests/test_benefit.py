"""Aggregation benefit: one formula, with link capacities or with goodputs of single paths."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import plait
from plait.analysis.alone import AgainstAlone
from plait.cli import cli
from plait.results.benefit import aggregation_benefit
from plait.results.metrics import metric
from plait.results.summary import metric_rows
from plait.statistics.estimate import Estimate, change_of_mean

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


def test_gains_over_the_best_path_alone_are_of_pairs_and_positive_if_better() -> None:
    goodput = AgainstAlone("goodput_bps", [12], {"a": [10], "b": [5]})
    assert goodput.best == "a"
    assert goodput.gain == Estimate(20)
    assert goodput.benefit == Estimate(0.4)
    idle = AgainstAlone("goodput_bps", [12], {"a": [0], "b": [0]})
    assert idle.gain is None
    assert idle.benefit is None
    delay = AgainstAlone("block_delay_ms.p95", [40, 60, 41], {"a": [80, 120, 80], "b": [70, 140, None]})
    assert delay.means == {"a": pytest.approx(280 / 3), "b": None}
    assert delay.best == "a"
    change = change_of_mean([40, 60, 41], [80, 120, 80])
    assert change is not None
    assert delay.gain == change.negated()
    unfinished = AgainstAlone("completion_time_s", [None], {"a": [2.0], "b": [3.0]})
    assert unfinished.best == "a"
    assert unfinished.gain is None
    assert AgainstAlone("completion_time_s", [2.0], {"a": [None]}).gain is None


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
    assert "goodput: gain over the best path alone (%)" in table
    assert "aggregation benefit, paths alone" in table
    assert re.search(r"each path alone, goodput \(.bit/s\), more is better: dsl [\d.]+, lte [\d.]+", table)
    plain = CliRunner().invoke(cli, ["run", file]).stdout
    assert "0 = capacity of the best path, 1 = that of all" in " ".join(plain.split())
    assert "paths alone" not in plain
    (tmp_path / "two.toml").write_text(FILE + STREAM.format(rate="2Mbit"))
    limited = CliRunner().invoke(cli, ["run", file]).stdout
    assert "application delay: from first transmission" in limited
    assert "aggregation benefit" not in limited, "no row has it"


@pytest.mark.parametrize(
    ("workload", "metrics"),
    [
        ('kind = "file"\nsize = "2MB"', {"completion_time_s": "completion time"}),
        (
            'kind = "cbr"\nrate = "2Mbit"\nblock = "16KiB"',
            {"block_delay_ms.mean": "mean delay of a block", "block_delay_ms.p95": "95 % delay of a block"},
        ),
        (
            'kind = "request-response"\nresponse = "20kB"',
            {
                "request_latency_ms.mean": "mean latency of a request",
                "request_latency_ms.p99": "99 % latency of a request",
            },
        ),
    ],
)
def test_alone_compares_a_workload_by_its_own_metrics(
    workload: str, metrics: dict[str, str], tmp_path: Path
) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE + f"[workload]\n{workload}\n")
    table = ["compare", str(file), "--schedulers", "lowest-rtt", "--alone"]
    (run,) = json.loads(CliRunner().invoke(cli, [*table, "--json"]).stdout)
    whole = plait.run(file, "lowest-rtt")
    singly = {name: plait.run(plait.load(file, only=[name])) for name in ("dsl", "lte")}
    assert set(run["alone"]) == {"goodput_bps", "best", "gain_percent", "aggregation_benefit", *metrics}
    text = CliRunner().invoke(cli, table).stdout
    for name, label in metrics.items():
        found = run["alone"][name]
        assert found["paths"] == {path: metric(result, name) for path, result in singly.items()}
        least = min(found["paths"].values())
        assert found["paths"][found["best"]] == least
        assert found["gain_percent"] == pytest.approx((1 - metric(whole, name) / least) * 100)
        assert f"{label}: gain over the best path alone (%)" in text
        assert re.search(rf"each path alone, {label} \(m?s\), less is better: dsl [\d.]+, lte [\d.]+", text)
    assert "goodput: gain" not in text


def test_paths_without_names_have_those_of_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(FILE.replace('name = "dsl"\n', "").replace('name = "lte"\n', ""))
    done = CliRunner().invoke(cli, ["run", str(file), "--alone", "--json"])
    named = tmp_path / "named.toml"
    named.write_text(FILE.replace("dsl", "path1").replace("lte", "path2"))
    alone = json.loads(done.stdout)["alone"]["goodput_bps"]
    assert alone == {
        name: plait.run(plait.load(named, only=[name])).metrics["goodput_bps"] for name in ("path1", "path2")
    }
