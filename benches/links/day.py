"""A day in the life of a service: both ends of `plait-quic proxy` behind a real NAT; links and ends
fail.

``python benches/links/day.py target/release/plait-quic`` needs root, `ip`, `tc` with TBF, and
`nft`. There are three network namespaces: near end, router, far end. The router masquerades with
random ports. The links have 20 and 10 Mbit/s in both directions. A supervisor restarts each end
when it ends.

The near end carries TCP connections of all sizes, some of them idle, half closed or reset. In
parallel there are datagrams of WireGuard's size at a constant rate, an interactive flow, and bulk
at times. Files go by `send` and `recv`. Links are cut or set down, addresses change, and the NAT
loses its table. At last both ends are restarted and killed. The output has a line of JSON for each
phase, and a summary.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from day_ends import FORWARD, ORIGIN, SOCKS, TALK, TALKING, TUNNEL, TUNNELLED
from day_report import Phase, Report
from ends import Receiver, content, same, send

NEAR, ROUTER, FAR = (f"plait-{place}-{os.getpid()}" for place in ("near", "router", "far"))
REMOTE = "198.51.100.2"
LINKS = (20, 10)
"""Mbit/s."""
PROXY, RECEIVER, NEAR_METRICS, FAR_METRICS = 4433, 4434, 9434, 9433
RESTART = 5
"""Seconds until a killed end is restarted, as in `packaging/systemd`."""
DARK = 4
"""Seconds that a link is cut or down."""
BEFORE = 4
"""Seconds of a phase before its event."""


def run(command: str) -> None:
    subprocess.run(command.split(), check=True)


def within(space: str) -> list[str]:
    return ["ip", "netns", "exec", space]


def route(index: int) -> None:
    """Set the near end's route over a link."""
    run(f"ip -n {NEAR} route replace {REMOTE} via 192.168.{index}.1 dev n{index} metric {index + 10}")


def router_route(index: int) -> None:
    """Set the router's onward route, which keeps the links apart."""
    run(f"ip -n {ROUTER} route replace {REMOTE} via 203.0.{index}.2 dev w{index} table {index + 100}")


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    try:
        for space in (NEAR, ROUTER, FAR):
            run(f"ip netns add {space}")
            run(f"ip -n {space} link set lo up")
        run(f"ip -n {FAR} addr add {REMOTE}/32 dev lo")
        for index, rate in enumerate(LINKS):
            run(f"ip link add n{index} netns {NEAR} type veth peer name r{index} netns {ROUTER}")
            run(f"ip link add w{index} netns {ROUTER} type veth peer name f{index} netns {FAR}")
            ends = ((NEAR, "n", "192.168", 10), (ROUTER, "r", "192.168", 1))
            for space, device, net, host in (*ends, (ROUTER, "w", "203.0", 1), (FAR, "f", "203.0", 2)):
                run(f"ip -n {space} addr add {net}.{index}.{host}/24 dev {device}{index}")
                run(f"ip -n {space} link set {device}{index} up")
            for device in "rw":
                shape = f"tbf rate {rate}mbit burst 16kb latency 50ms"
                run(f"tc -n {ROUTER} qdisc add dev {device}{index} root {shape}")
                run(f"ip netns exec {ROUTER} sysctl -qw net.ipv4.conf.{device}{index}.rp_filter=0")
            run(f"ip -n {ROUTER} rule add iif r{index} table {index + 100}")
            route(index)
            router_route(index)
        run(f"ip netns exec {ROUTER} sysctl -qw net.ipv4.ip_forward=1")
        filters(
            "add table ip nat; add chain ip nat post { type nat hook postrouting priority 100; };"
            'add rule ip nat post oifname "w*" meta l4proto udp masquerade to :20000-29999 random'
        )
        yield
    finally:
        for space in (NEAR, ROUTER, FAR):
            subprocess.run(["ip", "netns", "del", space], check=False, stderr=subprocess.DEVNULL)


def filters(text: str) -> None:
    """Add rules to the router's nftables."""
    subprocess.run([*within(ROUTER), "nft", text], check=True)


def cut(index: int) -> None:
    """Drop all packets of a link, without any notice."""
    filters(
        f"add table ip cut{index}; add chain ip cut{index} drops {{ type filter hook forward priority 0; }};"
        f'add rule ip cut{index} drops iifname "w{index}" drop; add rule ip cut{index} drops oifname "w{index}" drop'
    )


def mend(index: int) -> None:
    filters(f"delete table ip cut{index}")


def pull(index: int) -> None:
    run(f"ip -n {NEAR} link set n{index} down")


def plug(index: int) -> None:
    run(f"ip -n {NEAR} link set n{index} up")
    route(index)


def readdress(index: int, count: int) -> None:
    """Give the near end's interface another address, like a new lease."""
    run(f"ip -n {NEAR} addr flush dev n{index}")
    run(f"ip -n {NEAR} addr add 192.168.{index}.{11 + count}/24 dev n{index}")
    route(index)


