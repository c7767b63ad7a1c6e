"""linux/package: the control program with files in the place of the kernel's, and the package's contents."""

import importlib.machinery
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "linux/package"
SCHEDULERS = (
    "lowest-rtt lowest-rtt offered\nintelligent-dd intelligent-delivery-delay missing\necf ecf offered\n"
)


@pytest.fixture(name="control")
def _control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the program, with a loaded module in a folder."""
    loader = importlib.machinery.SourceFileLoader("plait_mptcp", str(PACKAGE / "plait-mptcp"))
    specification = importlib.util.spec_from_loader("plait_mptcp", loader)
    assert specification
    program = importlib.util.module_from_spec(specification)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader.exec_module(program)
    folders = {
        "MODULES": "modules",
        "DEBUG": "debug",
        "SYSCTL": "sysctl",
        "NETNS": "netns",
        "LIVEPATCHES": "live",
    }
    for name, folder in folders.items():
        (tmp_path / folder).mkdir()
        monkeypatch.setattr(program, name, tmp_path / folder)
    monkeypatch.setattr(program, "CONFIGURATION", tmp_path / "plait-mptcp.conf")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (tmp_path / "modules/plait/parameters").mkdir(parents=True)
    for name, value in {"ecf_beta_milli": "250", "intelligent_delivery_delay_ahead": "64"}.items():
        (tmp_path / "modules/plait/parameters" / name).write_text(value)
    (tmp_path / "modules/plait/version").write_text("0.1.0\n")
    (tmp_path / "modules/plait/refcnt").write_text("3\n")
    (tmp_path / "debug/schedulers").write_text(SCHEDULERS)
    (tmp_path / "debug/counters").write_text("wait 3\nassign 2\ndropped 0\n")
    (tmp_path / "debug/connections").write_text(
        "connection token=00ab12cd netns=1 scheduler=ecf\npath number=2 state=active cwnd=10 bytes=77\n"
    )
    (tmp_path / "sysctl/scheduler").write_text("default\n")
    (tmp_path / "sysctl/available_schedulers").write_text("default lowest-rtt ecf\n")
    return program


def called(control: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the program."""
    monkeypatch.setattr(sys, "argv", ["plait-mptcp", *arguments])
    status: int = control.main()
    return status


