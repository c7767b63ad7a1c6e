"""netem against the simulator: links that change, duplicate packets and add random delay.

Needs a kernel.
"""

from pathlib import Path
from typing import Any, Literal

import pytest
from conftest import NEEDS_KERNEL

import plait

pytestmark = [pytest.mark.kernel, NEEDS_KERNEL]

DATAGRAMS = """
name = "datagrams"
duration = "10s"
workload = { kind = "file", size = "1kB", start = "9s" }
transport = { protocol = "tcp" }
[[path]]
rate = "10Mbit"
PATH
[[flow]]
kind = "cbr"
path = "path1"
rate = "1Mbit"
packet = "1250B"
start = "5ms"
stop = "8s"
"""
"""800 datagrams, one every 10 ms; the transmission of each takes 1 ms."""


def flow(path: str, engine: Literal["sim", "linux"], folder: Path) -> dict[str, Any]:
    file = folder / "datagrams.toml"
    file.write_text(DATAGRAMS.replace("PATH", path), encoding="utf-8")
    return dict(plait.run(file, engine=engine).flows[0])


CASES = {
    "constant": 'delay = "30ms"',
    "overtaking": 'delay = "20ms"\nreorder = true\nrepeat = "4s"\n'
    'delay_steps = [{ at = "2s", delay = "120ms" }, { at = "3s", delay = "20ms" }]',
    "in order": 'delay = "20ms"\nrepeat = "4s"\n'
    'delay_steps = [{ at = "2s", delay = "120ms" }, { at = "3s", delay = "20ms" }]',
    "loss": 'delay = "20ms"\nloss_steps = [{ at = "2s", loss = "100%" }, { at = "4s", loss = "0%" }]',
    "copies": 'delay = "20ms"\nduplicate = "100%"',
    "copies and losses": 'delay = "20ms"\nduplicate = "50%"\nloss = "30%"',
    "correlated losses": 'delay = "20ms"\nloss = { model = "bernoulli", share = "20%", correlation = "50%" }',
    **{
        name: f'delay = "50ms"\njitter = {{ amount = "10ms", distribution = "{name}", reorder = true }}'
        for name in ("uniform", "normal", "pareto", "paretonormal")
    },
}


@pytest.mark.parametrize("name", CASES)
def test_netem_does_what_the_simulator_does(name: str, tmp_path: Path) -> None:
    """Delays and counts agree within 5 standard errors of 800 datagrams.

    Delays may differ by a tick of the kernel's clock in addition.
    """
    simulated, found = flow(CASES[name], "sim", tmp_path), flow(CASES[name], "linux", tmp_path)
    assert found["packets_sent"] == simulated["packets_sent"] == 800
    # The number of arrivals per datagram is 0 to 2: its standard deviation is at most 1.
    assert found["packets_delivered"] == pytest.approx(simulated["packets_delivered"], abs=5 * 800**0.5)
    if "loss = " not in CASES[name] and "duplicate" not in CASES[name]:
        assert found["packets_delivered"] == simulated["packets_delivered"]
    deviation = 10 if "jitter" in CASES[name] else 0
    tolerance = 0.6 + 5 * deviation * (2 / 800) ** 0.5
    assert found["delay_ms"]["mean"] == pytest.approx(simulated["delay_ms"]["mean"], abs=tolerance)
    if not deviation:
        for quantile in ("p50", "p95", "max"):
            assert found["delay_ms"][quantile] == pytest.approx(simulated["delay_ms"][quantile], abs=1.5)
