"""What the tests share: a small scenario, and the command as a person runs it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import plait
from plait.papers import Reproduction, reproduce

SCENARIO = """
name = "two paths"
seed = 7
duration = "3s"
warmup = "500ms"
scheduler = "round-robin"

[transport]
protocol = "cmt-sctp"
receive_buffer = "60kB"

[workload]
kind = "bulk"

[[path]]
name = "fast"
rate = "2Mbit"
rtt = "20ms"
queue = "50p"

[[path]]
name = "slow"
rate = "1Mbit"
rtt = "80ms"
queue = "50p"
loss = "0.5%"
"""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def reproduced() -> Callable[[str], Reproduction]:
    """A paper's runs in full, made once for all tests."""
    return cache(lambda name: reproduce(name, with_figures=False))


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    file = tmp_path / "two.toml"
    file.write_text(SCENARIO)
    return file


@pytest.fixture
def scenario() -> plait.Scenario:
    return plait.Scenario(
        name="built",
        duration="3s",
        warmup=0.5,
        transport=plait.Transport(protocol="cmt-sctp", receive_buffer=60_000),
        paths=[
            plait.Path(name="fast", rate="2Mbit", rtt="20ms", queue="50p"),
            plait.Path(name="slow", rate=1e6, rtt=0.08, queue="50p", loss="0.5%"),
        ],
    )


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Runs `plait` in an empty folder."""

    def run(*arguments: str, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "plait", *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=tmp_path,
            check=False,
        )

    return run
