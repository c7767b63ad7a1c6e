"""Output of ping and iperf3, read as a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plait import ScenarioError
from plait.advice import parse_path
from plait.advice.measured import read_iperf3, read_ping, read_text
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
    # Losses before the first reply and after the last one only appear in the statistics.
    cut = read_ping(PING.replace("icmp_seq=200 ", "icmp_seq=x ") + STATISTICS, "ping.txt")
    assert list(cut.gaps) == [4, 2, 1]


def test_iperf3_tells_goodput_in_words_and_in_json() -> None:
    assert read_iperf3(IPERF3, "down.txt") == 28.2e6
    document = {"end": {"sum_received": {"bits_per_second": 28.2e6}}}
    assert read_iperf3(json.dumps(document), "down.json") == 28.2e6


FORMS = {
    "busybox": (
        "PING 203.0.113.10 (203.0.113.10): 56 data bytes\n"
        "64 bytes from 203.0.113.10: seq=0 ttl=57 time=12.345 ms\n"
        "64 bytes from 203.0.113.10: seq=2 ttl=57 time=14.000 ms\n"
        "\n--- 203.0.113.10 ping statistics ---\n"
        "4 packets transmitted, 2 packets received, 50% packet loss\n"
        "round-trip min/avg/max = 12.345/13.172/14.000 ms\n"
    ),
    "macos": (
        "PING 203.0.113.10 (203.0.113.10): 56 data bytes\n"
        "64 bytes from 203.0.113.10: icmp_seq=0 ttl=57 time=12.345 ms\n"
        "Request timeout for icmp_seq 1\n"
        "64 bytes from 203.0.113.10: icmp_seq=2 ttl=57 time=14.000 ms\n"
        "\n--- 203.0.113.10 ping statistics ---\n"
        "4 packets transmitted, 2 packets received, 50.0% packet loss\n"
        "round-trip min/avg/max/stddev = 12.345/13.172/14.000/0.8 ms\n"
    ),
    "german": (
        "PING 203.0.113.10 (203.0.113.10) 56(84) Bytes an Daten.\n"
        "64 Bytes von 203.0.113.10: icmp_seq=1 ttl=57 Zeit=12,345 ms\n"
        "64 Bytes von 203.0.113.10: icmp_seq=3 ttl=57 Zeit=14,0 ms\n"
        "\n--- 203.0.113.10 ping-Statistik ---\n"
        "4 Pakete übertragen, 2 empfangen, 50% Paketverlust, Zeit 3005 ms\n"
        "rtt min/avg/max/mdev = 12,345/13,172/14,000/0,800 ms\n"
    ),
    "french": (
        "PING 203.0.113.10 (203.0.113.10) 56(84) octets de données.\n"
        "64 octets de 203.0.113.10 : icmp_seq=1 ttl=57 temps=12,345 ms\n"
        "64 octets de 203.0.113.10 : icmp_seq=3 ttl=57 temps=14,0 ms\n"
        "\n--- statistiques ping 203.0.113.10 ---\n"
        "4 paquets transmis, 2 reçus, 50 % de paquets perdus, temps 3005 ms\n"
    ),
    "windows": (
        "\nPinging 203.0.113.10 with 32 bytes of data:\n"
        "Reply from 203.0.113.10: bytes=32 time=12ms TTL=57\n"
        "Request timed out.\n"
        "Reply from 203.0.113.10: bytes=32 time=14ms TTL=57\n"
        "Request timed out.\n"
        "\nPing statistics for 203.0.113.10:\n"
        "    Packets: Sent = 4, Received = 2, Lost = 2 (50% loss),\n"
        "Approximate round trip times in milli-seconds:\n"
        "    Minimum = 12ms, Maximum = 14ms, Average = 13ms\n"
    ),
    "windows-german": (
        "\nPing wird ausgeführt für 203.0.113.10 mit 32 Bytes Daten:\n"
        "Antwort von 203.0.113.10: Bytes=32 Zeit=12ms TTL=57\n"
        "Zeitüberschreitung der Anforderung.\n"
        "Antwort von 203.0.113.10: Bytes=32 Zeit=14ms TTL=57\n"
        "Zeitüberschreitung der Anforderung.\n"
        "\nPing-Statistik für 203.0.113.10:\n"
        "    Pakete: Gesendet = 4, Empfangen = 2, Verloren = 2\n    (50% Verlust),\n"
        "Ca. Zeitangaben in Millisek.:\n"
        "    Minimum = 12ms, Maximum = 14ms, Mittelwert = 13ms\n"
    ),
    "windows-french": (
        "\nEnvoi d'une requête 'Ping'  203.0.113.10 avec 32 octets de données :\n"
        "Réponse de 203.0.113.10 : octets=32 temps=12 ms TTL=57\n"
        "Délai d'attente de la demande dépassé.\n"
        "Réponse de 203.0.113.10 : octets=32 temps=14 ms TTL=57\n"
        "\nStatistiques Ping pour 203.0.113.10:\n"
        "    Paquets : envoyés = 4, reçus = 2, perdus = 2 (perte 50%),\n"
        "Durée approximative des boucles en millisecondes :\n"
        "    Minimum = 12ms, Maximum = 14ms, Moyenne = 13ms\n"
    ),
}
"""Four echo requests; the second and the fourth are lost."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp850", "utf-16"])
def test_ping_of_any_system_and_language(tmp_path: Path, form: str, encoding: str) -> None:
    file = tmp_path / "ping.txt"
    file.write_bytes(FORMS[form].replace("\n", "\r\n").encode(encoding))
    ping = read_ping(read_text(file), form)
    assert (ping.sent, sum(ping.gaps)) == (4, 2)
    assert ping.rtt_ms == pytest.approx(12, abs=0.35)
    assert max(ping.round_trips) == 14


