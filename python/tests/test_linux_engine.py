"""The lab around the kernel: with a script instead of the kernel, and with a built kernel."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import NEEDS_KERNEL, Command

import plait
from plait import _core
from plait.cli.output import print_tables
from plait.linux import boot, build, engine, kernel, machine, tools
from plait.linux.archive import VERSION
from plait.linux.guest import mib
from plait.linux.guest.content import CHUNK, Content
from plait.linux.plan import make_plan

KERNEL = """
name = "kernel"
duration = "5s"
warmup = "1s"
scheduler = "round-robin"
[transport]
protocol = "mptcp"
profile = "standard"
[[path]]
name = "fast"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
[[path]]
name = "slow"
rate = "5Mbit"
rtt = "60ms"
queue = "50p"
loss = "0.5%"
"""


def quiet(share: float) -> None:
    """Ignores progress."""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a script that replaces the kernel."""

    def make(script: str) -> Path:
        file = tmp_path / "linux"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return file

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


def start(
    program: Path, folder: Path, watch: Callable[[float], None] = quiet, patience: float = 30.0
) -> None:
    setarch = tools.find("setarch")
    if setarch is None:
        pytest.skip("setarch is not installed")
    boot.boot(program, setarch, folder, 7, watch, patience)


def test_the_command_line_names_nothing_of_the_run(fake: Callable[[str], Path], folder: Path) -> None:
    start(fake('echo "$@" > said; pwd >> said; env >> said; echo {} > observed.json'), folder)
    command, where, *environment = (folder / "said").read_text().splitlines()
    assert str(folder) not in command
    assert command.endswith("rng_seed=7")
    assert where == str(folder)
    told = [line for line in environment if not line.startswith(("PWD=", "_=", "SHLVL=", "OLDPWD="))]
    assert told == [f"TMPDIR={machine.memory_folder()}"]


def test_a_stuck_kernel_is_ended_and_its_console_shown(fake: Callable[[str], Path], folder: Path) -> None:
    polls: list[float] = []
    with pytest.raises(_core.RunError, match=r"no progress for 0\.5 s.*one \| two"):
        start(fake("echo one; echo two; sleep infinity & sleep infinity"), folder, polls.append, patience=0.5)
    assert 1 <= len(polls) <= 0.5 / boot.POLL_SECONDS + 1  # a poll takes at least that long
    assert set(polls) == {0.0}
    assert eventually(lambda: not running("sleep", folder))


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether the condition becomes true within a minute."""
    until = time.monotonic() + 60
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def running(program: str, folder: Path) -> list[str]:
    """Returns the processes of a program with the folder of the run as current folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return [one for one in found if program in one]


def test_progress_keeps_a_kernel_alive_and_is_reported(fake: Callable[[str], Path], folder: Path) -> None:
    seen: list[float] = []
    script = "for i in 1 2 3 4 5; do echo 0.$i > progress; sleep 0.2; done; echo {} > observed.json"
    start(fake(script), folder, seen.append, patience=0.6)
    assert 0.3 in seen


def test_what_the_guest_says_of_its_failure_is_the_error(fake: Callable[[str], Path], folder: Path) -> None:
    with pytest.raises(_core.RunError, match="OSError: no room"):
        start(fake("echo 'Traceback'  > failure.txt; echo 'OSError: no room' >> failure.txt"), folder)


