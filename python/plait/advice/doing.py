"""Commands that put an advice into practice, on stock Linux from 6.12 on.

`docs/deploy.md` explains each command, and a test runs them in the lab's kernel. The reader
replaces words in capitals: addresses, devices, gateways.
"""

from __future__ import annotations

from dataclasses import dataclass

from plait.advice import numbers
from plait.advice.candidates import base_name
from plait.advice.findings import Findings
from plait.advice.further import copied, iperf3, lossy, spares
from plait.advice.shaped import SHAPED
from plait.advice.statement import Statement
from plait.advice.wording import answer, listed, needless, others
from plait.linux.refusals import KERNEL_NAMES

FIRST_TABLE = 102
"""Routing table of the second path; further paths take the next numbers."""
MOST_SUBFLOWS = 8
"""Largest limit of subflows in Linux. A smaller one might be below the limit of the machine."""
MEMORY_PER_WINDOW = 2
"""Memory of a packet in a buffer, in multiples of its payload (at most)."""
WEB_SERVER = (
    'python3 -c "import http.server as h; h.ThreadingHTTPServer.request_queue_size = 200; '
    "r = h.SimpleHTTPRequestHandler; r.disable_nagle_algorithm = True; h.test(r, protocol='HTTP/1.1')\""
)
"""Web server at port 8000 with the files of the folder. Nagle's algorithm is off: with it a
response would wait for an acknowledgement. The accept queue is longer than Python's default of five
connections, since all begin at once."""
ENABLED = "MPTCP, with subflows beside the first one"
FOR_TCP = "for TCP by "
"""Beginning of the reason of MPTCP's first commands if those of the UDP proxy precede them."""
SPARED = "after (a spare adds no goodput; unplug the first link to see it)"
UNDO = "undo (settings of sysctl and limits last until the next boot)"
REQUESTS = 100
"""Number of requests, one after the other over one connection."""
MOST_STREAMS = 128
"""Maximum number of streams of iperf3."""
PARALLEL = 50
"""Default number of simultaneous downloads of curl."""
OPTIONS = {"rp": "retransmission_penalization=1", "bm": "bufferbloat_mitigation=1"}
STAGE_TWO = frozenset({"daps", "daps-rounds", "dqs", "intelligent-delivery-delay", "plait", "redundant"})
"""Schedulers that need stage 2 of plait-mptcp: they place single packets, or send copies."""
PACKAGE = "the package plait-mptcp (docs/stock-kernel.md), and its scheduler"


@dataclass(frozen=True)
class Command:
    """A command, its place (client, server, both ends), and its reason."""

    text: str
    at: str
    why: str

    @property
    def note(self) -> str:
        """Comment line before the command.

        Behind the command, a narrow screen would wrap the comment, and a shell would run its rest.
        """
        return f"# {self.at}: {self.why}"


