"""Files of captures: their names, and runs that leave none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import plait
from plait.support.files import OutputError


def scenario() -> plait.Scenario:
    return plait.Scenario(
        name="mptcp",
        duration="2s",
        scheduler="daps",
        transport=plait.Transport(protocol="mptcp", profile="standard", receive_buffer="150kB"),
        paths=[
            plait.Path(name="wifi", rate="8Mbit", rtt="20ms", queue="30p", loss="1%"),
            plait.Path(name="lte", rate="4Mbit", rtt="60ms", queue="30p", loss="0.5%"),
        ],
    )


class Alternating(plait.Scheduler):
    """Assigns each segment to the open path with fewer segments so far."""

    def __init__(self) -> None:
        self.given = [0, 0]

    def decide(
        self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        chosen = [path.index for path in paths if path.open]
        if not chosen or not connection.unassigned:
            return plait.Wait()
        index = min(chosen, key=lambda index: self.given[index])
        self.given[index] += 1
        return plait.Assign(index)


def test_the_same_runs_leave_the_same_files_whatever_the_threads(tmp_path: Path) -> None:
    chosen: list[str | type[plait.Scheduler]] = ["lowest-rtt", "daps", "daps", Alternating]
    for name, threads in (("one", 1), ("two", 2)):
        plait.compare(scenario(), chosen, pcap=tmp_path / name, threads=threads)
    one, two = tmp_path / "one", tmp_path / "two"
    files = sorted(file.relative_to(one) for file in one.rglob("*") if file.is_file())
    assert {str(file.parent) for file in files} == {
        "mptcp-lowest-rtt",
        "mptcp-daps",
        "mptcp-daps-2",
        "mptcp-Alternating",
    }
    assert len(files) == 16
    for file in files:
        assert (one / file).read_bytes() == (two / file).read_bytes()
    assert (one / "mptcp-daps/wifi-sender.pcapng").read_bytes() == (
        one / "mptcp-daps-2/wifi-sender.pcapng"
    ).read_bytes()
    comment = b"scenario mptcp, scheduler Alternating, seed 1"
    assert comment in (one / "mptcp-Alternating/lte-sender.pcapng").read_bytes()[:200]


def test_names_that_no_file_may_have(tmp_path: Path) -> None:
    links = [plait.Path(name=name, rate="1Mbit", rtt="20ms") for name in ("a/b", "a b", "..")]
    plait.run(
        plait.Scenario(name="../up", duration="100ms", scheduler="daps", paths=links), pcap=str(tmp_path)
    )
    names = sorted(file.name for file in (tmp_path / "up-daps").iterdir())
    stems = ("a-b", "a-b-2", "run")
    assert names == sorted(f"{stem}-{side}.pcapng" for stem in stems for side in ("receiver", "sender"))


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/mptcp-daps: cannot write there: Not a directory"):
        plait.run(scenario(), pcap=tmp_path / "file")


LINKS = """
duration = "10s"
[transport]
protocol = "cmt-sctp"

[[path]]
name = "wifi"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
"""


def test_a_full_disk_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "links.toml"
    file.write_text(LINKS)
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)); "
        "from plait.cli import main; main()"
    )
    command = [sys.executable, "-c", limited, "run", str(file), "--pcap", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("-sender.pcapng: cannot be written: File too large\n")
    assert done.stdout == ""
    assert [entry for entry in (tmp_path / "out").rglob("*") if entry.is_file()] == []


class Failing(Alternating):
    """Raises an exception in the middle of the run."""

    def decide(
        self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
    ) -> plait.Assign | plait.Wait:
        if now > 0.5:
            raise OSError(5, "broken inside")
        return super().decide(now, connection, paths)


def test_a_run_that_fails_leaves_no_files(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="broken inside"):
        plait.run(scenario(), Failing, pcap=tmp_path)
    assert [entry for entry in tmp_path.rglob("*") if entry.is_file()] == []


def test_the_kernel_has_its_own_captures(tmp_path: Path) -> None:
    with pytest.raises(
        plait.ScenarioError, match=r"mptcp: pcap: not with the linux engine: .*PLAIT_LINUX_KEEP=DIR"
    ):
        plait.run(scenario(), pcap=tmp_path, engine="linux")
    assert list(tmp_path.iterdir()) == []
