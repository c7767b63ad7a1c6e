"""The league: its plans, its comparisons, and the numbers behind its sentences."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "league"), str(ROOT / "questions")]

import league  # noqa: E402
import radio  # noqa: E402
from runs import Domain, domains, measured, singly  # noqa: E402
from standing import Standing, standings, surely  # noqa: E402

import plait  # noqa: E402
from plait.results.metrics import direction  # noqa: E402
from plait.scenarios.repetition import network_of  # noqa: E402
from plait.scenarios.scenario import from_table  # noqa: E402
from plait.scenarios.scheduler import schedulers  # noqa: E402
from plait.statistics.estimate import Estimate  # noqa: E402
from plait.support.pages import tables_wanted  # noqa: E402

BULK = Domain("low-bdp", "bulk", ("goodput_bps",))
VIDEO = Domain("deadlines", "video", ("in_time_share",))


def rows(name: str, **of: Any) -> pl.DataFrame:
    """Builds the rows of a domain: the value of each scheduler or single path at every point."""
    return pl.DataFrame(
        [
            {
                "point": point,
                "scheduler": label.replace("_", ":", 1) if label.startswith("alone") else label,
                name: value,
            }
            for label, values in of.items()
            for point, value in enumerate(values)
        ],
        infer_schema_length=None,
    )


def called(found: list[Standing], name: str) -> Standing:
    return next(one for one in found if one.scheduler == name)


def test_the_radio_links_are_what_the_program_draws() -> None:
    for number in radio.LINKS:
        file = radio.TRACES / f"radio-{number}.trace"
        assert file.read_text(encoding="utf-8") == radio.trace(number)


@pytest.mark.parametrize("domain", domains(), ids=lambda one: one.name)
def test_every_built_in_scheduler_plays_in_every_domain(domain: Domain) -> None:
    plan = domain.plan
    labels = {one.label for one in plan.schedulers}
    assert {one["name"] for one in schedulers()} <= labels
    assert plan.points >= 60
    assert all(direction(name) != 0 for name in domain.metrics)
    assert set(domain.metrics) <= league.NAMES.keys()


def test_a_path_alone_keeps_the_traffic_beside_it_only() -> None:
    plan = next(one for one in domains() if one.name == "fq-codel").plan
    (first, one), (second, other) = singly(json.loads(plan.scenario(7)))
    assert (first, second) == ("first", "second")
    assert [path["name"] for path in one["path"]] == ["first"]
    assert [flow["path"] for flow in one["flow"]] == ["first"]
    assert [flow["path"] for flow in other["flow"]] == ["second"]


def test_a_domain_is_run_point_by_point() -> None:
    domain = next(one for one in domains() if one.name == "requests")
    found = measured(domain, points=1)
    labels = [*(one.label for one in domain.plan.schedulers), "alone:first", "alone:second"]
    assert found["scheduler"].to_list() == labels
    assert found.null_count().row(0) == (0,) * found.width


def test_every_domain_of_the_league_repeats_its_points() -> None:
    """A row is a mean of repetitions; all schedulers and single paths get the same ones."""
    for domain in domains():
        assert len(domain.plan.seeds) > 1
        assert domain.plan.perturb
    requests = next(one for one in domains() if one.name == "requests")
    rows, plan = measured(requests, points=2).filter(point=1), requests.plan
    table = json.loads(plan.scenario(1))
    for label, network in (("lowest-rtt", table), ("alone:second", dict(singly(table))["second"])):
        runs = [
            plait.run(from_table(network), "lowest-rtt", seed=len(plan.seeds) + seed, perturb=True)
            for seed in plan.seeds
        ]
        (found,) = rows.filter(scheduler=label)["request_latency_ms.mean"]
        assert found == pytest.approx(np.mean([run.metrics["request_latency_ms"]["mean"] for run in runs]))
        assert len({network_of(str(run.scenario_json)) for run in runs}) == len(runs)


def test_gains_are_geometric_means_and_more_is_better() -> None:
    frame = rows(
        "goodput_bps",
        **{
            "lowest-rtt": [10.0, 20.0],
            "blest": [20.0, 20.0],
            "alone_first": [5.0, 5.0],
            "alone_second": [8.0, 30.0],
        },
    )
    found = standings(BULK, frame)
    assert [one.scheduler for one in found] == ["lowest-rtt", "blest"]
    blest = called(found, "blest")
    assert blest.gains["goodput_bps"].value == pytest.approx(100 * (2**0.5 - 1))
    assert (blest.best, blest.harmful) == (2, 1)
    assert blest.harm == pytest.approx(100 * (20 / 30 - 1))
    assert called(found, "lowest-rtt").best == 1
    delay = Domain("low-bdp", "bulk", ("app_delay_ms.p95",))
    frame = rows(
        "app_delay_ms.p95", **{"lowest-rtt": [10.0] * 9, "blest": [5.0] * 9, "alone_first": [4.0] * 9}
    )
    blest = called(standings(delay, frame), "blest")
    assert blest.gains["app_delay_ms.p95"].value == pytest.approx(50)
    assert blest.harmful == 9, "a path alone has less delay"


def test_shares_differ_in_points_and_nothing_at_all_is_harmful() -> None:
    frame = rows(
        "in_time_share",
        **{"lowest-rtt": [0.5, 0.0], "blest": [0.75, 0.25], "ecf": [None, 0.0], "alone_first": [0.5, 0.0]},
    )
    found = standings(VIDEO, frame)
    assert called(found, "blest").gains["in_time_share"].value == pytest.approx(25)
    assert (called(found, "ecf").lacking, called(found, "ecf").harmful) == (1, 1)
    assert called(found, "lowest-rtt").harmful == 0


def test_what_is_bold_is_beyond_chance_and_a_tie() -> None:
    assert surely(Estimate(3.0, 1.0, 5.0)) == 1
    assert surely(Estimate(-3.0, -5.0, -1.0)) == -1
    assert surely(Estimate(3.0, -1.0, 7.0)) == 0
    assert surely(Estimate(1.9, 1.8, 2.0)) == 0


def test_the_page_has_a_place_for_every_table() -> None:
    text = league.PAGE.read_text(encoding="utf-8")
    wanted = {"glance", "winners"} | {
        f"{kind} {one.name}" for one in domains() for kind in ("domain", "what")
    }
    assert set(tables_wanted(text)) == wanted
    assert [one.title for one in domains()] == list(winners())


def better(domain: str) -> list[str]:
    """Returns the schedulers above `lowest-rtt` in the page's table of a domain, best first."""
    lines = (
        league.PAGE.read_text(encoding="utf-8")
        .partition(f"<!-- measured: domain {domain} -->")[2]
        .splitlines()
    )
    cells = [line.strip("| ").split(" | ") for line in lines[3:] if line.startswith("| ")]
    return [
        row[0].strip("`")
        for row in cells[: next(at for at, row in enumerate(cells) if row[0] == "`lowest-rtt`")]
    ]