def renumber(index: int, count: int) -> None:
    """Change the router's public address of a link, which ends the translations of the old one."""
    run(f"ip -n {ROUTER} addr flush dev w{index}")
    run(f"ip -n {ROUTER} addr add 203.0.{index}.{11 + count}/24 dev w{index}")
    router_route(index)


FLUSH = """
import socket, struct
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netfilter:
    netfilter.send(struct.pack("=IHHIIBBH", 20, 0x102, 5, 1, 0, socket.AF_INET, 0, 0))
    (error,) = struct.unpack_from("=i", netfilter.recv(100), 16)
    assert not error, error
"""
"""Deletes the whole connection tracking table (IPCTNL_MSG_CT_DELETE), like `conntrack -F`."""


def flush() -> None:
    subprocess.run([*within(ROUTER), sys.executable, "-c", FLUSH], check=True)


class Service:
    """A program under a supervisor that restarts it."""

    def __init__(self, words: list[str], log: Path) -> None:
        self.words, self.log = words, log
        self.over = False
        self.pause = 0.0
        self.process = self.start()
        self.thread = threading.Thread(target=self.supervise, daemon=True)
        self.thread.start()

    def start(self) -> subprocess.Popen[bytes]:
        with self.log.open("a") as log:
            return subprocess.Popen(self.words, stdout=log, stderr=log)

    def supervise(self) -> None:
        while True:
            self.process.wait()
            time.sleep(self.pause)
            if self.over:
                return
            self.pause = RESTART
            self.process = self.start()

    def restart(self) -> None:
        """Stop the program with SIGTERM. It restarts at once."""
        self.pause = 0
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.pause = RESTART
        self.process.kill()

    def stop(self) -> None:
        self.over = True
        self.process.terminate()
        self.thread.join(20)
        self.process.kill()

    def resident(self) -> int:
        with contextlib.suppress(OSError, IndexError):
            return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf(
                "SC_PAGE_SIZE"
            )
        return 0


