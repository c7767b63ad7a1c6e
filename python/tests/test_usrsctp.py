"""FreeBSD's SCTP stack: refusals, the build's archive, and runs of a built stack."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Command

import plait
from plait.linux import tools
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
        ('"round-robin"', '"daps"', 'scheduler = "daps": not with the usrsctp engine: '),
        (
            '"round-robin"',
            '{ name = "round-robin", cwnd_limited = false, segments = 2 }',
            "scheduler.segments = 2: not with the usrsctp engine: ",
        ),
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

    monkeypatch.setattr(archive, "download", download)
    with pytest.raises(plait.RunError, match=r"gone; .* its SHA-256 is"):
        archive.fetch(tmp_path, said.append)
    assert len(said) == len(archive.PLACES)


def test_the_goals_are_held_against_the_goodputs() -> None:
    case = next(ends.draw(ends.USRSCTP, "1", 2))
    assert ends.missed(ends.USRSCTP, [ends.Compared(case, "round-robin", 10e6, 10.2e6, 10e6)]) == []
    assert len(ends.missed(ends.USRSCTP, [ends.Compared(case, "round-robin", 10e6, 12e6, 10e6)])) == 2


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


@pytest.mark.kernel
@pytest.mark.skipif(bool(tools.missing(build.TO_BUILD)), reason="programs for a build are missing")
def test_the_stack_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    built = build.build(say=said.append)
    assert built == program.require()
    assert build.build(say=said.append) == built
    assert len(said) == 3, "the second build finds the first"