def test_an_interrupt_ends_the_kernel(fake: Callable[[str], Path], folder: Path) -> None:
    def watch(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(fake("sleep 1000"), folder, watch)
    assert eventually(lambda: not running("sleep", folder))


def test_a_damaged_stream_fails_the_run(folder: Path) -> None:
    plan = make_plan(_core.Job(_core.Scenario(KERNEL, "kernel", ".")))

    def left(size: int, written: int, sha256: str) -> None:
        (folder / "observed.json").write_text(json.dumps({"written_bytes": written}))
        (folder / "integrity.json").write_text(json.dumps({"received_bytes": size, "sha256": sha256}))

    good = Content(plan.seed).sha256(100_000)
    left(100_000, 100_000, good)
    engine.check_integrity(plan, folder)
    left(100_001, 200_000, good)
    with pytest.raises(_core.RunError, match="damaged"):
        engine.check_integrity(plan, folder)
    left(100_000, 99_999, good)
    with pytest.raises(_core.RunError, match="only 99999 written"):
        engine.check_integrity(plan, folder)


def test_chunks_made_in_place_are_the_stream() -> None:
    content = Content(3)
    stream = b"".join(bytes(chunk) for chunk in itertools.islice(content.chunks(), 3))
    assert stream == content.part(0, 3 * CHUNK)
    assert len({stream[place : place + CHUNK] for place in range(0, 3 * CHUNK, CHUNK)}) == 3


def test_why_a_connection_fell_back_is_said_with_the_side_that_found_out() -> None:
    sender, receiver = {"MPTcpExt": {"DssFallback": 1}}, {"MPTcpExt": {"MPCapableFallbackACK": 2}, "Tcp": {}}
    assert mib.why_fallen_back(sender, receiver) == (
        "receiver: the packet that ended the handshake came without MP_CAPABLE (MPCapableFallbackACK); "
        "sender: data came without a mapping that holds for it (DssFallback)"
    )
    assert mib.why_fallen_back({}, {"MPTcpExt": {"MPJoinSynRx": 1}}) == "the kernel does not say why"


def test_a_table_says_that_a_connection_fell_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text(KERNEL.replace('"5s"', '"2s"'))
    result = plait.run(file)
    print_tables([[result]])
    assert "fell back from MPTCP" not in capsys.readouterr().out
    result.data["fallback"] = "receiver: some reason"
    print_tables([[result]])
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "round-robin: the connection fell back from MPTCP to TCP, on one path alone; receiver: some reason"
        in shown
    )


def test_without_a_kernel_it_says_how_to_get_one(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(kernel.OVERRIDE, raising=False)
    (tmp_path / "k.toml").write_text(KERNEL)
    done = command("run", "k.toml", "--engine", "linux")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert "plait linux build" in done.stderr
    status = command("linux", "status", "--json")
    assert json.loads(status.stdout)["built"] is False


def test_what_the_engine_cannot_do_is_bad_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(KERNEL.replace('"mptcp"\nprofile = "standard"', '"cmt-sctp"'))
    for arguments in (("run", "k.toml"), ("compare", "k.toml", "--schedulers", "daps")):
        done = command(*arguments, "--engine", "linux")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert 'kernel: transport.protocol = "cmt-sctp"' in done.stderr


def test_schedulers_in_python_do_not_run_in_the_kernel(command: Command, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(KERNEL)
    (tmp_path / "own.py").write_text(
        "import plait\nclass Own(plait.Scheduler):\n    def decide(self, now, connection, paths):\n        pass\n"
    )
    done = command("run", "k.toml", "--engine", "linux", "--scheduler", "own.py:Own")
    assert done.returncode == 2
    assert "the kernel runs no Python" in done.stderr


def test_a_tree_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build, "install", lambda packages, say: None)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "Makefile").write_text("VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 1\n")
    with pytest.raises(_core.RunError, match=rf"Linux 5\.4\.1; the patches are for {VERSION}"):
        build.build(source=tree, say=lambda step: None)


def test_an_option_that_did_not_take_is_named() -> None:
    wanted = build.options("# comment\nCONFIG_A=y\nCONFIG_B=y\n")
    assert wanted - build.options("CONFIG_A=y\n# CONFIG_B is not set\n") == {"CONFIG_B=y"}


def test_the_hash_covers_every_ingredient() -> None:
    names = {file.name for file in kernel.ingredients()}
    assert {"lab.config", "plait.h", "engine.c"} <= names
    assert any(name.endswith(".patch") for name in names)


@pytest.mark.kernel
@NEEDS_KERNEL
def test_the_kernel_gives_the_same_result_again_and_in_parallel(tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text(KERNEL)
    first = plait.run(file, engine="linux")
    assert first.data["engine"] == "linux"
    assert first.metrics["goodput_bps"] > 5e6
    assert all(path["throughput_bps"] > 1e6 for path in first.paths)
    both = plait.compare(file, ["round-robin", "round-robin"], engine="linux", threads=2)
    assert [one.to_json() for one in both] == [first.to_json()] * 2


@pytest.mark.kernel
@NEEDS_KERNEL
def test_an_interrupted_kernel_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "k.toml"
    file.write_text(KERNEL.replace('"5s"', '"1000s"'))
    (temporary := tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "plait", "run", str(file), "--engine", "linux"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=subprocess.DEVNULL,
    )
    assert eventually(lambda: any(temporary.glob("*/progress")))
    (folder,) = temporary.iterdir()
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert list(temporary.iterdir()) == []
    assert eventually(lambda: not running("linux", folder))
