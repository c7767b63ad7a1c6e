"""Reads run folders of real hosts into results: a hand-written connection of two packets."""

import json
import struct
from pathlib import Path

import polars as pl
import pytest

from plait import _core
from plait.results.metrics import metric
from plait.results.result import Result

START = 1_000_000_000_000
SCENARIO = """
duration = "100ms"
transport = { protocol = "tcp", profile = "standard" }
[[path]]
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
"""


def packet(sequence: int, *, syn: bool, payload: int, number: int) -> bytes:
    """Builds a TCP packet from 10.0.0.1 to 10.0.0.2, port 5001, after a `LINUX_SLL2` header."""
    link = b"\x08\x00" + bytes(18)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + payload, number, 0x4000, 64, 6, 0)
    ports = struct.pack(">HHIIBBHHH", 40_000, 5_001, sequence, 0, 0x50, 2 if syn else 16, 100, 0, 0)
    return link + ip + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + ports + bytes(payload)


def write_capture(file: Path, packets: list[tuple[int, bytes]]) -> None:
    text = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 276)
    for time, data in packets:
        text += struct.pack("<IIII", time // 10**9, time % 10**9, len(data), len(data)) + data
    file.write_bytes(text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    packets = [packet(7, syn=True, payload=0, number=0)]
    packets += [packet(8 + 1000 * k, syn=False, payload=1000, number=1 + k) for k in range(2)]
    for name, delay in (("sender", 0), ("receiver", 10)):
        times = [START + (k + delay) * 1_000_000 for k in range(3)]
        write_capture(tmp_path / f"{name}.pcap", list(zip(times, packets, strict=True)))
    counts = {"lost": 0, "dropped": 0}
    path = {
        "name": "path1",
        "sender": "10.0.0.1",
        "receiver": "10.0.0.2",
        "warmup": counts,
        "end": counts,
        "srtt_us": 20_500,
    }
    observed = {
        "version": 1,
        "start_ns": START,
        "end_ns": START + 100_000_000,
        "port": 5001,
        "written_bytes": 2000,
        "paths": [path],
    }
    (tmp_path / "observed.json").write_text(json.dumps(observed))
    return tmp_path


def test_a_folder_gives_a_result_like_the_simulator_s(folder: Path) -> None:
    scenario = _core.Scenario(SCENARIO, "observed.toml", "")
    job = _core.Job(scenario, packets=True, decisions_from_ns=0)
    result = Result(_core.observed(job, folder))
    assert result.data["engine"] == "linux"
    assert result.metrics["goodput_bps"] == 160_000
    assert result.metrics["app_delay_ms"]["mean"] == 10
    assert result.metrics["timeouts"] is None
    assert metric(result, "paths.path1.srtt_ms") == 20.5
    assert metric(result, "paths.sum.cwnd_packets") is None
    assert result.packets["arrived_ns"].to_list() == [11_000_000, 12_000_000]
    assert set(result.recorded()) == {"packets"}, "there is no log of decisions"
    simulated = Result(_core.run([_core.Job(scenario, packets=True)])[0])
    assert result.metrics.keys() == simulated.metrics.keys()
    assert result.paths[0].keys() == simulated.paths[0].keys()
    assert isinstance(result.packets, pl.DataFrame)
    assert result.packets.schema == simulated.packets.schema


def test_what_is_wrong_with_a_folder_is_one_line_that_names_it(folder: Path) -> None:
    job = _core.Job(_core.Scenario(SCENARIO, "observed.toml", ""))
    (folder / "receiver.pcap").write_bytes(b"nothing")
    with pytest.raises(_core.RunError, match=r"^observed: .*: receiver\.pcap: it is no capture") as raised:
        _core.observed(job, folder)
    assert "\n" not in str(raised.value)


def test_a_job_tells_the_scenario_that_it_runs() -> None:
    scenario = _core.Scenario(SCENARIO, "observed.toml", "")
    told = json.loads(_core.Job(scenario, seed=7).scenario.json)
    assert told["seed"] == 7
    assert told | {"seed": 1} == json.loads(scenario.json)
