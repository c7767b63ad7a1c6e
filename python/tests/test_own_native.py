"""Controllers and workloads from shared libraries, and the built-in workloads as classes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import DSL_AND_LTE, Command
from test_own_controller import PROTOCOLS, metrics, scenario, vars_of
from test_own_library import compiled
from test_own_workload import KINDS, SAME

import plait
from plait import RunError, ScenarioError
from plait.bundles import bundle, rerun
from plait.sweep import Plan, read, sweep

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
FAULTS = Path(__file__).parent / "native" / "faults.c"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the examples and the faulty classes, beside the examples in Python."""
    folder = tmp_path_factory.mktemp("native")
    for source in (EXAMPLES / "reno.c", EXAMPLES / "kinds.c", FAULTS):
        shutil.copy(source, folder)
        compiled(folder / source.name, folder / f"{source.stem}.so")
    (folder / "kinds.py").write_text(KINDS)
    return folder


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("scheduler", ["lowest-rtt", "linux-default"])
def test_reno_in_c_is_the_built_in_one(built: Path, name: str, scheduler: str) -> None:
    transport, kind = PROTOCOLS[name]
    made = [
        plait.run(scenario(built, control, **transport), scheduler, series="100ms")
        for control in ("newreno", f"reno.so:{kind}")
    ]
    assert metrics(made[0]) == metrics(made[1])
    assert made[0].path_series.equals(made[1].path_series)
    for one in ("retransmissions", "timeouts"):
        assert made[0].metrics[one], "losses and an outage"


def test_flows_and_real_quic_connections_take_it(built: Path) -> None:
    made = []
    for control in ("newreno", "reno.so:Reno"):
        base = scenario(built, "cubic", protocol="mptcp", profile="standard")
        flow = plait.TcpFlow(path="path1", congestion_control=control)
        made.append(plait.run(plait.Scenario(**{**vars_of(base), "flows": [flow]})))
        made.append(plait.run(scenario(built, control, protocol="mpquic"), engine="quic"))
    assert metrics(made[0]) == metrics(made[2])
    assert made[1].metrics["goodput_bps"] == made[3].metrics["goodput_bps"]


@pytest.mark.parametrize("kinds", ["kinds.py", "kinds.so"])
@pytest.mark.parametrize("protocol", ["cmt-sctp", "mptcp", "mpquic", "tcp"])
@pytest.mark.parametrize("same", SAME, ids=lambda same: f"{same[1]}-{len(same[2])}")
def test_a_built_in_kind_as_a_class_has_the_same_result(
    built: Path, kinds: str, protocol: Any, same: tuple[Any, str, dict[str, Any]]
) -> None:
    built_in, name, parameters = same
    native = kinds == "kinds.so"
    deadline = {"deadline": 0.2} if native and name == "Clients" else {}
    paths = [
        plait.Path(name="dsl", rate="8Mbit", rtt="30ms", loss="0.5%"),
        plait.Path(name="lte", rate="3Mbit", rtt="110ms", queue="40p"),
    ]
    found = [
        plait.run(
            plait.Scenario(
                name="same",
                duration="8s",
                warmup="0.3s",
                seed=3,
                workload=workload,
                transport=plait.Transport(protocol=protocol),
                paths=paths[:1] if protocol == "tcp" else paths,
                base=built,
            ),
            packets=True,
        )
        for workload in (built_in, plait.OwnWorkload(f"{kinds}:{name}", **parameters, **deadline))
    ]
    expected, own = (result.data["metrics"] for result in found)
    if name == "File":  # the built-in kind does not measure its only message as a block
        duration = own["completion_time_s"] - parameters.get("start", 0)
        assert own.pop("block_delay_ms")["mean"] == pytest.approx(duration * 1000)
        own["block_delay_ms"] = None
    if name == "Clients":
        assert found[1].requests.equals(found[0].requests)
        if native:  # the built-in kind waits for the start, the one in C writes at once
            own["events"] = expected["events"]
    assert own == expected
    assert found[1].packets.equals(found[0].packets)
    assert found[1].paths == found[0].paths
    assert found[1].own_workload is not None
    assert (
        found[1].own_workload["source"] == (built / kinds).with_suffix(".c" if native else ".py").read_text()
    )


