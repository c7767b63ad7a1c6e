"""FreeBSD's SCTP stack: refusals, the build's archive, and runs of a built stack."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from conftest import Command

import plait
from plait.linux import programs, tools
from plait.papers import engines, load_paper, names
from plait.papers.reproduce import possible, tasks
from plait.usrsctp import archive, build, program
from plait.validate import ends

LINKS = """
name = "links"
duration = "4s"
scheduler = "round-robin"
[transport]
protocol = "cmt-sctp"
receive_buffer = "1MB"
[[path]]
name = "near"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
[[path]]
name = "far"
rate = "5Mbit"
rtt = "60ms"
queue = "50p"
loss = "0.2%"
"""


@pytest.fixture
def links(tmp_path: Path) -> Path:
    file = tmp_path / "links.toml"
    file.write_text(LINKS)
    return file


@pytest.mark.parametrize(
    ("given", "instead", "message"),
    [
        (
            '"round-robin"',
            '"redundant"',
            'scheduler = "redundant": not with the usrsctp engine: FreeBSD\'s stack lacks reinject; choose ',
        ),
        ('"round-robin"', '"lowest-rtt+rp"', 'scheduler = "lowest-rtt+rp": not with the usrsctp engine: '),
        ('"cmt-sctp"', '"mptcp"', 'transport.protocol = "mptcp": not with the usrsctp engine: '),
        (
            '"1MB"',
            '"1MB"\nretransmission_policy = "same"',
            'transport.retransmission_policy = "same": not with the usrsctp engine: ',
        ),
        (
            '"1MB"',
            '"1MB"\nrto_min = "1500us"',
            'transport.rto_min = "1500us": not with the usrsctp engine: ',
        ),
        (
            '"1MB"',
            '"1MB"\ninitial_window = "5000B"',
            'transport.initial_window = "5kB": not with the usrsctp engine: ',
        ),
        ('"1MB"', '"3GB"', 'transport.receive_buffer = "3GB": not with the usrsctp engine: '),
        (
            'loss = "0.2%"',
            "backup = true",
            "path[1].backup = true: not with the usrsctp engine: ",
        ),
    ],
)
def test_what_it_lacks_is_refused_by_name(
    links: Path, command: Command, given: str, instead: str, message: str
) -> None:
    links.write_text(LINKS.replace(given, instead))
    done = command("run", str(links), "--engine", "usrsctp")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"plait: links: {message}")


def test_a_missing_stack_says_how_to_get_it(links: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(program.OVERRIDE, str(links.with_name("none")))
    with pytest.raises(plait.RunError, match="none: no such file"):
        plait.run(links, engine="usrsctp")


def test_another_archive_is_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(build, "install", lambda packages, say: None)
    other = tmp_path / archive.FILE
    other.write_bytes(b"something else")
    with pytest.raises(plait.RunError, match=r"its SHA-256 is .* and not that of libusrsctp"):
        build.build(source=other, say=lambda step: None)
    assert not (program.folder() / program.NAME).exists()


def test_an_archive_with_another_content_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def download(place: str, file: Path) -> Path:
        if place == archive.PLACES[0]:
            raise OSError("gone")
        file.write_bytes(b"something else")
        return file

    monkeypatch.setattr(programs, "download", download)
    with pytest.raises(plait.RunError, match=r"gone; .* its SHA-256 is"):
        archive.fetch(tmp_path, said.append)
    assert len(said) == len(archive.PLACES)


def test_the_goals_are_held_against_the_goodputs() -> None:
    case = next(ends.draw(ends.USRSCTP, "1", 2))
    assert ends.missed(ends.USRSCTP, [ends.Compared(case, "round-robin", 10e6, 10.2e6, 10e6)]) == []
    assert len(ends.missed(ends.USRSCTP, [ends.Compared(case, "round-robin", 10e6, 12e6, 10e6)])) == 2


def test_the_daps_paper_runs_in_the_stack_too() -> None:
    assert names("usrsctp") == ["daps-icc14"]
    assert engines("daps-icc14") == ["sim", "usrsctp"]
    paper = load_paper("daps-icc14", "usrsctp")
    made, absent = possible(paper, tasks(paper))
    assert {case for case, _ in made} == {
        case for case in paper.scenarios if case.startswith("table2") or case.endswith("-charged")
    }
    assert {label for case, label in made if case == "table2-2-100-35kB"} == set(paper.schedulers)
    assert all("as in §II.A" in reason for reason in absent.values())


needs_stack = pytest.mark.skipif(program.built() is None, reason="no stack is built (plait usrsctp build)")


@pytest.mark.kernel
@needs_stack
def test_runs_are_repeatable_and_have_all_tables(links: Path) -> None:
    runs = [plait.run(links, engine="usrsctp", packets=True, series="100ms") for _ in range(2)]
    first, again = runs
    assert first.data["engine"] == "usrsctp"
    assert first.data == again.data
    assert first.packets is not None
    assert again.packets is not None
    assert first.packets.equals(again.packets)
    assert first.packets.height == sum(path["packets_sent"] for path in first.data["paths"])
    assert first.path_series is not None
    assert first.path_series["srtt_ns"].drop_nulls().len() > 0
    # A look at the state changes nothing.
    assert plait.run(links, engine="usrsctp").data["paths"] == first.data["paths"]
    other = plait.run(links, engine="usrsctp", seed=2)
    assert other.data["paths"] != first.data["paths"]


@pytest.mark.kernel
@needs_stack
def test_round_robin_is_that_of_the_stack_without_path_schedulers(links: Path) -> None:
    """The digest is that of a stack without the patch 0004; it covers the columns of that time."""
    packets = plait.run(links, engine="usrsctp", packets=True).packets
    assert packets is not None
    assert packets.height == 4066
    columns = packets.drop("duplicate_ns").write_csv().encode()
    assert hashlib.sha256(columns).hexdigest()[:16] == "0fbf5ff598a97bc7"


@pytest.mark.kernel
@needs_stack
def test_both_paths_are_used_and_losses_are_repaired(links: Path) -> None:
    found = plait.run(links, engine="usrsctp")
    assert 9e6 < found.metrics["goodput_bps"] < 15e6
    near, far = found.data["paths"]
    assert near["packets_sent"] > 1000
    assert far["packets_sent"] > 200
    assert far["packets_lost"] > 0
    assert near["retransmissions"] + far["retransmissions"] >= far["packets_lost"]


@pytest.mark.kernel
@needs_stack
def test_a_file_arrives_wholly_over_an_outage(links: Path) -> None:
    text = LINKS.replace('"4s"', '"30s"').replace(
        'loss = "0.2%"', 'outages = [{ from = "500ms", to = "2s" }]'
    )
    links.write_text(f'{text}[workload]\nkind = "file"\nsize = "4MB"\n')
    found = plait.run(links, engine="usrsctp")
    assert found.metrics["completion_time_s"] is not None
    assert (found.metrics["timeouts"] or 0) > 0


MANY = """
name = "many"
duration = "1s"
scheduler = "round-robin"
[transport]
protocol = "cmt-sctp"
[workload]
kind = "file"
size = "6kB"
""" + "".join(
    f"""
