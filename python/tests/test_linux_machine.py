"""Checks of the machine before the lab builds: early refusals with advice."""

import errno
import hashlib
import io
import os
import platform
import subprocess
import tarfile
import urllib.request
from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plait import _core
from plait.linux import archive, build, kernel, machine, tools
from plait.linux.processor import Placement

Room = namedtuple("Room", "f_flag f_bavail f_frsize")
FIT = Room(0, 1 << 30, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ID=debian\n", "on Debian: sudo apt-get install iproute2 libc6-dev gcc"),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', "on Debian: sudo apt-get install iproute2 libc6-dev gcc"),
        ("NAME=Fedora\nID=fedora\n", "on Fedora: sudo dnf install iproute iproute-tc glibc-devel gcc"),
        ("ID=arch\n", "on Arch: sudo pacman -S --needed iproute2 glibc gcc"),
    ],
)
def test_what_is_missing_is_named_in_the_distributions_own_words(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = tmp_path / "os-release"
    release.write_text(text)
    monkeypatch.setattr(tools, "OS_RELEASE", (tmp_path / "none", release))
    packages = {**tools.TO_RUN, **tools.TO_BUILD}
    found = tools.complaint(["ip", "tc", tools.HEADERS, "gcc"], packages)
    assert found == f"missing: ip, tc, {tools.HEADERS}, gcc; {expected}"


def test_on_an_unknown_distribution_all_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "OS_RELEASE", (tmp_path / "none",))
    advice = tools.advice(["tc"], tools.TO_RUN)
    assert advice == (
        "on Debian: sudo apt-get install iproute2; on Fedora: sudo dnf install iproute-tc; "
        "on Arch: sudo pacman -S --needed iproute2"
    )


def test_missing_programs_and_headers_end_a_build_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(machine, "obstacles", list)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(archive, "fetch", lambda folder, say: pytest.fail("it must not get there"))
    present = {"gcc": "/bin/false"}  # a compiler without headers
    monkeypatch.setattr(tools, "find", present.get)
    with pytest.raises(
        _core.RunError, match=rf"^missing: {tools.HEADERS}, ar, make, .* ip, tc, setarch; on "
    ):
        build.build(say=lambda step: None)
    assert list(tmp_path.iterdir()) == []


def test_another_architecture_is_refused_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(build, "install", lambda packages, say: pytest.fail("it must not get there"))
    with pytest.raises(_core.RunError, match="runs on Linux on x86-64 only, and this is Linux on aarch64"):
        build.build(force=True, say=lambda step: None)


def test_what_a_container_forbids_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(command: Sequence[str], **_: Any) -> SimpleNamespace:
        return SimpleNamespace(returncode=1 if "-R" in command else errno.EPERM)

    monkeypatch.setattr(subprocess, "run", forbidden)
    monkeypatch.setattr(tools, "find", lambda program: f"/usr/bin/{program}")
    layout, tracing = machine.obstacles()
    assert layout.startswith("setarch -R is not permitted here")
    assert "seccomp=unconfined" in layout
    assert tracing.startswith("ptrace is not permitted here (Operation not permitted)")


def test_this_machine_lets_processes_be_traced() -> None:
    assert not [one for one in machine.obstacles() if one.startswith("ptrace")]


@pytest.fixture
def rooms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mapping[Path, Room]:
    """Free space and mount flags by folder, in place of `os.statvfs`.

    A query for any other folder fails.
    """
    found: dict[Path, Room] = {}
    monkeypatch.setattr(os, "statvfs", lambda folder: found[Path(folder)])
    monkeypatch.setattr(machine, "MEMORY_FOLDER", tmp_path / "shm")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
    for name in ("shm", "temporary", "mine"):
        (tmp_path / name).mkdir()
        found[tmp_path / name] = FIT
    monkeypatch.delenv("TMPDIR", raising=False)
    return found