PLAN = """
scenario = "own.toml"
schedulers = ["lowest-rtt"]
seeds = 2
set = { "transport.congestion_control" = "{control}" }
[[axis]]
control = ["newreno", "reno.so:Reno", "faults.so:Faulty:fault=4"]
"""
WORKLOAD = '[workload]\nkind = "kinds.so:Blocks"\nrate = 2000000\nblock = 2000\n'


def test_sweeps_and_bundles_carry_libraries(built: Path, tmp_path: Path, command: Command) -> None:
    for name in ("reno.so", "kinds.so", "faults.so"):
        shutil.copy(built / name, tmp_path)
    (tmp_path / "own.toml").write_text(
        f'duration = "3s"\n[transport]\nprotocol = "mpquic"\n{WORKLOAD}{DSL_AND_LTE}'
    )
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = Plan.load(tmp_path / "plan.toml")
    assert list(plan.identity["traces"]) == ["faults.so", "kinds.so", "reno.so"]
    sweep(plan, tmp_path / "set", threads=2)
    rows = read(tmp_path / "set").frame
    assert rows["goodput_bps"].to_list()[:2] == rows["goodput_bps"].to_list()[2:4]
    assert rows["error"].null_count() == 4
    assert all("Faulty: on_ack failed with error 77" in text for text in rows["error"][4:])
    done = command("run", "own.toml", "--workload", "kinds.so:File:size=100000", "--out", "out")
    assert done.returncode == 0, done.stderr
    done = command("compare", "own.toml", "--schedulers", "lowest-rtt,ecf", "--out", "two")
    assert done.returncode == 0, done.stderr
    files = [tmp_path / name for name in ("reno.so", "kinds.so", "faults.so")]
    for name in ("set", "out", "two"):
        bundle(tmp_path / name, tmp_path / f"{name}.zip", files if name == "set" else ())
    for file in files:
        file.unlink()
    for name in ("set", "out", "two"):
        assert rerun(tmp_path / f"{name}.zip", tmp_path / f"{name}-again").different == []


@pytest.mark.parametrize(
    ("role", "fault", "message"),
    [
        ("controller", 2, "on_ack left window = 0: expected 1 to 1000000000000000 (bytes)"),
        ("controller", 3, "on_ack left window = 18446744073709"),
        ("controller", 4, "on_ack failed with error 77"),
        ("controller", 7, "on_event failed with error 80"),
        ("workload", 1, "begin added PLAIT_STEP_WRITE with bytes = 0: expected 1 to 1000000000000000"),
        ("workload", 2, "begin added a step of kind 9: expected PLAIT_STEP_WRITE, _WAIT or _END"),
        ("workload", 3, "wrong step: the size of a plait_step is none that a version of this interface has"),
        ("workload", 4, "begin added PLAIT_STEP_WRITE with stream = 1000: expected 0 to 999"),
        ("workload", 5, "on_time is missing: a workload that waits needs it"),
        ("workload", 6, "begin failed with error 77"),
        ("workload", 7, "begin added a wrong step: the plait_step is a null pointer"),
        ("workload", 8, "expected a time until which it waits, later than now"),
        ("workload", 9, "on_delivered added PLAIT_STEP_WRITE with bytes = 1: expected no message after the end"),
        ("workload", 10, "expected at most 1 PB in all messages"),
    ],
)  # fmt: skip
def test_a_failing_class_ends_the_run(built: Path, role: str, fault: int, message: str) -> None:
    made = scenario(built, f"faults.so:Faulty:fault={fault}" if role == "controller" else "cubic")
    if role == "workload":
        made = plait.Scenario(
            **{**vars_of(made), "workload": plait.OwnWorkload("faults.so:Faulty", fault=fault)}
        )
    with pytest.raises(RunError, match=f"^lossy: {role} Faulty: ") as raised:
        plait.run(made)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reno.so", "reno.so:CLASS with one of: Reno, SctpReno"),
        ("reno.so:Reno:gain=2", 'unknown parameter in "gain=2": it takes none'),
        ("reno.so:Rena", r"class 'Rena': unknown in .*reno.so \(did you mean Reno\?\)"),
        ("kinds.so:Blocks", "kinds.so has no controller; expected a shared library with plait_controller_class_at"),
        ("text.so:Reno", "text.so cannot be loaded: .*; expected a shared library with plait_controller_class_at"),
        ("absent.so:Reno", "absent.so:Reno': no such file"),
        ("faults.so:Faulty:fault=1", "create left window = 0: expected 1 to 1000000000000000"),
        ("size.so:Reno", "class 0: the size of a plait_controller_class is none that a version of this interface has"),
        ("lacks.so:Reno", "class 1: a plait_controller_class needs name, create and on_ack"),
    ],
)  # fmt: skip
def test_wrong_classes(built: Path, tmp_path: Path, name: str, message: str) -> None:
    for file in ("reno.so", "kinds.so", "faults.so"):
        shutil.copy(built / file, tmp_path)
    (tmp_path / "text.so").write_text("no library\n")
    text = (EXAMPLES / "reno.c").read_text()
    changed = {
        "size": (".size = sizeof(plait_controller_class)", ".size = 44"),
        "lacks": (".on_ack = sctp_on_ack,", ""),
    }
    file = name.partition(".")[0]
    if file in changed:
        (tmp_path / f"{file}.c").write_text(text.replace(*changed[file]))
        compiled(tmp_path / f"{file}.c", tmp_path / f"{file}.so", "-Wno-error")
    with pytest.raises(ScenarioError, match=message) as raised:
        plait.run(scenario(tmp_path, name))
    assert "\n" not in str(raised.value)