[[path]]
name = "p{rtt}"
rate = "10Mbit"
rtt = "{rtt}ms"
"""
    for rtt in (20, 40, 80, 160)
)


@pytest.mark.kernel
@needs_stack
def test_answers_come_back_on_the_path_of_their_packets(tmp_path: Path) -> None:
    """Source addresses are those of the paths, so HEARTBEATs measured each path alone."""
    file = tmp_path / "many.toml"
    file.write_text(MANY)
    series = plait.run(file, engine="usrsctp", series="1ms").path_series
    assert series is not None
    first = series.filter(series["time_ns"] == 0).sort("path")
    assert first["srtt_ns"].to_list() == [20_000_000, 40_000_000, 80_000_000, 160_000_000]


@pytest.mark.kernel
@needs_stack
def test_corrections_change_packets_only_where_they_are_named(
    links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, the digest of the test of round-robin holds."""

    def packets(names: str) -> Any:
        monkeypatch.setenv(program.CORRECT, names)
        found = plait.run(links, engine="usrsctp", packets=True).packets
        assert found is not None
        return found

    plain, corrected = packets(""), packets("all")
    assert plain.height == 4066
    assert corrected.equals(packets("all"))
    assert not corrected.equals(plain)
    # The initial window is three packets, and not one more on each path.
    assert [found.filter(found["sent_ns"] == 0).height for found in (plain, packets("chunk-size"))] == [8, 6]
    with pytest.raises(plait.RunError, match="expected all, or some of: t3-restart one-reduction"):
        packets("t3-restart,none")


