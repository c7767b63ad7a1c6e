"""A sweep on a Dask cluster of two processes; the test kills one of them."""

from __future__ import annotations

import os
import pickle
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import plait
from plait.support.files import OutputError
from plait.sweep import cluster, sweep

distributed = pytest.importorskip("distributed", reason="needs plait[cluster]")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

PLAN = """
schedulers = ["lowest-rtt", "round-robin"]
seeds = 40
set = { "path.slow.rtt" = "{rtt}ms" }
axis = [{ rtt = [40, 80, 160] }]

[scenario]
duration = "20s"
transport = { receive_buffer = "100kB" }
path = [{ name = "fast", rate = "8Mbit", rtt = "20ms" }, { name = "slow", rate = "4Mbit", rtt = "80ms", loss = "0.5%" }]
"""


@pytest.fixture
def two_workers() -> Iterator[Any]:
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as running,
    ):
        yield running


def test_a_lost_worker_loses_nothing_and_repeats_nothing(tmp_path: Path, two_workers: Any) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    local = sweep(plan, tmp_path / "local", rows_per_part=60)
    seen: list[int] = []

    def kill(done: int) -> None:
        seen.append(done)
        if done == 60:
            os.kill(two_workers.workers[0].pid, signal.SIGKILL)

    with cluster.dask(two_workers.scheduler_address) as (executor, workers):
        assert workers() == 2
        elsewhere = sweep(
            plan, tmp_path / "cluster", executor=executor, workers=workers, progress=kill, rows_per_part=60
        )
    assert elsewhere.made == local.made == 240
    assert seen == list(range(241))
    for file in sorted((tmp_path / "local").iterdir()):
        assert (tmp_path / "cluster" / file.name).read_bytes() == file.read_bytes(), file.name


def test_an_address_without_a_cluster_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.3)
    with (
        pytest.raises(plait.ScenarioError, match="no Dask scheduler answers there") as raised,
        cluster.dask("tcp://127.0.0.1:1"),
    ):
        pass
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", [plait.ScenarioError, plait.RunError, plait.ConformanceError, OutputError])
def test_what_a_worker_raises_comes_back_as_it_is(kind: type[Exception]) -> None:
    back = pickle.loads(pickle.dumps(kind("why")))
    assert (type(back), str(back)) == (kind, "why")