def test_numbers_of_echoes_begin_anew_after_65535() -> None:
    numbers = [number for number in range(65_000, 66_500) if number not in (65_100, 65_535, 65_536)]
    # Two reordered replies and a duplicate, near the wrap of the sequence number.
    numbers[500:502] = reversed(numbers[500:502])
    lines = [f"64 bytes from a: icmp_seq={number % 65_536} ttl=57 time=20 ms" for number in numbers]
    lines.insert(600, "64 bytes from a: icmp_seq=65000 ttl=57 time=90 ms (DUP!)")
    ping = read_ping("\n".join(lines), "ping.txt")
    assert (ping.sent, list(ping.gaps)) == (1_500, [1, 2])
    assert max(ping.round_trips) == 20


HEAD = "Connecting to host 203.0.113.10, port 5201\n"
REVERSE = "Reverse mode, remote host 203.0.113.10 is sending\n"
BOTH = """
[  5][TX-C]   0.00-10.00  sec  12.0 MBytes  9.5 Mbits/sec                  receiver
[  7][RX-C]   0.00-10.00  sec  33.6 MBytes  28.2 Mbits/sec                  receiver
"""


def document(**test: int) -> str:
    return json.dumps({"start": {"test_start": test}, "end": {"sum_received": {"bits_per_second": 28.2e6}}})


@pytest.mark.parametrize(
    ("text", "reverse"),
    [
        (document(reverse=1), True),
        (document(reverse=0), False),
        (HEAD + REVERSE + IPERF3, True),
        (HEAD + IPERF3, False),
    ],
)
def test_iperf3_of_the_other_direction_is_refused(text: str, reverse: bool) -> None:
    assert read_iperf3(text, "a.txt", back=not reverse) == 28.2e6
    words = "was measured with -R.* --iperf3$" if reverse else "was measured without -R.* --iperf3-back$"
    with pytest.raises(ScenarioError, match=rf"^a\.txt: {words}"):
        read_iperf3(text, "a.txt", back=reverse)


def test_iperf3_of_both_directions_has_both() -> None:
    assert (read_iperf3(BOTH, "a"), read_iperf3(BOTH, "a", back=True)) == (28.2e6, 9.5e6)
    ends = {
        "sum_received": {"bits_per_second": 1e6},
        "sum_received_bidir_reverse": {"bits_per_second": 2e6},
    }
    text = json.dumps({"start": {"test_start": {"reverse": 0, "bidir": 1}}, "end": ends})
    assert (read_iperf3(text, "a"), read_iperf3(text, "a", back=True)) == (2e6, 1e6)


@pytest.mark.parametrize(
    "text",
    [
        '{"error": "the server is busy"}',
        '{"start": {}, "intervals": [], "end": {}, "error": "the server is busy"}',
        "iperf3: error - the server is busy\n",
        '{"end": {}}\niperf3: error - the server is busy\n',
    ],
)
def test_what_iperf3_failed_of_is_quoted(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^a\.txt: iperf3 failed: the server is busy$"):
        read_iperf3(text, "a.txt")


def test_iperf3_read_although_it_ended_with_an_error() -> None:
    behind = document(reverse=1) + "\niperf3: error - control socket has closed unexpectedly\n"
    assert read_iperf3(behind, "a.txt") == 28.2e6
    with pytest.raises(ScenarioError, match=r"^a\.txt: iperf3's JSON is damaged"):
        read_iperf3(document(reverse=1)[:-5], "a.txt")


@pytest.mark.parametrize(
    ("rate", "expected"),
    [("28200 Kbits/sec", 28.2e6), ("3.5 MBytes/sec", 3.5 * 8 * 2**20), ("1.2 Gbits/sec", 1.2e9)],
)
def test_iperf3_in_every_unit(rate: str, expected: float) -> None:
    assert read_iperf3(IPERF3.replace("28.2 Mbits/sec", rate), "a") == pytest.approx(expected)


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
