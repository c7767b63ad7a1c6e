"""Families of scenarios, templates and pooled metrics in the description of a paper."""

from __future__ import annotations

from pathlib import Path

import pytest

import plait
from plait.papers import description, load_paper, reproduce
from plait.papers.family import expand
from plait.papers.reproduce import tasks
from plait.papers.runs import common_prefix
from plait.scenarios.template import fill, fill_value
from plait.support import papers

FOLDER = Path("papers/example")
SCENARIO = """
duration = "2s"
[transport]
protocol = "cmt-sctp"
receive_buffer = "60kB"
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
PAPER = """
id = "example"
title = "t"
authors = "a"
venue = "v"
summary = "s"
baseline = "round-robin"
scheduler = [
    { label = "round-robin", choice = { name = "round-robin" } },
    { label = "daps", choice = { name = "daps" } },
    { label = "single", choice = { name = "lowest-rtt" }, paths = ["slow"], set = { "transport.packet" = "1000B" } },
]
headline = { schedulers = ["daps"], columns = [{ scenario = "rtt80", metric = "mean.goodput_bps" }] }

[[family]]
id = "rtt{rtt}"
title = "{rtt} ms"
scenario = "two.toml"
schedulers = ["round-robin", "daps", "single"]
axis = [{ rtt = [80, 200] }]
seeds = 3
set = { "path.slow.rtt" = "{rtt}ms" }

[[family]]
id = "design"
title = "design"
scenario = "two.toml"
schedulers = ["round-robin", "daps"]
design = { design = "wsp", points = 5, ranges = { rate = [1, 4], rtt = [10, 90] } }
set = { "path.slow.rtt" = "{rtt}ms", "path.slow.rate" = "{rate}Mbit" }

[[figure]]
id = "one"
kind = "over"
title = "over"
scenarios = ["rtt*"]
schedulers = ["round-robin", "daps"]
metric = "mean.utilization"
variable = "rtt"

[[figure]]
id = "two"
kind = "distribution"
title = "distribution"
scenarios = ["design"]
schedulers = ["round-robin", "daps"]
metric = "aggregation_benefit"

[[figure]]
id = "three"
kind = "receive-order"
title = "order"
scenarios = ["rtt80"]
schedulers = ["round-robin"]

[[figure]]
id = "four"
kind = "bars"
title = "bars"
scenarios = ["rtt*"]
schedulers = ["round-robin", "daps"]
beside = ["single"]
metric = "goodput_bps"
"""
EXPECTED = """
[[expected]]
scenarios = ["rtt*"]
schedulers = ["daps", "round-robin"]
metric = "mean.utilization"
claim = { at_least = 0.0, at_most = 1.0, interval = true }

[[measure]]
scenarios = ["design"]
schedulers = ["round-robin", "daps"]
metrics = ["median.aggregation_benefit", "difference.median.aggregation_benefit"]

[[measure]]
scenarios = ["rtt200"]
schedulers = ["round-robin", "daps"]
metrics = ["change.mean.goodput_bps", "since.rtt80.mean.goodput_bps", "mean.printed_order_packets"]