def test_the_guests_memory_is_where_there_is_room_and_programs_may_run(
    rooms: dict[Path, Room], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert machine.memory_folder() == tmp_path / "shm"
    rooms[tmp_path / "shm"] = Room(os.ST_NOEXEC, 1 << 30, 1)
    assert machine.memory_folder() == tmp_path / "temporary"
    rooms[tmp_path / "shm"] = Room(0, 64 << 20, 1)
    assert machine.memory_folder() == tmp_path / "temporary"
    rooms[tmp_path / "temporary"] = Room(os.ST_NOEXEC, 1 << 30, 1)
    with pytest.raises(_core.RunError) as refused:
        machine.memory_folder()
    assert str(refused.value) == (
        f"no place for the guest's memory: {tmp_path}/shm has 64 MiB free, and 256 are needed, "
        f"{tmp_path}/temporary is mounted noexec; name a folder by the environment variable TMPDIR"
    )
    monkeypatch.setenv("TMPDIR", str(tmp_path / "mine"))
    assert machine.memory_folder() == tmp_path / "mine"


def package(folder: Path, content: bytes) -> Path:
    """Builds a Debian package that contains a tarball."""
    data = folder / "data.tar.xz"
    with tarfile.open(data, "w:xz") as tar:
        info = tarfile.TarInfo(f"./{archive.TARBALL}")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    file = folder / "some.deb"
    subprocess.run(["ar", "qc", str(file), str(data)], check=True)
    return file


@pytest.mark.skipif(bool(tools.missing({"ar": (), "xz": (), "tar": ()})), reason="ar, xz or tar is missing")
def test_the_source_comes_from_the_first_place_that_has_it_to_the_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = package(tmp_path, b"linux").read_bytes()
    answers: dict[str, bytes | OSError] = {
        archive.PLACES[0]: OSError("gone"),
        archive.PLACES[1]: b"something else",
        archive.PLACES[2]: good,
    }

    def answer(place: str, timeout: float) -> io.BytesIO:
        content = answers[place]
        if isinstance(content, OSError):
            raise content
        return io.BytesIO(content)

    monkeypatch.setattr(urllib.request, "urlopen", answer)
    monkeypatch.setattr(archive, "PACKAGE_SHA256", hashlib.sha256(good).hexdigest())
    found = tools.find
    monkeypatch.setattr(tools, "find", lambda program: None if program == "apt-get" else found(program))
    (fetched := tmp_path / "fetched").mkdir()
    said: list[str] = []
    assert archive.fetch(fetched, said.append).read_bytes() == b"linux"
    assert [line.rpartition(" ")[2] for line in said] == list(archive.PLACES)
    answers[archive.PLACES[2]] = good + b"?"
    with pytest.raises(_core.RunError, match=r"nowhere to be had: .*: gone; .* its SHA-256 is .* --source"):
        archive.fetch(fetched, said.append)


def test_the_key_of_a_build_covers_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kernel.content_hash()
    monkeypatch.setattr(archive, "TARBALL_SHA256", "0" * 64)
    assert kernel.content_hash() != before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one processor")
def test_machines_have_a_processor_each_and_leave_one_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = [subprocess.Popen(["sleep", "1000"]) for _ in range(2)]
    try:
        placements = [Placement(process.pid) for process in processes]
        one, other = (os.sched_getaffinity(process.pid) for process in processes)
        assert len(one) == len(other) == 1
        assert one != other
        monkeypatch.setattr(Placement, "_times", lambda placement: (10, 9))
        placements[0].look()
        assert os.sched_getaffinity(processes[0].pid) == one
        monkeypatch.setattr(Placement, "_times", lambda placement: (20, 20))
        placements[0].look()
        assert os.sched_getaffinity(processes[0].pid) != one
        for placement in placements:
            placement.leave()
        again = Placement(processes[1].pid)
        assert len(os.sched_getaffinity(processes[1].pid)) == 1
        again.leave()
    finally:
        for process in processes:
            process.kill()
            process.wait()