def test_a_controller_paces_and_sees_all_paths(built: Path) -> None:
    made = plait.run(scenario(built, "faults.so:Faulty:fault=5", protocol="mpquic"))
    assert 0.9 * 800_000 < made.metrics["goodput_bps"] < 2 * 800_000


def test_a_window_below_a_segment_is_a_segment(built: Path) -> None:
    made = plait.run(scenario(built, "faults.so:Faulty:fault=6", protocol="mpquic"), series="1s")
    assert set(made.path_series["cwnd_packets"].to_list()[4:]) == {1}


SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
RUNS = """
import json, sys
import plait
for transport, workload in json.loads(sys.argv[1]):
    given = {} if workload is None else {"workload": plait.OwnWorkload(**workload)}
    fast = plait.Path(rate="10Mbit", rtt="20ms", loss="0.3%")
    slow = plait.Path(rate="3Mbit", rtt="60ms", queue="20p")
    links = {"duration": "5s", "paths": [fast, slow]}
    try:
        plait.run(plait.Scenario(transport=plait.Transport(**transport), **links, **given))
    except plait.RunError:
        pass
"""


def test_a_sanitizer_finds_nothing_and_every_instance_is_freed(built: Path, tmp_path: Path) -> None:
    """Runs under AddressSanitizer: it finds accesses behind an instance or after its end."""
    for name in ("reno", "kinds", "faults"):
        shutil.copy(built / f"{name}.c", tmp_path)
        compiled(tmp_path / f"{name}.c", tmp_path / f"{name}.so", *SANITIZED)
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    wanted: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        *(({**one, "congestion_control": f"reno.so:{kind}"}, None) for one, kind in PROTOCOLS.values()),
        *(({"congestion_control": f"faults.so:Faulty:fault={fault}"}, None) for fault in range(2, 8)),
        *(({}, {"kind": f"kinds.so:{name}", **parameters}) for _, name, parameters in SAME),
        *(({}, {"kind": "faults.so:Faulty", "fault": fault}) for fault in range(11)),
    ]
    # Python itself does not free all at its end; the classes count their instances.
    environment = {**os.environ, "LD_PRELOAD": runtime.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [sys.executable, "-c", RUNS, json.dumps(wanted)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_an_instance_that_is_left_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "leaks.c").write_text(FAULTS.read_text().replace("\talive--;\n", ""))
    compiled(tmp_path / "leaks.c", tmp_path / "leaks.so")
    (tmp_path / "one.toml").write_text(f'duration = "1s"\n{DSL_AND_LTE}')
    arguments = ["run", "one.toml", "--workload", "leaks.so:Faulty"]
    done = subprocess.run(
        [sys.executable, "-m", "plait", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stderr.endswith("instances are left\n")