def test_use(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A scheduler that exists is set."""
    assert called(control, monkeypatch, "use", "ecf") == 0
    assert (tmp_path / "sysctl/scheduler").read_text() == "ecf"
    assert "new sockets" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["use", "daps"], "scheduler daps: unknown; expected one of: default, lowest-rtt, ecf"),
        (
            ["use", "ecf", "--netns", "none"],
            "--netns none: unknown; expected one of: none exists (ip netns add makes one)",
        ),
        (["parameters", "ecf_beta=1"], "parameter ecf_beta: unknown; expected one of: ecf_beta_milli"),
        (["parameters", "ecf_beta_milli"], "ecf_beta_milli: no value; expected: NAME=VALUE"),
        (
            ["log", "--token", "x"],
            "--token x: no token; expected: hexadecimal digits, as `ss -Mi` shows them",
        ),
    ],
)
def test_wrong_inputs(
    control: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    """A wrong input gives one line with place, value and choices."""
    assert called(control, monkeypatch, *arguments) == 1
    assert capsys.readouterr().err == f"plait-mptcp: {message}\n"


@pytest.mark.parametrize("command", [["use", "ecf"], ["parameters"], ["log"], ["start"], ["stop"]])
def test_without_root(
    control: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    """Only root may change anything."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert called(control, monkeypatch, *command) == 1
    assert capsys.readouterr().err == f"plait-mptcp: {command[0]}: needs root; use sudo\n"


@pytest.mark.parametrize("command", [["parameters"], ["log"]])
def test_without_the_module(
    control: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    """Without the module the message names it."""
    shutil.rmtree(tmp_path / "modules/plait")
    assert called(control, monkeypatch, *command) == 1
    assert capsys.readouterr().err.startswith("plait-mptcp: the module plait is not loaded: ")


def test_parameters_of_schedulers_that_are_missing_are_hidden(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A parameter without effect is not offered."""
    assert called(control, monkeypatch, "parameters") == 0
    listed = capsys.readouterr().out
    assert "ecf_beta_milli = 250" in listed
    assert "intelligent" not in listed
    assert called(control, monkeypatch, "parameters", "ecf_beta_milli=300") == 0
    assert (tmp_path / "modules/plait/parameters/ecf_beta_milli").read_text() == "300"


def test_status(
    control: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Connections are listed with their scheduler and paths."""
    monkeypatch.setattr(control, "namespaces", lambda: {1: ("blue", None)})
    assert called(control, monkeypatch, "status") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "module      plait 0.1.0"
    assert lines[-3:] == [
        "counters    wait 3, assign 2, dropped 0",
        "connection  00ab12cd ecf in namespace blue",
        "  path 2 state=active cwnd=10 bytes=77",
    ]


def test_status_without_the_module(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The rest of the state is shown."""
    shutil.rmtree(tmp_path / "modules/plait")
    shutil.rmtree(tmp_path / "debug")
    monkeypatch.setattr(control, "namespaces", lambda: {1: ("blue", None)})
    assert called(control, monkeypatch, "status") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "in use      default in namespace blue"


def test_start_names_the_line(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A configuration is carried out line by line; an error has its place."""
    configuration = tmp_path / "plait-mptcp.conf"
    configuration.write_text("# comment\nscheduler = ecf\necf_beta_milli = 7 # less\n")
    assert called(control, monkeypatch, "start") == 0
    assert (tmp_path / "sysctl/scheduler").read_text() == "ecf"
    assert (tmp_path / "modules/plait/parameters/ecf_beta_milli").read_text() == "7"
    capsys.readouterr()
    configuration.write_text("\nscheduler = dap\n")
    assert called(control, monkeypatch, "start") == 1
    assert f"{configuration}: line 2: scheduler dap: unknown" in capsys.readouterr().err


def test_stop_resets_namespaces(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A module in use stays, and the message tells by how many sockets; its scheduler is set nowhere."""
    (tmp_path / "sysctl/scheduler").write_text("ecf")
    monkeypatch.setattr(control, "namespaces", lambda: {1: ("blue", None)})
    run = subprocess.run

    def fake(command: list[str], **options: object) -> object:
        return run(["false"] if command[0] == "rmmod" else command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", fake)
    assert called(control, monkeypatch, "stop") == 1
    assert (tmp_path / "sysctl/scheduler").read_text() == "default"
    assert "3 sockets still use the module plait" in capsys.readouterr().err


def test_a_livepatch_is_removed_before_its_module(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel holds the module of stage two until no task runs replaced functions."""
    (tmp_path / "modules/plait").rename(tmp_path / "modules/plait_livepatch")
    livepatch = tmp_path / "live/plait_livepatch"
    livepatch.mkdir()
    (livepatch / "enabled").write_text("1")
    (livepatch / "transition").write_text("0")
    monkeypatch.setattr(control, "namespaces", dict)
    commands = []

    def fake(command: list[str], **_options: object) -> object:
        commands.append((command, (livepatch / "enabled").read_text()))
        return subprocess.CompletedProcess(command, 0, "", "")

    assert called(control, monkeypatch, "status") == 0
    assert "stage       2, with a livepatch" in capsys.readouterr().out
    monkeypatch.setattr(subprocess, "run", fake)
    assert called(control, monkeypatch, "stop") == 0
    assert commands == [(["rmmod", "plait_livepatch"], "0")]


def test_stage_one_takes_the_place_of_a_refused_stage_two(
    control: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kernel that the livepatch was not tested with gets the module alone, and the user is told."""
    (tmp_path / "modules/plait").rename(tmp_path / "gone")
    (tmp_path / "plait-mptcp.conf").write_text("stage = 2\n")
    commands = []

    def fake(command: list[str], **_options: object) -> object:
        commands.append(command)
        return subprocess.CompletedProcess(command, int(command[-1] == "plait_livepatch"), "", "")

    monkeypatch.setattr(subprocess, "run", fake)
    assert called(control, monkeypatch, "start") == 0
    assert commands == [["modprobe", "plait_livepatch"], ["modprobe", "plait"]]
    assert "stage 2 is refused" in capsys.readouterr().out
    (tmp_path / "plait-mptcp.conf").write_text("\nstage = 3\n")
    assert called(control, monkeypatch, "start") == 1
    assert "line 2: stage 3: unknown; expected one of: 1, 2" in capsys.readouterr().err


def record(token: int, kind: int, amount: int) -> bytes:
    """Return a record with one path, as crates/plait-capture reads it."""
    data = bytearray(88 + 112)
    struct.pack_into("<qHHI", data, 0, 5_000_000_000, 1, 1, token)
    struct.pack_into("<QB", data, 16, amount, kind)
    struct.pack_into("<Q", data, 32, 40)
    struct.pack_into("<Q", data, 48, 900)
    struct.pack_into("<I", data, 88 + 8, 10)
    struct.pack_into("<II", data, 88 + 16, 4, 2)
    struct.pack_into("<Q", data, 88 + 40, 20_500_000)
    struct.pack_into("<q", data, 88 + 72, -(1 << 63))
    return bytes(data)


def test_records_are_split_and_explained(control: ModuleType) -> None:
    """A read may end within a record; the rest comes with the next read."""
    data = record(0xAB, 1, 3) + record(0xCD, 0, 0)
    found, rest = control.split(data[:250])
    assert found == [(data[:200], 0xAB)]
    found, rest = control.split(rest + data[250:])
    assert (found, rest) == ([(data[200:], 0xCD)], b"")
    old = data[:10] + bytes(2) + data[12:]
    with pytest.raises(control.PlaitError, match="plait/decisions: format 0; expected 1"):
        control.split(old)
    assert control.text_of(data[:200]).partition(" ")[2] == (
        "000000ab assign path 1 3; unassigned 40, window left 900;"
        " path 1 active cwnd 10 in flight 4 queued 2 srtt 20.5 ms"
    )


def test_the_source_is_complete(tmp_path: Path) -> None:
    """Each object of the module has its source, and DKMS has the project's version."""
    done = subprocess.run(
        ["make", "-s", "-C", PACKAGE, "source", f"OUT={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    folder = tmp_path / f"plait-mptcp-{version}"
    assert f"PACKAGE_VERSION={version}\n" in (folder / "dkms.conf").read_text()
    build = (folder / "Kbuild").read_text().replace("\\\n", " ")
    common = re.search(r"common := (.*)", build)
    assert common
    alone = {"fragments", "ranges", "push", "livepatch"}
    assert {*common.group(1).split(), *alone} == {file.stem for file in folder.glob("*.c")}