def commands(advice: Findings) -> list[Command]:
    """Return the commands in order; none without a recommendation that can be deployed."""
    if advice.choice is None or advice.setting.protocol != "mptcp" or advice.verdict == "nothing":
        return []
    spare = needless(advice)
    alone = not advice.several
    names = [path.name for path in advice.setting.paths if alone or path.name != spare]
    if alone:
        first = advice.single.label.removesuffix(" alone")
        names = [first, *(name for name in names if name != first)]
    elif answer(advice).place == "simulator":
        return []
    place = answer(advice).place
    down = advice.setting.direction == "down"
    sender, receiver = ("server", "client") if down else ("client", "server")
    # Calls and games usually use UDP, which MPTCP does not carry.
    found = _udp(advice, names) if advice.asked.kind == "blocks" else []
    enabled = FOR_TCP + ENABLED if found else ENABLED
    found += _queue(advice)
    found.append(Command("sysctl -w net.mptcp.enabled=1", "both ends", enabled))
    found.append(Command(f"ip mptcp limits set subflow {MOST_SUBFLOWS}", "both ends", enabled))
    if advice.setting.congestion != "cubic":
        control = advice.setting.congestion
        found.append(
            Command(f"sysctl -w net.ipv4.tcp_congestion_control={control}", sender, "congestion control")
        )
    found += _joined(names, backup=alone)
    later = names[0] != advice.setting.paths[0].name
    route = f"default via GATEWAY_{_mark(names[0])} dev DEVICE_{_mark(names[0])} metric 1"
    if later:
        found.append(Command(f"ip route add {route}", "client", f"connections begin on {names[0]}"))
    if place == "kernel" and not alone:
        found += _kernel(advice.choice.best.label, sender)
    found += _buffer(advice, receiver)
    served, asked = _measured(advice)
    found += [
        *served,
        Command(asked, "client", "before: TCP, default route"),
        Command("nstat -n", "client", "counters from zero"),
        Command(f"mptcpize run {asked}", "client", SPARED if alone else "after"),
        Command(
            "nstat -z MPTcpExtMPJoinSynAckRx MPTcpExtMPCapableFallbackSYNACK",
            "client",
            "joins more than 0, fallbacks 0",
        ),
    ]
    found += [Command(f"tc qdisc del dev {device} root", at, UNDO) for device, at, _ in _shapes(advice)]
    found.append(Command("ip mptcp endpoint flush", "client", UNDO))
    for table, name in enumerate(names[1:], FIRST_TABLE):
        found.append(Command(f"ip rule del from ADDRESS_{_mark(name)} table {table}", "client", UNDO))
        found.append(Command(f"ip route flush table {table}", "client", UNDO))
    return [*found, Command(f"ip route del {route}", "client", UNDO)] if later else found


def statements(advice: Findings) -> list[Statement]:
    """Return the commands with a line of place and reason before each group of equal lines."""
    found = commands(advice)
    if not found:
        return []
    rest = others(advice)
    first = advice.single.label.removesuffix(" alone")
    use = (
        "both used"
        if advice.several
        else f"{first}, with {listed(rest)} as {'a spare' if len(rest) == 1 else 'spares'}"
    )
    if len(advice.setting.paths) > 2 and advice.several:
        use = "every path used that is worth it"
    begin = f"Now do it ({use}; as root, Linux from 6.12 on at both ends; see docs/deploy.md):"
    if advice.asked.kind == "blocks":
        every = ", and send it over every path" if copied(advice) else ""
        begin = f"{begin.removesuffix(':')}. The first two commands are for UDP, as calls use it{every}:"
    said, note = [Statement("do", begin)], ""
    for one in found:
        if one.note != note:
            said.append(Statement("note", one.note))
        note = one.note
        said.append(Statement("command", one.text))
    return said


def _joined(names: list[str], *, backup: bool) -> list[Command]:
    """Return the commands that give every path but the first its own route and endpoint."""
    found = []
    for table, name in enumerate(names[1:], FIRST_TABLE):
        mark = _mark(name)
        found += [
            Command(
                f"ip rule add from ADDRESS_{mark} table {table}",
                "client",
                f"{name}'s own route, and a {'spare ' if backup else ''}subflow over it",
            ),
            Command(
                f"ip route add default via GATEWAY_{mark} dev DEVICE_{mark} table {table}",
                "client",
                f"{name}'s own route, and a {'spare ' if backup else ''}subflow over it",
            ),
            Command(
                f"ip mptcp endpoint add ADDRESS_{mark} dev DEVICE_{mark} {'subflow backup' if backup else 'subflow'}",
                "client",
                f"{name}'s own route, and a {'spare ' if backup else ''}subflow over it",
            ),
        ]
    return found


def _kernel(scheduler: str, sender: str) -> list[Command]:
    """Return the commands for the data's sender that load the module and set its scheduler."""
    options = scheduler.split(":", maxsplit=1)[0].split("+")[1:]
    stage = 2 if base_name(scheduler) in STAGE_TWO or "rp" in options else 1
    texts = [
        f"plait-mptcp start --stage {stage}",
        *(f"plait-mptcp parameters {OPTIONS[one]}" for one in options),
        f"plait-mptcp use {KERNEL_NAMES[base_name(scheduler)]}",
    ]
    return [Command(text, sender, PACKAGE) for text in texts]


