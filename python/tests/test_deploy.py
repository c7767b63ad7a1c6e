"""Runs the commands of two pages and of `plait advise` unchanged in the lab's kernel.

The pages are docs/deploy.md, and the kernel's own switch in docs/stock-kernel.md.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from plait import advise
from plait.advice.candidates import stock
from plait.advice.doing import STAGE_TWO, commands
from plait.linux import boot, kernel, machine, tools

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("deploy.md", "stock-kernel.md")
NOT_HERE = ("plait-mptcp", "apt install", "make -C", "mptcpize enable", "mptcpize run curl https")
"""Commands that the test leaves out.

The kernel has the module built in, there are no services, and the only web server is the page's.
"""
WORDS = {
    "ADDRESS_LTE": "192.168.2.2",
    "GATEWAY_LTE": "192.168.2.1",
    "DEVICE_LTE": "lte0",
    "SERVER": "203.0.113.10",
    "-t 30": "-t 5",
}
BOTH = ("sysctl -w net.mptcp.enabled", "ip mptcp limits set subflow 8")
SERVER = (
    "mptcpize run iperf3 -s",
    "mptcpize run python3 -m http.server",
    "head -c",
    "sysctl -w net.mptcp.scheduler",
)
NETWORK = """#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
exec </dev/null 2>&1
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs t /run; mount -t tmpfs t /tmp
mkdir -p /run/netns /run/lock
for n in client net server; do ip netns add $n; ip -n $n link set lo up; done
ip -n client link add dsl0 type veth peer name ndsl netns net
ip -n client link add lte0 type veth peer name nlte netns net
ip -n server link add eth0 type veth peer name nsrv netns net
ip -n client addr add 192.168.1.2/24 dev dsl0; ip -n client addr add 192.168.2.2/24 dev lte0
ip -n server addr add 203.0.113.10/24 dev eth0; ip -n net addr add 203.0.113.1/24 dev nsrv
ip -n net addr add 192.168.1.1/24 dev ndsl; ip -n net addr add 192.168.2.1/24 dev nlte
for x in "client dsl0" "client lte0" "server eth0" "net ndsl" "net nlte" "net nsrv"; do
  set -- $x; ip -n $1 link set $2 up
done
ip netns exec net sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
ip -n client route add default via 192.168.1.1 dev dsl0; ip -n server route add default via 203.0.113.1
ip netns exec net tc qdisc add dev ndsl root netem rate 16mbit delay 12ms limit 100
ip netns exec net tc qdisc add dev nlte root netem rate 30mbit delay 30ms limit 300
ip netns exec client tc qdisc add dev dsl0 root netem delay 12ms
ip netns exec client tc qdisc add dev lte0 root netem delay 30ms
try() {
  echo "## $1: $2"; ip netns exec $1 sh -c "$2" > /tmp/said 2>&1; code=$?
  cat /tmp/said; echo "## code $code"; sleep 2
}
serve() {
  echo "## server: $1"; (cd /tmp; ip netns exec server sh -c "exec $1" > /tmp/served 2>&1) &
  until ip netns exec server ss -ltn | grep -q :8000; do sleep 1; done
  cat /tmp/served; echo "## code 0"
}
"""


def documented() -> list[str]:
    """Returns the commands of the pages that can run in the lab, in order."""
    found = []
    for page in PAGES:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        for block in re.findall(r"^```sh no-run\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            found += [line for line in block.splitlines() if not line.startswith(NOT_HERE)]
    return found


def filled_in(command: str) -> list[tuple[str, str]]:
    """Returns the hosts for a command, and the command with the addresses of the lab."""
    text = command
    for word, value in WORDS.items():
        text = text.replace(word, value)
    if command.startswith("mptcpize run iperf3 -s"):
        text += " -D"
    if command.startswith("head -c"):
        text = f"cd /tmp; {text}"
    places = (
        ("client", "server")
        if command.startswith(BOTH)
        else ("server",)
        if command.startswith(SERVER)
        else ("client",)
    )
    return [(place, text) for place in places]


def in_the_lab(lines: list[str], folder: Path) -> list[tuple[str, str, int]]:
    """Runs the commands in the lab; returns each command with its output and exit code."""
    tried = [
        f"serve {shlex.quote(text)}" if "http.server" in text else f"try {place} {shlex.quote(text)}"
        for line in lines
        for place, text in filled_in(line)
    ]
    (folder / "init").write_text("\n".join([NETWORK, *tried, "echo '## end'"]) + "\n", encoding="utf-8")
    (folder / "init").chmod(0o755)
    built = kernel.built()
    setarch = tools.find("setarch")
    assert built is not None
    assert setarch is not None
    done = subprocess.run(
        [setarch, "-R", str(built), *boot.COMMAND, "rng_seed=1"],
        cwd=folder, env={"TMPDIR": str(machine.memory_folder())}, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=400, check=False,
    )  # fmt: skip
    said = done.stdout.decode(errors="replace").replace("\r", "")
    assert "## end" in said, said[-2000:]
    return [
        (command, text, int(code))
        for command, text, code in re.findall(
            r"^## \w+: (.*?)\n(.*?)## code (\d+)$", said, re.MULTILINE | re.DOTALL
        )
    ]


def test_the_page_names_what_advise_prints() -> None:
    """Apart from names and numbers, an advice prints the commands of the page."""
    advice = advise(["dsl 4Mbit 25ms", "lte 3Mbit 60ms"], schedulers=[stock()], events=500_000)
    page = " ".join(documented())
    assert advice.verdict == "worth"
    told = [one.text for one in commands(advice)]
    assert all(one in page for one in told), [one for one in told if one not in page]
    kernel_only = advise(["dsl 4Mbit 25ms", "lte 3Mbit 60ms"], schedulers=["blest+rp"], events=500_000)
    told = [one.text for one in commands(kernel_only)]
    options = ["plait-mptcp parameters retransmission_penalization=1", "plait-mptcp use blest"]
    assert [one for one in told if "plait-mptcp" in one] == ["plait-mptcp start --stage 2", *options]
    simulated = advise(["dsl 4Mbit 25ms", "lte 3Mbit 60ms"], schedulers=["srpt"], events=500_000)
    assert commands(simulated) == []


def test_no_command_lowers_a_limit_of_the_machine(tmp_path: Path) -> None:
    advice = advise(["dsl 20Mbit 30ms", "lte 20Mbit 40ms"], receive_buffer="192kB", schedulers=[stock()])
    told = [one.text for one in commands(advice)]
    assert "ip mptcp limits set subflow 8" in told, "8 is Linux' maximum"
    line = next(one for one in told if "tcp_rmem" in one)
    assert advice.buffer is not None
    needed = advice.buffer.needed * 2
    assert str(needed) in line
    for there in (needed - 1, needed, 33_554_432):
        limits = tmp_path / "tcp_rmem"
        limits.write_text(f"4096\t131072\t{there}\n", encoding="utf-8")
        shell = line.replace("sysctl -w", "echo").replace("/proc/sys/net/ipv4/tcp_rmem", str(limits))
        said = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True).stdout
        assert said == f"net.ipv4.tcp_rmem=4096 131072 {max(there, needed)}\n"


def test_stage_two_is_named_where_it_is_needed() -> None:
    """The kernel's sources say which schedulers place single packets, or send copies."""
    schedulers = ROOT / "linux/schedulers"
    packets = (".by_packet = true", "return PLAIT_NEEDS_REINJECT")
    needed = {
        name[1]
        for file in schedulers.glob("*.c")
        if file.stem not in ("engine", "options", "ranges")
        and any(one in file.read_text() for one in packets)
        and (name := re.search(r'^\t\.name = "(.*)",', file.read_text(), re.M))
    }
    assert needed == STAGE_TWO


