"""The lab on networks that scenarios cannot describe, or that reorder packets.

Needs a kernel.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from conftest import NEEDS_KERNEL, Command

import plait
from plait import _core
from plait.engines import Order
from plait.linux import engine, kernel
from plait.linux.guest.plan import NAMESPACES, RECEIVER, Batch, Plan

pytestmark = [pytest.mark.kernel, NEEDS_KERNEL]

LINKS = """
name = "links"
seed = 5
duration = "4s"
scheduler = "round-robin"
[transport]
protocol = "mptcp"
profile = "standard"
receive_buffer = "1MB"
[[path]]
name = "fast"
rate = "10Mbit"
rtt = "20ms"
queue = "50p"
[[path]]
name = "slow"
rate = "5Mbit"
rtt = "40ms"
queue = "50p"
"""
OVERTAKEN = """
name = "overtaken"
seed = 7
duration = "5s"
warmup = "1s"
[transport]
protocol = "mptcp"
profile = "linux"
receive_buffer = "6MB"
[[path]]
name = "p0"
rate = "26.6Mbit"
queue = "100p"
delay = "18.9ms"
forward = { jitter = { amount = "3.8ms", reorder = true } }
[[path]]
name = "p1"
rate = "3.3Mbit"
queue = "30p"
delay = "98.7ms"
"""
"""With this seed the first data arrives before the last packet of the handshake."""


def altered(text: str, alter: Callable[[Plan], Plan]) -> plait.Result:
    """Runs a scenario with a changed plan."""
    job = _core.Job(_core.Scenario(text, "links", "."), packets=True)
    (run,) = engine.run([Order(job=job)], alter=alter)
    return plait.Result(run)


def with_packets(plan: Plan, link: str, size: int) -> Plan:
    """Returns a plan in which the devices of a path have an MTU of `size` bytes."""
    routers = [f"{NAMESPACES}/{link}{end}" for end in "ab"]
    cables = [
        line.replace("mtu 1500", f"mtu {size}") if any(one in line.split() for one in routers) else line
        for line in plan.ip[0].lines
    ]
    assert cables != plan.ip[0].lines
    return replace(plan, ip=[replace(plan.ip[0], lines=cables), *plan.ip[1:]])


def translated(plan: Plan) -> Plan:
    """Returns a plan with carrier-grade NAT on every path.

    The last router translates the sender's address to shared address space (RFC 6598).
    """
    routes, rules = [], []
    for number, path in enumerate(plan.paths, start=1):
        outside, router = f"100.64.0.{number}", f"w{number}b"
        routes.append(f"route add {outside} dev {router}")
        lines = [
            f"qdisc add dev {RECEIVER} clsact",
            f"filter add dev {RECEIVER} egress protocol ip matchall action nat egress {path.sender}/32 {outside}",
            f"filter add dev {RECEIVER} ingress protocol ip matchall action nat ingress {outside}/32 {path.sender}",
        ]
        rules.append(Batch(namespace=router, lines=lines))
    return replace(plan, ip=[*plan.ip, Batch(namespace=RECEIVER, lines=routes)], tc=[*plan.tc, *rules])


def test_paths_may_carry_packets_of_different_sizes() -> None:
    result = altered(LINKS, lambda plan: with_packets(plan, "w2", 1300))
    largest = result.packets.group_by("path").agg(pl.col("bytes").max()).sort("path")["bytes"]
    assert largest[0] - largest[1] == 200
    assert all(path["throughput_bps"] > 3e6 for path in result.paths)


def test_addresses_that_a_carrier_translates_change_nothing() -> None:
    plain, behind = altered(LINKS, lambda plan: plan), altered(LINKS, translated)
    assert behind.fallback is None
    # Packets seen at the two hosts match: nearly as many arrivals as without translation.
    assert behind.packets["arrived_ns"].null_count() <= plain.packets["arrived_ns"].null_count() + 2
    for one, other in zip(plain.paths, behind.paths, strict=True):
        assert one["throughput_bps"] > 3e6
        assert other["throughput_bps"] == pytest.approx(one["throughput_bps"], rel=0.01)


def test_a_stream_whose_packets_overtake_each_other_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "overtaken.toml"
    file.write_text(OVERTAKEN.replace("3.8ms", "8ms").replace("seed = 23", "seed = 1"))
    result = plait.run(file, "lowest-rtt", engine="linux", packets=True)
    arrived = (
        result.packets.drop_nulls("arrived_ns").filter(pl.col("path") == 0).sort("sent_ns")["arrived_ns"]
    )
    assert (arrived.diff().drop_nulls() < 0).sum() > 100
    assert result.kernel is not None
    assert result.kernel["counters"]["receiver"]["TcpExt"]["TCPOFOQueue"] > 100


def test_a_connection_that_falls_back_is_a_result_that_says_why(tmp_path: Path, command: Command) -> None:
    (tmp_path / "overtaken.toml").write_text(OVERTAKEN)
    result = plait.run(tmp_path / "overtaken.toml", "lowest-rtt", engine="linux")
    assert result.fallback is not None
    assert "came without MP_CAPABLE" in result.fallback
    assert [path["throughput_bps"] > 0 for path in result.paths] == [True, False]
    assert result.paths[0]["srtt_ms"] is not None
    assert result.metrics["delivered_bytes"] > 1_000_000
    shown = command("run", "overtaken.toml", "--engine", "linux", "--scheduler", "lowest-rtt")
    assert "lowest-rtt: the connection fell back from MPTCP to TCP" in " ".join(shown.stdout.split())
    simulated = [plait.run(tmp_path / "overtaken.toml", "lowest-rtt", seed=seed) for seed in range(1, 21)]
    assert {one.fallback for one in simulated} == {None, result.fallback}, "the simulator by its own chance"


def test_results_say_which_kernel_made_them(tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(LINKS.replace('"4s"', '"1s"'))
    result = plait.run(tmp_path / "links.toml", engine="linux")
    assert result.kernel is not None
    assert result.kernel["release"].startswith("6.12.")
    assert result.kernel["build"] == kernel.build_hash()
    assert result.kernel["counters"]["sender"]["MPTcpExt"]["MPJoinSynTx"] == 1
    assert plait.run(tmp_path / "links.toml").kernel is None