def _measured(advice: Findings) -> tuple[list[Command], str]:
    """Return the server's commands, and the client's measurement: goodput, or time per response."""
    traffic = advice.asked
    if traffic.kind not in ("request-response", "flows") or advice.setting.direction == "up":
        served = [Command("mptcpize run iperf3 -s", "server", "serves TCP and MPTCP")]
        many = f" -P {min(traffic.clients, MOST_STREAMS)}" if traffic.kind == "flows" else ""
        return served, f"{iperf3(advice)}{many} -t 30"
    served = [
        Command(
            f"head -c {traffic.size} /dev/zero > answer", "server", "serves the response by TCP and MPTCP"
        ),
        Command(f"mptcpize run {WEB_SERVER}", "server", "serves the response by TCP and MPTCP"),
    ]
    if traffic.kind == "request-response":
        return served, f"curl -sw '%{{time_total}}\\n' -o /dev/null 'SERVER:8000/answer?[1-{REQUESTS}]'"
    most = f" --parallel-max {traffic.clients}" if traffic.clients > PARALLEL else ""
    timed = f"curl -Z --no-progress-meter{most} -w '%{{time_total}}\\n' -o /dev/null"
    return served, f"{timed} 'SERVER:8000/answer?[1-{traffic.clients}]'"


def _udp(advice: Findings, names: list[str]) -> list[Command]:
    """Return the commands of the UDP proxy: copies on each path, or spares."""
    spare = [name for name in spares(advice) if name in names]
    how = " --redundant-port PORT" if copied(advice) else ""
    if len(spare) < len(names):
        how += "".join(f" --backup DEVICE_{_mark(name)}" for name in spare)
    control = " --congestion bbr" if lossy(advice) else ""
    return [
        Command(
            f"plait proxy --serve --allow HOST:PORT{control}",
            "server",
            "for UDP; prints fingerprint and secret",
        ),
        Command(
            "plait proxy SERVER:4433 --fingerprint HEX --secret TEXT "
            f"--udp 127.0.0.1:PORT=HOST:PORT{how}{control}",
            "client",
            "UDP to 127.0.0.1:PORT goes over all paths to HOST:PORT",
        ),
    ]


def _queue(advice: Findings) -> list[Command]:
    """Return the commands for FQ-CoDel below the rate of a path that is better alone with it."""
    return [
        Command(text, at, f"FQ-CoDel at {numbers.share(SHAPED)} of the rate")
        for device, at, bps in _shapes(advice)
        for text in (
            f"tc qdisc replace dev {device} root handle 1: htb default 1",
            f"tc class replace dev {device} parent 1: classid 1:1 htb rate {round(bps * SHAPED / 1e3)}kbit",
            f"tc qdisc replace dev {device} parent 1:1 fq_codel",
        )
    ]


def _shapes(advice: Findings) -> list[tuple[str, str, int]]:
    """Return device, place and the path's rate of each queue that the transfer would fill.

    A router shapes packets that it sends: an upload on the path's device, a download towards the
    client.
    """
    found, setting = advice.shaped, advice.setting
    if found is None or not found.better:
        return []
    path = next(one for one in setting.paths if one.name == found.path)
    is_up = setting.traffic.beside == "upload"
    forward = is_up == (setting.direction == "up")
    bps = path.rate_bps if forward or path.back_bps is None else path.back_bps
    device = f"DEVICE_{_mark(path.name)}" if is_up else "DEVICE_TO_CLIENT"
    return [] if bps is None else [(device, f"router of {path.name}", bps)]


def _mark(name: str) -> str:
    """Return a path's name as part of the words that the reader replaces."""
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper()


def _buffer(advice: Findings, receiver: str) -> list[Command]:
    """Return the command that raises the receiver's memory limit, if its buffer is too small."""
    found = advice.buffer
    if found is None or not found.too_small or not advice.several:
        return []
    most = found.needed * MEMORY_PER_WINDOW
    larger = f"awk '{{print $1, $2, ($3 > {most} ? $3 : {most})}}' /proc/sys/net/ipv4/tcp_rmem"
    text = f'sysctl -w net.ipv4.tcp_rmem="$({larger})"'
    return [Command(text, receiver, "a larger receive buffer, unless it is as large already")]