@dataclass
class Day:
    """Both ends, their phases and their memory."""

    near: Service
    far: Service
    phases: list[Phase] = field(default_factory=list)
    memory: list[tuple[float, dict[str, tuple[int, int]]]] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def plan(self, seconds: float) -> None:
        """Plan the phases: calm ones, failures of links, restarts of both ends, and calm ones again."""
        calm = [Phase("quiet", 20, load=False), Phase("beside bulk", 20, load=False, bulk=True)]
        restarts = [
            Phase("restart near", 25, begin=self.near.restart, restarts=True, goal=False),
            Phase("kill near", 30, begin=self.near.kill, restarts=True, goal=False),
            Phase("restart far", 25, begin=self.far.restart, restarts=True, goal=False),
            Phase("kill far", 30, begin=self.far.kill, restarts=True, goal=False),
        ]
        fixed = sum(phase.seconds for phase in [*calm, *calm, *restarts]) + 40
        rounds = max(1, int((seconds - fixed) // sum(phase.seconds for phase in troubles(0))))
        self.phases = [*calm, Phase("load", 20)]
        for count in range(rounds):
            self.phases += troubles(count)
        self.phases += [*restarts, Phase("load", 20)]
        self.phases += [Phase("quiet", 20, load=False), Phase("beside bulk", 20, load=False, bulk=True)]
        at = time.monotonic() + 3
        for phase in self.phases:
            phase.at, at = at, at + phase.seconds

    def live(self) -> None:
        """Run the phases."""
        for phase in self.phases:
            if phase.begin:
                wait(phase.at + BEFORE)
                begun = time.monotonic()
                phase.begin()
                if phase.end:
                    wait(begun + DARK)
                    phase.end()
                phase.event = (begun, time.monotonic())
            wait(phase.until)

    def watch(self) -> None:
        """Sample the memory of both ends every two seconds."""
        while not self.over.wait(2):
            ends = {"near": self.near, "far": self.far}
            known = {name: (end.process.pid, end.resident()) for name, end in ends.items()}
            self.memory.append((time.monotonic(), known))

    def transfer(self, program: str, receiver: Receiver, folder: Path) -> None:
        """Send a file every half minute."""
        while not self.over.wait(30):
            file = content(folder, 2)
            try:
                send(program, receiver.hello, file, REMOTE, before=within(NEAR), timeout=120)
                self.files["same" if same(file, folder / "files" / file.name) else "not the same"] += 1
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                self.files[str(error)] += 1
            file.unlink()


def wait(until: float) -> None:
    time.sleep(max(0.0, until - time.monotonic()))


def each(what: Callable[[int], None]) -> None:
    for index in range(len(LINKS)):
        what(index)


def troubles(count: int) -> list[Phase]:
    """Return failures and changes of both links."""
    both = range(len(LINKS))
    phases = [Phase(f"link {i} cut", 15, begin=partial(cut, i), end=partial(mend, i)) for i in both]
    phases += [Phase(f"link {i} down", 15, begin=partial(pull, i), end=partial(plug, i)) for i in both]
    phases += [Phase(f"address {i} changes", 15, begin=partial(readdress, i, count)) for i in both]
    phases += [Phase(f"public address {i} changes", 15, begin=partial(renumber, i, count)) for i in both]
    phases.append(Phase("NAT forgets", 15, begin=flush))
    phases.append(Phase("both cut", 15, begin=partial(each, cut), end=partial(each, mend), goal=False))
    return phases


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def configure(folder: Path, fingerprint: str) -> Path:
    """Write the near end's configuration file."""
    file = folder / "near.toml"
    file.write_text(
        f'to = "{REMOTE}:{PROXY}"\nfingerprint = "{fingerprint}"\nsocks = "127.0.0.1:{SOCKS}"\n'
        f'forward = ["127.0.0.1:{FORWARD}=127.0.0.1:{ORIGIN}", "127.0.0.1:{TALKING}=127.0.0.1:{TALK}"]\n'
        f'udp = ["127.0.0.1:{TUNNELLED}=127.0.0.1:{TUNNEL}"]\ninteractive = [{TALK}]\nmetrics = {NEAR_METRICS}\n'
    )
    return file


def counter(space: str, port: int, name: str) -> float:
    """Return the sum of a series of an end's metrics."""
    code = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/metrics').read().decode())"
    text = subprocess.run(
        [*within(space), sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    lines = [line for line in text.stdout.splitlines() if line.startswith((name + " ", name + "{"))]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def spend(program: str, folder: Path, options: argparse.Namespace) -> None:
    secret, key = folder / "secret", folder / "key.pem"
    secret.write_text("0123456789abcdef-of-a-day\n")
    secret.chmod(0o600)
    (folder / "far.toml").write_text(
        f'listen = "0.0.0.0:{PROXY}"\nallow = ["127.0.0.1:*"]\nmetrics = {FAR_METRICS}\n'
    )
    words = [program, "proxy", "--secret-file", str(secret), "--json", "--config"]
    far_words = [*within(FAR), *words, str(folder / "far.toml"), "--serve", "--key", str(key)]
    far = Service(far_words, folder / "far.log")
    while '"fingerprint"' not in (text := (folder / "far.log").read_text()):
        time.sleep(0.1)
    fingerprint = next(
        json.loads(line)["fingerprint"] for line in text.splitlines() if '"fingerprint"' in line
    )
    near = Service([*within(NEAR), *words, str(configure(folder, fingerprint))], folder / "near.log")
    receiver = Receiver(program, folder / "files", f"0.0.0.0:{RECEIVER}", before=within(FAR))
    threading.Thread(target=list, args=(receiver.process.stdout,), daemon=True).start()
    day = Day(near, far)
    day.plan(options.minutes * 60)
    task = {"folder": str(folder), "seed": options.seed, "connections": options.connections}
    task |= {"until": day.phases[-1].until, "talk_interval": 0.05, "tunnel_interval": 1_452 * 8 / 1e6}
    phases = [{"from": one.at, "to": one.until, "load": one.load, "bulk": one.bulk} for one in day.phases]
    (folder / "task").write_text(json.dumps({**task, "phases": phases}))

    def part(space: str, what: str) -> subprocess.Popen[bytes]:
        file = Path(__file__).with_name("day_ends.py").resolve()
        return subprocess.Popen([*within(space), sys.executable, str(file), what, str(folder / "task")])

    origin = part(FAR, "origin")
    time.sleep(1)
    parts = [part(NEAR, what) for what in ("load", "talk", "tunnel")]
    for target, arguments in ((day.watch, ()), (day.transfer, (program, receiver, folder))):
        threading.Thread(target=target, args=arguments, daemon=True).start()
    try:
        day.live()
        for one in parts:
            one.wait(240)
        day.over.set()
        report = Report(day.phases, day.memory, dict(day.files), folder)
        for phase in day.phases:
            say(**report.phase(phase))
        ends = {"near": (NEAR, NEAR_METRICS), "far": (FAR, FAR_METRICS)}
        left = {name: counter(*where, "plait_connections") for name, where in ends.items()}
        say(**report.summary(), **{"connections left": left})
    finally:
        for service in (near, far):
            service.stop()
        receiver.stop()
        for one in (origin, *parts):
            one.kill()
            one.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and results")
    options = parser.parse_args()
    for tool in ("ip", "tc", "nft"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not there: the router of this day needs ip, tc and nft")
    with tempfile.TemporaryDirectory(prefix="plait-day-") as name, namespaces():
        folder = options.keep or Path(name)
        if options.keep:
            folder.mkdir()
        spend(str(options.program.resolve()), folder, options)


if __name__ == "__main__":
    main()
