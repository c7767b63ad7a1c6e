"""The domain of the validation: draws are as described, cover the domain and are repeatable."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections import Counter
from typing import Any

import pytest

import plait
from plait._core import parse_bytes, parse_rate
from plait.scenarios.scenario import from_table
from plait.scenarios.text import scenario_text
from plait.scenarios.units import duration_ns
from plait.validate import space
from plait.validate.regions import facets, has_chance, order


@pytest.fixture(scope="module")
def drawn() -> list[space.Drawn]:
    return list(space.draw("reported"))


def canonical(one: space.Drawn) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(from_table(one.table).json)
    return table


def test_draws_are_repeatable_and_differ() -> None:
    first, again = list(space.draw("search", 8)), list(space.draw("11", 8))
    assert [{**one.table, "name": ""} for one in first] == [{**one.table, "name": ""} for one in again]
    assert [one.id for one in first[:2]] == ["search-001", "search-002"]
    longer = list(space.draw("search", 16))
    assert longer[:8] == first
    names = space.space()["draws"]
    assert len(set(names.values())) == len(names) >= 2
    others = {json.dumps(one.table["path"]) for name in names for one in space.draw(name, 8)}
    assert len(others) == 8 * len(names)
    with pytest.raises(
        plait.ScenarioError, match="draw 'nobody': unknown; expected one of: search, reported"
    ):
        list(space.draw("nobody"))


def test_scenarios_stay_in_the_domain(drawn: list[space.Drawn]) -> None:
    length = space.space()["length"]
    for one in drawn:
        table = canonical(one)
        assert 1 <= len(table["path"]) <= 4
        assert 64e3 <= parse_bytes(table["transport"]["receive_buffer"]) <= 16e6
        assert table["transport"]["profile"] == "linux"
        longest = 0
        for path in table["path"]:
            forward, backward = path["forward"], path["backward"]
            trip = duration_ns(forward["delay"]) + duration_ns(backward["delay"])
            longest = max(longest, trip)
            assert 5e6 <= trip <= 300e6
            assert 1e6 <= parse_rate(forward["rate"]) <= 200e6
            assert parse_rate(forward["rate"]) / parse_rate(backward["rate"]) <= 101
            product = parse_rate(forward["rate"]) * trip / 1e9 / 12e3
            queue = int(forward["queue"].removesuffix("p"))
            assert queue == 10 or 0.29 * product <= queue <= 4.01 * product + 1
            jitter = forward["jitter"]
            amount = duration_ns(jitter["amount"] if isinstance(jitter, dict) else jitter)
            assert amount <= 0.501 * trip
            loss = forward["loss"]
            if isinstance(loss, dict):
                to_bad, to_good = (float(loss[key].removesuffix("%")) for key in ("to_bad", "to_good"))
                assert 0.0099 <= 100 * to_bad / (to_bad + to_good) <= 2.01
                assert 1.49 <= 100 / to_good <= 20.1
            else:
                assert float(loss.removesuffix("%")) <= 2
        if table["workload"]["kind"] == "file":
            assert 10e3 <= parse_bytes(table["workload"]["size"]) <= 20e6
        else:
            seconds = duration_ns(table["duration"]) / 1e9
            assert length["least"] <= seconds <= length["most"]
            assert seconds >= length["round_trips"] * longest / 1e9 * 0.999
            assert duration_ns(table["warmup"]) < duration_ns(table["duration"]) / 2


def test_a_draw_covers_the_domain(drawn: list[space.Drawn]) -> None:
    every = [facets(canonical(one)) for one in drawn]
    expected = {
        "paths": {"1", "2", "3", "4"},
        "protocol": {"TCP", "MPTCP"},
        "loss": {"none", "random", "burst", "burst and random"},
        "jitter": {"none", "ordered", "reordering", "ordered and reordering"},
        "outages": {"none", "yes"},
        "workload": {"bulk", "file", "blocks"},
        "congestion control": {"newreno", "cubic"},
        "kinds of impairment": {"0", "1", "2", "3 or more"},
    }
    for kind, values in expected.items():
        assert {one[kind] for one in every} == values, kind
    assert {"free", "limited", "lossy"} <= {one["return path"] for one in every}
    assert {"none", "backward", "forward"} <= {one["competing TCP"] for one in every}
    # Every pair of impairments occurs together in some scenarios.
    kinds = {
        "loss": "none",
        "jitter": "none",
        "outages": "none",
        "competing TCP": "none",
        "return path": "free",
    }
    for first, second in itertools.combinations(kinds, 2):
        both = sum(one[first] != kinds[first] and one[second] != kinds[second] for one in every)
        assert both >= 4, (first, second)
    # Frequencies follow the weights: a scrambled sequence is even in each single factor.
    counts = Counter(one["paths"] for one in every)
    weights = space.space()["case"]["paths"]["choices"]
    for value, weight in weights.items():
        assert counts[value] == pytest.approx(len(every) * weight / sum(weights.values()), abs=1)


def test_every_scheduler_is_drawn_about_alike(drawn: list[space.Drawn]) -> None:
    several = [one for one in drawn if len(one.table["path"]) > 1]
    counts = Counter(name for one in several for name in one.schedulers if "+" not in name)
    later = {name: counts.pop(name) for name in space.LATER}
    assert max(later.values()) - min(later.values()) <= len(several) / 10
    assert counts.pop(space.STOCK) >= 30
    assert counts.pop(space.NEWEST) >= 30
    assert set(counts) == set(space.SCHEDULERS)
    assert max(counts.values()) < 1.5 * min(counts.values())
    options = Counter(name for one in several for name in one.schedulers if "+" in name)
    assert set(options) == {f"{name}{option}" for name in space.SCHEDULERS for option in ("+rp", "+bm")}
    pairs = {frozenset(one.schedulers[:2]) for one in several}
    assert len(pairs) == len(space.SCHEDULERS) * (len(space.SCHEDULERS) - 1) / 2
    assert {len(set(one.schedulers)) for one in several} == {4}


@pytest.mark.parametrize(
    ("path", "chance"),
    [
        ({"rate": "1Mbit", "rtt": "20ms"}, False),
        ({"rate": "1Mbit", "rtt": "20ms", "loss": "0.1%"}, True),
        ({"rate": "1Mbit", "rtt": "20ms", "jitter": "1ms"}, True),
        ({"rate": "1Mbit", "rtt": "20ms", "backward": {"loss": "1%"}}, True),
        ({"rate": "1Mbit", "rtt": "20ms", "forward": {"jitter": {"amount": "1ms", "reorder": True}}}, True),
        ({"rate": "1Mbit", "rtt": "20ms", "forward": {"loss": "0%", "jitter": "0s"}}, False),
        ({"rate": "1Mbit", "rtt": "20ms", "outages": [{"from": "1s", "to": "2s"}]}, False),
    ],
)
def test_where_chance_has_a_part(path: dict[str, Any], chance: bool) -> None:
    table = {"path": [path]}
    assert has_chance(table) is chance
    assert has_chance(json.loads(from_table(table).json)) is chance


def test_facets_of_a_scenario() -> None:
    one = {"name": "one", "rate": "80Mbit", "rtt": "20ms", "queue": "50p", "loss": "1%"}
    back = {"rate": "1Mbit", "delay": "50ms", "loss": "1%"}
    jitter = {"amount": "20ms", "reorder": True}
    two = {"name": "two", "rate": "20Mbit", "delay": "50ms", "forward": {"jitter": jitter}, "backward": back}
    flow = {"kind": "tcp", "path": "one", "direction": "backward"}
    table = {"transport": {"protocol": "mptcp", "receive_buffer": "1MB"}, "path": [one, two], "flow": [flow]}
    found = facets(json.loads(from_table(table).json))
    assert found == {
        "paths": "2",
        "protocol": "MPTCP",
        "loss": "random",
        "jitter": "reordering",
        "largest jitter": "10 to 25 % of the round trip",
        "outages": "none",
        "return path": "limited and lossy",
        "competing TCP": "backward",
        "receive buffer": "0.5 to 1 bandwidth-delay products",  # 1 MB of 1.25 MB
        "ratio of round trips": "2 to 5",
        "workload": "bulk",
        "congestion control": "cubic",
        "kinds of impairment": "3 or more",
    }


def test_facets_are_sorted_by_what_they_mean() -> None:
    shares = ["10 to 25 %", "more than 25 %", "none", "3 to 10 %", "up to 3 %"]
    assert sorted(shares, key=order) == ["none", "up to 3 %", "3 to 10 %", "10 to 25 %", "more than 25 %"]
    buffers = ["1 to 2 x", "more than 8 x", "0.5 to 1 x", "up to 0.5 x", "2 to 8 x"]
    expected = ["up to 0.5 x", "0.5 to 1 x", "1 to 2 x", "2 to 8 x", "more than 8 x"]
    assert sorted(buffers, key=order) == expected
    assert sorted(["lossy", "free", "limited"], key=order) == ["free", "limited", "lossy"]


def test_scenario_files_say_what_was_drawn(drawn: list[space.Drawn]) -> None:
    for one in drawn[:40]:
        text = scenario_text(one.table, one.title)
        assert text.startswith("# ")
        assert json.loads(from_table(tomllib.loads(text)).json) == canonical(one)