def test_answers_are_measured_by_the_time_that_they_take() -> None:
    page = documented()
    for traffic in ("request-response", "flows:20:35kB"):
        advice = advise(["dsl 4Mbit 25ms", "lte 3Mbit 60ms"], traffic, schedulers=[stock()], events=500_000)
        told = [one.text for one in commands(advice)]
        assert not any("iperf3" in one for one in told)
        assert {one for one in told if "curl" in one or "answer" in one or "http" in one} <= {
            *page, *(one.removeprefix("mptcpize run ") for one in page)
        }  # fmt: skip
    many = commands(
        advise(["a 4Mbit 25ms", "b 3Mbit 60ms"], "flows:60:5kB", schedulers=[stock()], events=500_000)
    )
    assert any("--parallel-max 60" in one.text for one in many)


def test_a_path_that_is_not_worth_it_is_a_spare() -> None:
    advice = advise(
        ["dsl 4Mbit 25ms", "sat 1Mbit 600ms"], "blocks:500kbit", schedulers=[stock()], events=500_000
    )
    assert advice.verdict == "not worth"
    told = [one.text for one in commands(advice)]
    assert "ip mptcp endpoint add ADDRESS_SAT dev DEVICE_SAT subflow backup" in told
    assert "Now do it (dsl, with sat as a spare;" in advice.text


@pytest.mark.kernel
@pytest.mark.skipif(
    kernel.built() is None
    or bool(tools.missing(tools.TO_RUN))
    or not shutil.which("mptcpize")
    or not shutil.which("iperf3"),
    reason="no kernel is built (plait linux build), or mptcpize or iperf3 is missing",
)
def test_every_command_works_in_the_labs_kernel(tmp_path: Path) -> None:
    said = in_the_lab(documented(), tmp_path)
    failed = [(command, text) for command, text, code in said if code != 0]
    assert failed == []
    rates = [
        float(re.findall(r"([\d.]+) Mbits/sec +receiver", text)[0])
        for _, text, _ in said
        if "receiver" in text
    ]
    dsl, lte, both = rates
    # 16 and 30 Mbit/s, and nearly the sum for both: headers and slow start take some of it.
    assert 13 < dsl < 16
    assert 24 < lte < 30
    assert both > 0.85 * (dsl + lte)
    counters = next(text for command, text, _ in said if command.startswith("nstat -z"))
    counted = {name: int(value) for name, value in re.findall(r"MPTcpExt(\w+) +(\d+)", counters)}
    assert counted["MPJoinSynAckRx"] > 0
    assert counted["MPCapableFallbackSYNACK"] == 0
    alone, requests, downloads = (
        [float(line) for line in text.split()]
        for command, text, _ in said
        if "curl -" in command and "answer" in command
    )
    assert (len(alone), len(requests), len(downloads)) == (100, 100, 20)
    # 35 kB at 16 Mbit/s with a round trip of 24 ms; the second request reuses the connection.
    assert 0.024 < sorted(alone)[50] < 0.12
    assert 0.024 < sorted(requests)[50] < 0.3
    # 20 downloads at 46 Mbit/s take 0.13 s or more.
    assert 0.12 < max(downloads) < 3
