"""What ping and iperf3 printed, as a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plait import ScenarioError
from plait.advice import parse_path
from plait.advice.measured import read_iperf3, read_ping
from plait.cli import cli

PING = "PING 203.0.113.10 (203.0.113.10) 56(84) bytes of data.\n" + "".join(
    f"64 bytes from 203.0.113.10: icmp_seq={number} ttl=57 time={60 + number % 20} ms\n"
    for number in range(1, 201)
    if number not in (50, 51, 52, 53, 120, 121)
)
STATISTICS = """
--- 203.0.113.10 ping statistics ---
200 packets transmitted, 194 received, 3% packet loss, time 39800ms
rtt min/avg/max/mdev = 60.000/69.500/79.000/5.766 ms
"""
IPERF3 = """
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.02  sec  36.6 MBytes  30.5 Mbits/sec   36             sender
[  5]   0.00-10.00  sec  33.6 MBytes  28.2 Mbits/sec                  receiver

iperf Done.
"""


def test_ping_tells_round_trip_jitter_and_losses_in_a_row() -> None:
    ping = read_ping(PING + STATISTICS, "ping.txt")
    assert (ping.sent, list(ping.gaps)) == (200, [4, 2])
    assert ping.loss == pytest.approx(0.03)
    assert ping.rtt_ms == 60
    assert ping.jitter_ms == pytest.approx(18, abs=1)
    # Echoes that are lost before the first reply and after the last one are in the statistics alone.
    cut = read_ping(PING.replace("icmp_seq=200 ", "icmp_seq=x ") + STATISTICS, "ping.txt")
    assert list(cut.gaps) == [4, 2, 1]


def test_iperf3_tells_goodput_in_words_and_in_json() -> None:
    assert read_iperf3(IPERF3, "down.txt") == 28.2e6
    document = {"end": {"sum_received": {"bits_per_second": 28.2e6}}}
    assert read_iperf3(json.dumps(document), "down.json") == 28.2e6


def test_a_path_of_it(tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(PING + STATISTICS)
    (tmp_path / "down.txt").write_text(IPERF3)
    (tmp_path / "up.txt").write_text(IPERF3.replace("28.2 Mbits", "9.65 Mbits"))
    said = ["measure", "lte", "--ping", str(tmp_path / "ping.txt"), "--iperf3", str(tmp_path / "down.txt")]
    done = CliRunner().invoke(cli, [*said, "--iperf3-back", str(tmp_path / "up.txt")])
    assert done.exit_code == 0
    assert done.stdout.strip() == "lte 29.2Mbit 60ms loss=burst:3%:3 jitter=18.3ms back=10.0Mbit"
    assert "6 of 200 echoes were lost, 2 times" in done.stderr
    path = parse_path(done.stdout.strip())
    assert (path.rtt_ns, path.loss, path.burst, path.back_bps) == (60_000_000, 0.03, 3.0, 10_000_000)


@pytest.mark.parametrize(
    ("file", "words"), [("empty.txt", "no replies of ping"), ("none.txt", "No such file")]
)
def test_what_cannot_be_read_is_said(tmp_path: Path, file: str, words: str) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "down.txt").write_text(IPERF3)
    done = CliRunner().invoke(
        cli, ["measure", "lte", "--ping", str(tmp_path / file), "--iperf3", str(tmp_path / "down.txt")]
    )
    assert isinstance(done.exception, ScenarioError)
    assert words in str(done.exception)
    assert file in str(done.exception)


def test_a_rate_is_needed(tmp_path: Path) -> None:
    (tmp_path / "ping.txt").write_text(PING)
    done = CliRunner().invoke(cli, ["measure", "lte", "--ping", str(tmp_path / "ping.txt")])
    assert "either --iperf3 FILE or --trace FILE" in str(done.exception)
    with pytest.raises(ScenarioError, match=r"down\.txt: no line of the receiver"):
        read_iperf3("nothing", "down.txt")
