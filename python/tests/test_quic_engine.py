"""Runs over real QUIC connections in virtual time, and their comparison with simulated ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait.validate import ends

LINKS = f'duration = "3s"\n[transport]\nprotocol = "mpquic"\n{DSL_AND_LTE}'


@pytest.fixture
def links(tmp_path: Path) -> Path:
    file = tmp_path / "links.toml"
    file.write_text(LINKS)
    return file


class Fast(plait.Scheduler):
    """Assigns all data to the path with the shorter round-trip time."""

    def decide(
        self, _now: float, _connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        return plait.Assign(0) if paths[0].open else plait.Wait()


def test_runs_say_what_made_them_and_have_all_tables(links: Path) -> None:
    found = plait.run(links, scheduler="blest", engine="quic", packets=True, series="100ms", decisions=True)
    assert found.data["engine"] == "quic"
    assert found.packets is not None
    assert found.decisions is not None
    assert found.path_series is not None
    assert found.packets.height == sum(path["packets_sent"] for path in found.data["paths"])
    again = plait.run(links, scheduler="blest", engine="quic", packets=True, series="100ms", decisions=True)
    assert again.data == found.data
    assert again.packets is not None
    assert again.packets.equals(found.packets)


def test_the_connections_take_room_on_the_links(links: Path) -> None:
    quic_run, simulated = (plait.run(links, scheduler="round-robin", engine=one) for one in ("quic", "sim"))
    goodputs = [one.metrics["goodput_bps"] for one in (quic_run, simulated)]
    assert 0.93 * goodputs[1] < goodputs[0] < goodputs[1]


def test_schedulers_of_ones_own_run_there(links: Path) -> None:
    found = plait.run(links, scheduler=Fast, engine="quic")
    first, second = (path["packets_sent"] for path in found.data["paths"])
    assert second < 0.01 * first, "what was lost is sent again there, nothing else"
    assert found.metrics["goodput_bps"] > 12e6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ('protocol = "mptcp"', 'transport.protocol = "mptcp"'),
        ('protocol = "mpquic"\necn = true', "transport.ecn = true"),
    ],
)
def test_what_it_lacks_is_refused_by_name(links: Path, command: Command, changes: str, message: str) -> None:
    links.write_text(LINKS.replace('protocol = "mpquic"', changes))
    done = command("run", str(links), "--engine", "quic")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"plait: links: {message}: not with the quic engine: ")


def test_captures_are_refused(links: Path, command: Command) -> None:
    done = command("run", str(links), "--engine", "quic", "--pcap", "out")
    assert done.returncode == 2
    assert "encrypted" in done.stderr


def test_the_validation_says_what_it_measured(command: Command) -> None:
    done = command("validate", "quic", "--points", "2", "--seeds", "1", "--draw", "5", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == (1 if told["missed"] else 0)
    rows = told["goodputs"]
    assert {row["case"] for row in rows} == {"5-001", "5-002"}
    sizes = sorted(abs(100 * (row["sim_bps"] / row["quic_bps"] - 1)) for row in rows if row["quic_bps"])
    assert sizes[0] <= told["difference_percent"]["median"] <= sizes[-1]


def _compared(quic_goodputs: list[float], simulated: list[float]) -> list[ends.Compared]:
    case = next(ends.draw(ends.QUIC, "1", 2))
    return [
        ends.Compared(case, str(number), one, other, other)
        for number, (one, other) in enumerate(zip(quic_goodputs, simulated, strict=True))
    ]


def test_goals_are_held_against_the_goodputs() -> None:
    same = _compared([10e6, 20e6, 30e6], [10e6, 20e6, 30e6])
    assert ends.missed(ends.QUIC, same) == []
    assert ends.rankings(same)[0] == ends.Ranking(pairs=3, alike=3)
    other = _compared([10e6, 20e6, 30e6], [30e6, 20e6, 10e6])
    assert ends.rankings(other)[0] == ends.Ranking(pairs=3, alike=0)
    assert len(ends.missed(ends.QUIC, other)) == 3
    # Goodputs within five percent of each other are not ranked.
    close = _compared([10e6, 10.4e6], [10.4e6, 10e6])
    assert ends.rankings(close)[0].pairs == 0
    assert [one.percent for one in close] == pytest.approx([4.0, 100 * (10 / 10.4 - 1)])
    strange = [replace(one, case=next(ends.draw(ends.QUIC, "2", 2))) for one in other[:1]]
    assert ends.rankings([*same[:1], *strange])[0].pairs == 0, "of two cases"
