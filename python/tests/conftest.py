"""Fixtures for all tests: a small scenario, runs for reports, the command `plait`, a browser."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from reported import compared, make_dataset

import plait
from plait.cli import main
from plait.linux import kernel, tools
from plait.papers import Reproduction, reproduce
from plait.results.writing import write_results
from plait.support.progress import Progress

if TYPE_CHECKING:
    from playwright.sync_api import Browser

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

DSL_AND_LTE = """
[[path]]
name = "dsl"
rate = "16Mbit"
rtt = "25ms"
[[path]]
name = "lte"
rate = "30Mbit"
rtt = "60ms"
"""

NEEDS_KERNEL = pytest.mark.skipif(
    kernel.built() is None or bool(tools.missing(tools.TO_RUN)),
    reason="no kernel is built (plait linux build), or iproute2 or setarch is missing",
)
SLOW_FIXTURES = {"browser", "site"}
"""Fixtures that make a test slow: they start Chromium or build the site."""
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests as slow before pytest applies `-m`."""
    for item in items:
        if isinstance(item, pytest.Function) and SLOW_FIXTURES & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Starts Chromium without a window."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def reproduced() -> Callable[[str], Reproduction]:
    """Reproduces a paper in full, once for all tests."""
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


@pytest.fixture(scope="session")
def comparison() -> plait.Comparison:
    """Makes the runs for the tests of reports, once for all of them."""
    return compared()


@pytest.fixture(scope="session")
def results_folder(comparison: plait.Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "out"
    write_results(list(comparison), folder)
    return folder


@pytest.fixture(scope="session")
def dataset_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "dataset"
    make_dataset(folder)
    return folder


@pytest.fixture(autouse=True)
def progress_as_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undoes `plait --quiet`, which otherwise stays set until the process ends."""
    monkeypatch.setattr(Progress, "quiet", False)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """Runs `plait` in an empty folder, within this process, to save the start of an interpreter.

    The test fails if Rust or a library writes output past Python's streams.
    """

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with CliRunner().isolation() as (out, err, _), monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["plait", *arguments])
            with pytest.raises(SystemExit) as left:
                main()
            sys.stdout.flush()
            sys.stderr.flush()
        assert isinstance(left.value.code, int)
        assert capfd.readouterr() == ("", "")
        return subprocess.CompletedProcess(
            arguments, left.value.code, out.getvalue().decode(), err.getvalue().decode()
        )

    return run


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """Runs `plait` in an empty folder and in its own process, as a user does."""

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
