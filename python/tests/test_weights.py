"""Path weights, and copies of data that a path has not carried: from scenario to packets."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import NEEDS_KERNEL

import plait
from plait.engines.names import EngineName

BLOCKS = """
name = "blocks"
duration = "10s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "4MB"
[workload]
kind = "cbr"
rate = "6Mbit"
block = "14kB"
[[path]]
name = "near"
rate = "20Mbit"
rtt = "20ms"
queue = "50p"
weight = 1
[[path]]
name = "far"
rate = "20Mbit"
rtt = "60ms"
queue = "50p"
weight = 3
"""
FILE = """
name = "tail"
duration = "10s"
[transport]
protocol = "mptcp"
profile = "standard"
congestion_control = "cubic"
receive_buffer = "4MB"
[workload]
kind = "file"
size = "300kB"
[[path]]
name = "far"
rate = "20Mbit"
rtt = "200ms"
queue = "50p"
[[path]]
name = "near"
rate = "5Mbit"
rtt = "20ms"
queue = "50p"
"""


def scenario(folder: Path, text: str) -> Path:
    file = folder / "scenario.toml"
    file.write_text(text, encoding="utf-8")
    return file


ENGINES = ["sim", pytest.param("linux", marks=[pytest.mark.kernel, NEEDS_KERNEL])]


@pytest.mark.parametrize("engine", ENGINES)
def test_shares_of_a_stream_are_those_of_the_weights(engine: EngineName, tmp_path: Path) -> None:
    result = plait.run(scenario(tmp_path, BLOCKS), "weighted", engine=engine, packets=True)
    packets = result.packets.filter(result.packets["sent_ns"] > 2e9)
    assert (packets["path"] == 1).mean() == pytest.approx(0.75, abs=0.01)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", ["opportunistic", "when-idle", "probing"])
def test_each_mode_sends_copies(engine: EngineName, mode: str, tmp_path: Path) -> None:
    metrics = plait.run(scenario(tmp_path, BLOCKS), f"redundant:mode={mode}", engine=engine).metrics
    assert metrics["goodput_bps"] == pytest.approx(6e6, rel=0.02)
    assert metrics["reinjections"] > 0


def test_schedulers_in_python_see_what_paths_lack(tmp_path: Path) -> None:
    seen = []

    class Copying(plait.Scheduler):
        reinject = True
        uncarried = True

        def decide(
            self, now: float, connection: plait.Connection, paths: list[plait.PathFacts]
        ) -> plait.Assign | plait.Reinject | plait.Wait:
            for path in paths:
                if path.open:
                    return plait.Assign(path.index, 1)
            if connection.unassigned == 0:
                for path in paths:
                    has_room = path.usable and path.cwnd > path.in_flight + path.lost + path.queued
                    if has_room and path.uncarried is not None:
                        seen.append(path.uncarried)
                        return plait.Reinject(path.index, path.uncarried)
            return plait.Wait()

    result = plait.run(scenario(tmp_path, FILE), Copying)
    assert result.metrics["completion_time_s"] is not None
    assert 0 < result.metrics["reinjections"] <= len(seen)