def winners() -> dict[str, list[str]]:
    """Returns the page's table of winners: by domain, the cells after its title."""
    table = league.PAGE.read_text(encoding="utf-8").partition("<!-- measured: winners -->")[2]
    rows = table.partition("<!-- end -->")[0].strip().splitlines()[2:]
    return {cells[0]: cells[1:] for cells in (row.strip("| ").split(" | ") for row in rows)}


def winner(domain: str) -> list[str]:
    """Returns metric, numbers of better, worse and never harmful schedulers, and the best ones."""
    return winners()[next(one.title for one in domains() if one.name == domain)]


def glance_gains(domain: str) -> set[str]:
    """Returns the schedulers that the first table shows as better beyond chance in a domain."""
    place = 1 + [one.name for one in domains()].index(domain)
    glance = league.PAGE.read_text(encoding="utf-8").partition("<!-- measured: glance -->")[2]
    rows = glance.partition("<!-- end -->")[0].strip().splitlines()[2:]
    cells = [row.strip("| ").split(" | ") for row in rows]
    return {row[0] for row in cells if row[place].startswith("**+")}


def test_what_is_to_take_from_it_is_what_the_numbers_say() -> None:
    text = league.PAGE.read_text(encoding="utf-8")
    assert "no scheduler carries clearly more than `lowest-rtt`" in text
    for domain in ("low-bdp", "radio", "fq-codel", "failing"):
        assert winner(domain)[1] == "0", domain
    assert winner("high-bdp")[4].startswith("`lowest-rtt+rp` +")
    assert "`lowest-rtt+rp`" in glance_gains("small-buffers"), "beyond chance"
    for domain in ("high-bdp", "small-buffers"):
        assert "`intelligent-delivery-delay` +" in winner(domain)[4], domain
    assert set(better("requests")[:2]) == {"xlink", "redundant:mode=when-idle"}
    assert (winner("deadlines")[1], winner("deadlines")[4].split()[0]) == ("1", "`stms`")
    copying = {"redundant", "redundant:mode=opportunistic", "redundant:mode=when-idle", "xlink", "raven"}
    assert not copying & set(better("deadlines"))
    glance = text.partition("<!-- measured: glance -->")[2].partition("<!-- end -->")[0]
    harmful = [float(line.split(" | ")[-1].strip(" |%")) for line in glance.strip().splitlines()[2:]]
    assert min(harmful) > 0, "no scheduler is harmless"
    assert glance.splitlines()[3].startswith("| `redundant` |")