[[receive_order]]
scenario = "rtt200"
scheduler = "daps"
numbers = [1, 2, 3]
"""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "example"
    folder.mkdir()
    for name, text in (("two.toml", SCENARIO), ("paper.toml", PAPER), ("expected.toml", EXPECTED)):
        (folder / name).write_text(text)
    for module in (description, papers):
        monkeypatch.setattr(module, "DATA", tmp_path)
    return folder


def test_templates() -> None:
    assert fill("{20 + 5*n}ms", {"n": 3}) == "35ms"
    assert fill("{max(2, ceil(c*b/12) + 1)}p", {"c": 10.0, "b": 25.0}) == "22p"
    assert fill("{c}Mbit and {-(c - 1)}", {"c": 1.23456789}) == "1.23457Mbit and -0.234568"
    assert fill("{case}", {"case": "H_1"}) == "H_1"
    assert fill(5, {}) == 5
    outages = [{"from": "{f}s", "to": "{f + l}s"}]
    assert fill(outages, {"f": 2.5, "l": 1}) == [{"from": "2.5s", "to": "3.5s"}]
    assert fill("{n}", {"n": 3}) == "3"
    assert fill_value("{n}", {"n": 3}) == 3
    assert fill_value("{round(n/2)}", {"n": 7.0}) == 4
    assert fill_value("{n}p", {"n": 3}) == "3p"
    assert fill_value("{case}", {"case": "H_1"}) == "H_1"


@pytest.mark.parametrize(
    "text", ["{m}", "{__import__('os')}", "{n.real}", "{n ** 9}", "{n +}", "{1/0}", "{n + case}"]
)
def test_templates_are_arithmetic_and_nothing_else(text: str) -> None:
    with pytest.raises(plait.ScenarioError, match="template"):
        fill(text, {"n": 3, "case": "A"})


def test_axes_make_scenarios_and_seeds_make_members() -> None:
    table = {
        "id": "{case}-{rate}",
        "title": "{case}",
        "scenario": "f.toml",
        "schedulers": ["daps"],
        "axis": [{"case": ["A", "B"], "delay": [1, 2]}, {"rate": [10, 20, 30]}],
        "seeds": 4,
        "set": {"path.one.delay": "{delay}ms"},
    }
    made = list(expand(table, FOLDER))
    assert [one["id"] for one in made] == ["A-10", "A-20", "A-30", "B-10", "B-20", "B-30"]
    assert [member.seed for member in made[0]["members"]] == [1, 2, 3, 4]
    assert made[5]["members"][0].changes == {"path.one.delay": "2ms"}
    assert made[5]["variables"] == {"case": "B", "delay": 2, "rate": 30}


def test_a_design_makes_members() -> None:
    design = {"design": "wsp", "points": 7, "ranges": {"c": [0.1, 100], "r": [1, 50]}}
    table = {
        "id": "d",
        "title": "d",
        "scenario": "f.toml",
        "schedulers": [],
        "design": design,
        "set": {"x": "{c}Mbit"},
    }
    (made,) = expand(table, FOLDER)
    assert len(made["members"]) == 7
    assert all(0.1 <= member.variables["c"] <= 100 for member in made["members"])
    assert len({member.changes["x"] for member in made["members"]}) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": []}, "axes: unknown key"),
        ({"axis": [{"a": [1], "b": [1, 2]}]}, "lists of equal length"),
        ({"design": {"design": "grid", "points": 2, "ranges": {"a": [0, 1]}}}, "'grid': unknown"),
    ],
)
def test_mistakes_are_named(change: dict[str, object], message: str) -> None:
    table = {"id": "d", "title": "d", "scenario": "f.toml", "schedulers": []}
    with pytest.raises(plait.ScenarioError, match=message):
        list(expand({**table, **change}, FOLDER))


def test_tasks_of_a_family(example: Path) -> None:
    made = tasks(load_paper("example"))
    assert {key: len(group) for key, group in made.items()} == {
        ("rtt80", "round-robin"): 3,
        ("rtt80", "daps"): 3,
        ("rtt80", "single"): 3,
        ("rtt200", "round-robin"): 3,
        ("rtt200", "daps"): 3,
        ("rtt200", "single"): 3,
        ("design", "round-robin"): 5,
        ("design", "daps"): 5,
    }
    assert [task.packets for task in made["rtt80", "round-robin"]] == [True, False, False]
    assert [task.packets for task in made["rtt200", "daps"]] == [True, True, True]  # for a metric
    single = made["rtt80", "single"][0].scenario
    assert isinstance(single, plait.Scenario)
    assert [path.name for path in single.paths] == ["slow"]
    assert single.transport.packet == "1kB"


def test_reproducing_families(example: Path, tmp_path: Path) -> None:
    done = reproduce("example")
    rows = {row.id: row for row in done.rows}
    row = rows["rtt80/daps/mean.utilization"]
    seeds = [made.result.metrics["goodput_bps"] for made in done.results["rtt80", "daps"]]
    assert len(set(seeds)) == 3
    assert row.agrees
    assert row.measured is not None
    assert row.interval is not None
    assert row.interval[0] < row.measured < row.interval[1]
    assert row.document()["interval"] == list(row.interval)
    assert row.document()["claim"]["interval"] is True
    assert rows["rtt200/round-robin/change.mean.goodput_bps"].measured == 0
    assert rows["rtt200/daps/mean.printed_order_packets"].measured is not None
    assert rows["rtt200/round-robin/mean.printed_order_packets"].measured is None
    assert rows["design/round-robin/difference.median.aggregation_benefit"].measured == 0
    since = rows["rtt200/daps/since.rtt80.mean.goodput_bps"].measured
    assert since is not None
    files = done.write(tmp_path / "out")
    assert len(files) == 5
    assert "95 % confidence" in files[0].read_text(encoding="utf-8")


def test_unknown_scenarios_of_a_pattern_are_named(example: Path) -> None:
    file = example / "expected.toml"
    file.write_text(file.read_text().replace('"rtt*"', '"rtx*"'))
    with pytest.raises(plait.ScenarioError, match=r"scenario 'rtx\*' is not defined"):
        load_paper("example")


def test_common_prefix() -> None:
    assert common_prefix([4, 5, 6, 1], [4, 5, 6, 2, 1]) == 3
    assert common_prefix([1, 2], [1, 2, 3]) == 2
    assert common_prefix([1], []) == 0