CLEAN = """
name = "clean"
duration = "6s"
warmup = "1s"
scheduler = "daps"
[transport]
protocol = "cmt-sctp"
receive_buffer = "35kB"
ack_every = 1
[[path]]
name = "fast"
rate = "1Mbit"
rtt = "20ms"
queue = "50p"
[[path]]
name = "slow"
rate = "2Mbit"
rtt = "100ms"
queue = "50p"
"""
"""Case (1/20; 2/100), 35 kB of the DAPS paper."""


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    file = tmp_path / "clean.toml"
    file.write_text(CLEAN)
    return file


@pytest.mark.kernel
@needs_stack
def test_daps_lets_packets_arrive_almost_in_order(clean: Path) -> None:
    blind, daps = plait.compare(clean, ["round-robin", "daps"], engine="usrsctp")
    waiting = [one.metrics["receive_buffer_packets"]["mean"] for one in (blind, daps)]
    assert waiting[1] < 1 < waiting[0]
    assert daps.metrics["goodput_bps"] > 1.3 * blind.metrics["goodput_bps"]


@pytest.mark.kernel
@needs_stack
def test_the_lowest_round_trip_fills_the_fast_path_first(clean: Path) -> None:
    clean.write_text(CLEAN.replace('warmup = "1s"', 'workload = { kind = "file", size = "4kB" }'))
    alone = plait.run(clean, "lowest-rtt", engine="usrsctp")
    both = plait.run(clean, "round-robin", engine="usrsctp")
    assert [path["packets_sent"] for path in alone.data["paths"]] == [3, 0]
    assert both.data["paths"][1]["packets_sent"] > 0


@pytest.mark.kernel
@needs_stack
@pytest.mark.parametrize(
    "scheduler",
    ["lowest-rtt", "daps", "daps:schedule=to-end", "daps-rounds", "otias", "blest", "round-robin+bm"],
)
def test_runs_with_a_scheduler_are_repeatable(links: Path, scheduler: str) -> None:
    first, again = (plait.run(links, scheduler, engine="usrsctp", packets=True) for _ in range(2))
    assert first.data == again.data
    assert first.packets is not None
    assert again.packets is not None
    assert first.packets.equals(again.packets)
    assert all(path["packets_sent"] > 100 for path in first.data["paths"])


class FarFirst(plait.Scheduler):
    """Takes the last path that is open."""

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
        return next((plait.Assign(path.index) for path in reversed(paths) if path.open), plait.Wait())


class Wrong(plait.Scheduler):
    """Names a path that does not exist."""

    def decide(self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]) -> Any:
        return plait.Assign(7)


@pytest.mark.kernel
@needs_stack
def test_a_scheduler_in_python_decides_for_the_stack(clean: Path) -> None:
    near, far = (path["packets_sent"] for path in plait.run(clean, FarFirst, engine="usrsctp").data["paths"])
    assert far > 2 * near
    with pytest.raises(plait.RunError, match="named path 7, which does not exist"):
        plait.run(clean, Wrong, engine="usrsctp")


@pytest.mark.kernel
@pytest.mark.skipif(bool(tools.missing(build.TO_BUILD)), reason="programs for a build are missing")
def test_the_stack_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    built = build.build(say=said.append)
    assert built == program.require()
    assert build.build(say=said.append) == built
    assert len(said) == 3, "the second build finds the first"
