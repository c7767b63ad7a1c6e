"""The study of distances from bounds: its points, its arithmetic, and its page."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs")]

import how_far  # noqa: E402
from studies import distances, domains  # noqa: E402
from studies.distances import Distances  # noqa: E402
from studies.domains import Domain, Place  # noqa: E402

import plait  # noqa: E402
from plait.benchmark.runs import SCHEMA  # noqa: E402
from plait.scenarios.units import duration_s, rate_bps, size_bytes  # noqa: E402
from plait.support.pages import tables_wanted, values_in  # noqa: E402

PAGE = how_far.PAGE.read_text(encoding="utf-8")


def study(
    kind: str, rows: dict[str, list[float | None]], found: list[tuple[str, float, float | None, float | None]]
) -> Distances:
    """Builds the study of one domain: values of schedulers, and (bound, limit, joint, oracle)."""
    points = [Place("domain", number, {"workload": {"kind": kind}}) for number in range(len(found))]
    values = [
        ("domain", number, name, 1, value, None)
        for name, own in rows.items()
        for number, value in enumerate(own)
    ]
    places = [("domain", number, *one) for number, one in enumerate(found)]
    return Distances(
        [Domain("domain", points[0].metric, points)],
        pl.DataFrame(values, SCHEMA, orient="row"),
        pl.DataFrame(places, how_far.POINTS, orient="row"),
    )


def test_distances_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "SHOWN", ("plait", "lowest-rtt"))
    found = study(
        "bulk",
        {"plait": [9.0, 9.0, 4.0], "lowest-rtt": [8.0, 10.0, None], "blest": [9.1, 5.0, 8.0]},
        [("L0", 10.0, None, None), ("L1", 10.0, None, 10.0), ("L0", 16.0, None, 12.0)],
    )
    assert found.best.tolist() == [9.1, 10.0, 12.0]
    assert found.to_bound(found.best).tolist() == pytest.approx([0.91, 1.0, 0.75])
    assert found.to_bound(found.values["lowest-rtt"]).tolist() == pytest.approx([0.8, 1.0, 0.0])
    values, rivals = found.rivals("plait")
    assert (values.tolist(), rivals) == ([9.1, 10.0, 8.0], ["blest", "lowest-rtt", "blest"])
    assert found.near_others("plait").tolist() == [True, False, False]
    assert found.near_others("blest").tolist() == [True, False, True]
    assert found.behind().tolist() == pytest.approx([0.1 / 9, 1 / 9, 1.0])
    assert found.order()[0] == "blest"
    said = distances.values(found)
    assert (said["tight"], said["loose"], said["between"]) == ("1 (33 %)", "1 (33 %)", "1")
    assert said["loose bounds"] == "L0 at 1"
    assert distances.gaps(found).splitlines()[2:] == [
        "| points | 1 | 1 |",
        "| `plait`, farther (%) | 100 | 100 |",
        "| `lowest-rtt`, farther (%) | 0 | 0 |",
    ]
    assert (said["searched"], said["gained"]) == ("2", "1")  # 12 is better than 8, and 10 equals 10


def test_less_is_better_of_delays_and_the_joint_bound_needs_runs_above_it() -> None:
    found = study(
        "cbr",
        {"plait": [20.0, 20.0, 20.0], "lowest-rtt": [10.0, 10.0, 40.0]},
        [("L0", 5.0, 8.0, None), ("L0", 5.0, 12.0, None), ("L0", 5.0, 3.0, None)],
    )
    assert found.bound.tolist() == [8.0, 5.0, 5.0]
    assert found.bound_name.tolist() == ["L0-joint", "L0", "L0"]
    assert found.to_bound(found.best).tolist() == pytest.approx([0.8, 0.5, 0.25])
    assert found.behind().tolist() == pytest.approx([1.0, 1.0, -0.5])


def test_searches_that_save_time_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "SHOWN", ("plait",))
    found = study("file", {"plait": [10.0, 10.0]}, [("L0", 1.0, None, 8.0), ("L0", 1.0, None, 10.0)])
    assert distances.values(found)["gained"] == "1"


def test_equal_values_are_near_even_if_they_are_zero() -> None:
    found = study("bulk", {"plait": [0.0, 0.0], "blest": [0.0, 1.0]}, [("L0", 10.0, None, None)] * 2)
    assert found.near_others("plait").tolist() == [True, False]
    assert found.behind().tolist() == [0.0, np.inf]


def test_a_value_better_than_its_bound_is_refused() -> None:
    with pytest.raises(plait.RunError, match="domain 1: a value is better than its bound"):
        study("bulk", {"plait": [10.0, 10.1]}, [("L0", 10.0, None, None)] * 2)


def test_the_held_out_points_stay_in_their_ranges() -> None:
    given = [one for one in domains.domains() if one.title.startswith("held out")]
    points = [point for one in given for point in one.points]
    assert len(points) == domains.HELD_OUT
    paths = [path for point in points for path in point.table["path"]]
    losses = [
        float(path["forward"]["loss"].rstrip("%")) for path in paths if "loss" in path.get("forward", {})
    ]
    assert 2.0 < max(losses) <= 2.5
    assert 1e6 <= min(rate_bps(path["rate"]) for path in paths) < 1.1e6
    assert 0.29 < max(duration_s(path["rtt"]) for path in paths) <= 0.3
    shares, loads = [], []
    for point in points:
        capacity = sum(rate_bps(path["rate"]) for path in point.table["path"])
        longest = max(duration_s(path["rtt"]) for path in point.table["path"])
        buffer = size_bytes(point.table["transport"]["receive_buffer"])
        shares.append(buffer * 8 / capacity / longest if buffer > domains.LEAST_BUFFER else 1.0)
        loads += [rate_bps(point.table["workload"].get("rate", 0)) / capacity]
    assert 0.249 <= min(shares) < 0.26
    assert 3.9 < max(shares) <= 4.01
    assert 0.93 < max(loads) <= 0.951
    linux = [point.table["transport"].get("congestion_control") == "cubic" for point in points]
    assert 0.5 < np.mean(linux) < 0.7  # half, and Multipath QUIC with CUBIC


def test_a_small_study_from_runs_to_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(how_far, "FOLDER", tmp_path)
    given = [one for one in domains.domains(2) if one.title in ("held out, files", "league, requests")]
    files = next(one for one in given if one.searches)
    rows, points = how_far.make(given, 1, 0)
    found = Distances(given, rows, points)
    assert found.bounded.sum() == found.searched.sum() == len(files.points) == 2
    assert {*distances.tables(found), "picture", "difference"} == set(tables_wanted(PAGE))
    # The searches ran every scheduler with the same seed. A second call reads the stored results.
    assert (found.ratio(found.values[distances.ORACLE], found.best)[found.searched] > 1 - 1e-9).all()
    monkeypatch.setattr(how_far, "oracle", None)
    again, same = how_far.make(given, 1, 0)
    assert again.equals(rows)
    assert same.equals(points)


def test_the_page_has_every_domain() -> None:
    table = (
        PAGE.partition("<!-- measured: near -->\n")[2].partition("<!-- end -->")[0].strip().splitlines()[2:]
    )
    cells = [line.strip("| ").split(" | ") for line in table]
    assert [row[0] for row in cells] == [*(one.title for one in domains.domains(2)), "all"]
    numbers = [int(row[1]) for row in cells]
    assert sum(numbers[:-1]) == numbers[-1] == int(values_in(PAGE)["points"])
    # The page says in words that five settings run, and that these domains have no bound.
    assert len(how_far.SETTINGS) == 5
    unbounded = [one.title for one in domains.domains(2) if not one.traffic]
    assert unbounded == ["league, requests", "league, deadlines"]
    bounds = PAGE.partition("<!-- measured: bounds -->\n")[2].partition("<!-- end -->")[0]
    assert not any(title in bounds for title in unbounded)
