"""Requests and responses: builder, metrics, table, command, folders."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

import plait
from plait import _core
from plait.cli import cli
from plait.engines import Refused
from plait.linux.guest.plan import RECEIVER, SENDER
from plait.linux.plan import make_plan
from plait.results.recorded import read_result
from plait.scenarios.scenario import parsed_scenario

WORKLOAD = plait.RequestResponse(response=20_000, request="300B", think="50ms", parallel=2, count=20)


def scenario(**changes: object) -> plait.Scenario:
    keys = {
        "name": "asked",
        "duration": "20s",
        "transport": plait.Transport(protocol="mptcp", profile="linux"),
        "workload": WORKLOAD,
        "paths": [
            plait.Path(name="a", rate="10Mbit", rtt="30ms", queue="50p"),
            plait.Path(name="b", rate="5Mbit", rtt="60ms", queue="50p"),
        ],
    }
    return plait.Scenario(**(keys | changes))  # type: ignore[arg-type]


def test_metrics_follow_from_the_table() -> None:
    result = plait.run(scenario())
    requests = result.requests
    latency = (requests["delivered_ns"] - requests["written_ns"]) / 1e6
    metrics = result.metrics
    assert (metrics["requests_begun"], metrics["requests_completed"]) == (20, 20)
    assert metrics["request_latency_ms"]["mean"] == pytest.approx(latency.mean())
    assert metrics["request_latency_ms"]["max"] == pytest.approx(latency.max())
    # The percentile is the nearest rank, within the resolution of the histogram.
    assert metrics["request_latency_ms"]["p90"] == pytest.approx(latency.sort()[17], rel=2e-3)
    assert requests["request_bytes"].unique().to_list() == [300]
    assert metrics["delivered_bytes"] == requests["response_bytes"].sum()
    assert (requests["written_ns"] < requests["answered_ns"]).all()
    assert "requests" in repr(result)


def test_other_workloads_have_no_requests() -> None:
    result = plait.run(scenario(workload=plait.File(size="10kB")))
    assert result.data["metrics"]["request_latency_ms"] is None
    assert result.data["metrics"]["requests_begun"] is None
    with pytest.raises(plait.NotRecordedError, match="request-response"):
        _ = result.requests


def test_a_scenario_file_says_the_same(tmp_path: Path) -> None:
    file = tmp_path / "asked.json"
    file.write_text(scenario().json, encoding="utf-8")
    assert plait.load(file).workload == plait.RequestResponse(
        request="300B",
        response="20kB",
        sizes="fixed",
        think="50ms",
        think_times="fixed",
        parallel=2,
        count=20,
        start="0s",
        urgent=0,
    )


def test_the_command_shows_and_writes_them(tmp_path: Path) -> None:
    file, out = tmp_path / "asked.json", tmp_path / "out"
    file.write_text(scenario().json, encoding="utf-8")
    done = CliRunner().invoke(cli, ["run", str(file), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "90 % latency of a request (ms)" in done.output
    (folder,) = (one.parent for one in out.rglob("requests.parquet"))
    requests = pl.read_parquet(folder / "requests.parquet")
    assert requests.columns == [
        "written_ns",
        "answered_ns",
        "delivered_ns",
        "request_bytes",
        "response_bytes",
    ]
    assert read_result(folder).requests.equals(requests)
    done = CliRunner().invoke(cli, ["run", str(file), "--json"])
    latency = json.loads(done.stdout)["metrics"]["request_latency_ms"]
    assert list(latency) == ["mean", "p50", "p90", "p95", "p99", "max"]


def test_the_kernel_gets_what_the_clients_ask_for_and_the_receiver_connects() -> None:
    workload = plait.RequestResponse(
        response="20kB", sizes="exponential", think="50ms", think_times="exponential"
    )
    plan = make_plan(_core.Job(parsed_scenario(scenario(workload=workload, duration="5s"))))
    connection = plan.connection
    assert (connection.opener, connection.sender, connection.receiver) == (RECEIVER, "10.2.0.1", "10.1.1.1")
    assert [(path.sender, path.receiver) for path in plan.paths] == [
        ("10.2.0.1", "10.1.1.1"),
        ("10.2.0.1", "10.1.2.1"),
    ]
    endpoints = {
        batch.namespace: batch.lines for batch in plan.ip if any("mptcp" in line for line in batch.lines)
    }
    assert "mptcp endpoint add 10.1.2.1 subflow" in endpoints[RECEIVER]
    assert not any("endpoint" in line for line in endpoints[SENDER] if "mptcp" in line)
    # The kernel gets the requests of the simulator; the simulated run reaches fewer of them.
    result = plait.run(scenario(workload=workload, duration="5s"))
    (demands,) = connection.source.demands
    assert len(demands) > len(result.requests)
    sizes = [tuple(demand[:2]) for demand in demands[: len(result.requests)]]
    assert sizes == list(result.requests.select("request_bytes", "response_bytes").iter_rows())


def test_the_kernel_refuses_more_requests_than_can_be_written_down() -> None:
    quick = [plait.Path(name="a", rate="10Gbit", delay="1us")]
    asking = scenario(workload=plait.RequestResponse(response="1B"), paths=quick, duration="1000s")
    job = _core.Job(parsed_scenario(asking))
    with pytest.raises(Refused, match=r'duration = "1000s".*100000 requests'):
        make_plan(job)
