"""TCP over one path in ns-2 and in Plait: the cases of ``tcp_cases.toml``.

ns-2's agent is Sack1 (RFC 2018, recovery by an estimate of the pipe, the idea of RFC 6675): ours finds losses with
selective acknowledgements too. Wire sizes, initial window, timestamps and the bounds of the retransmission
timeout are set alike.
"""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl
from cases import PeerError
from rich.table import Table
from verdict import AGREES, COUNTING, DIFFERS, FIVE_PERCENT, Compared, overall, standard_error

import plait
from plait.runs.run import Task, run_tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SCRIPT = Path(__file__).with_name("tcp.tcl")
CASES = Path(__file__).with_name("tcp_cases.toml")
PACKET, HEADERS = 1500, 52  # IPv4, TCP, timestamps
WINDOW = 1_000_000_000  # bytes: never in the way
MORE_SEEDS = 4  # ours are cheap: so many times as many seeds as in ns-2
COLORS = {AGREES: "green", DIFFERS: "red"}


@dataclass(frozen=True, slots=True)
class Case:
    """One path; runs with other seeds if packets are lost at random."""

    name: str
    rate_bps: int
    rtt_ms: float
    queue_packets: int
    loss: float = 0.0
    ack_every: int = 1
    duration_s: float = 100.0
    warmup_s: float = 20.0
    runs: int = 1
    seed: int = 1
    differs: str = ""  # why the two are known not to agree

    def members(self, times: int = 1) -> list[Case]:
        """The runs of the case."""
        count = self.runs if self.runs == 1 else times * self.runs
        return [replace(self, seed=self.seed + index) for index in range(count)]


@dataclass(frozen=True, slots=True)
class Step:
    """One way to compare: which agent, and what is set in it."""

    title: str
    agent: str = "Sack1"
    parameters: tuple[str, ...] = ()


AS_THEY_COME = Step("as they come")
BYTE_COUNTING = Step("ns-2's growth per packet instead of per ACK", parameters=("increase_num_ 2",))
LINUX = Step("ns-2's Agent/TCP/Linux, which finds lost retransmissions", "Linux")


def steps(case: Case) -> list[Step]:
    """What is tried until the two agree: with delayed ACKs, first, that windows grow by what was acknowledged."""
    return [AS_THEY_COME, BYTE_COUNTING] if case.ack_every > 1 else [AS_THEY_COME, LINUX]


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run measures after the warm-up."""

    goodput_mbps: float  # payload that arrived for the first time
    retransmissions: int
    delay_ms: float  # of data packets one way: half of the round trip, serialization and queue


def load_cases() -> list[Case]:
    """The cases of ``tcp_cases.toml``."""
    document = tomllib.loads(CASES.read_text(encoding="utf-8"))
    try:
        return [Case(**(document["defaults"] | table)) for table in document["case"]]
    except (KeyError, TypeError) as error:
        raise PeerError(f"{CASES}: {error}") from error


def in_ns2(case: Case, step: Step) -> Measured:
    """Run ``case`` in ns-2; everything is computed from its trace of the forward link."""
    executable = shutil.which("ns")
    if executable is None:
        raise PeerError("ns-2 is not installed: there is no `ns` on the path; try `apt-get install ns2`")
    path = f"{case.rate_bps} {case.rtt_ms} {case.queue_packets} {case.loss}"
    words = [executable, str(SCRIPT), "path", path, "agent", step.agent, "trace", "1"]
    for key in ("duration", "ack_every", "seed"):
        words += [key, str(getattr(case, f"{key}_s" if key == "duration" else key))]
    words += ["packet", str(PACKET), "header", str(HEADERS)]
    for parameter in step.parameters:
        words += ["set", parameter]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode or "done" not in done.stdout:
        raise PeerError(
            f"case {case.name!r}: ns-2 failed, status {done.returncode}: {done.stdout[-500:]}{done.stderr}"
        )
    return _follow(case, done.stdout.splitlines())


def _follow(case: Case, lines: Sequence[str]) -> Measured:
    seen: set[int] = set()
    entered: dict[str, float] = {}
    arrived = again = highest = packets = 0
    delay = 0.0
    for line in lines:
        # event time from to protocol bytes flags flow source destination number packet
        words = line.split()
        if len(words) != 12 or int(words[5]) < PACKET:
            continue
        kind, now, number, packet = words[0], float(words[1]), int(words[10]), words[11]
        counts = now >= case.warmup_s
        if kind == "+":
            entered[packet] = now
            again += counts and number <= highest
            highest = max(highest, number)
        elif kind == "d":
            entered.pop(packet, None)
        elif kind == "r":
            start = entered.pop(packet)
            if counts:
                packets += 1
                delay += now - start
            arrived += counts and number not in seen
            seen.add(number)
    goodput = arrived * 8 * (PACKET - HEADERS) / (case.duration_s - case.warmup_s) / 1e6
    return Measured(goodput, again, 1000 * delay / packets)


def in_plait(case: Case) -> Measured:
    """Run ``case`` in Plait."""
    scenario = plait.Scenario(
        name=case.name,
        seed=case.seed,
        duration=f"{case.duration_s}s",
        warmup=f"{case.warmup_s}s",
        transport=plait.Transport(
            protocol="tcp",
            profile="standard",
            receive_buffer=WINDOW,
            ack_every=case.ack_every,
            packet=PACKET,
        ),
        paths=[
            plait.Path(
                rate=case.rate_bps,
                rtt=f"{case.rtt_ms}ms",
                queue=f"{case.queue_packets}p",
                loss=f"{case.loss * 100:.10g}%" if case.loss else None,
            )
        ],
    )
    result = run_tasks([Task(scenario=scenario, packets=True)], threads=1)[0]
    arrived = result.packets.filter(pl.col("arrived_ns") >= int(case.warmup_s * 1e9))
    delay = arrived.select((pl.col("arrived_ns") - pl.col("sent_ns")).mean()).item() / 1e6
    throughput = result.paths[0]["throughput_bps"] / 1e6
    return Measured(throughput, result.metrics["retransmissions"], delay)


def compare(theirs: Sequence[Measured], ours: Sequence[Measured]) -> list[Compared]:
    """Every quantity of a case."""

    def row(name: str, value: Callable[[Measured], float], least: float = 0.0) -> Compared:
        values = [value(one) for one in theirs], [value(one) for one in ours]
        mean = fmean(values[0])
        error = 2 * standard_error(*values)
        return Compared(name, mean, fmean(values[1]), error, max(FIVE_PERCENT * mean, least))

    return [
        row("goodput", lambda one: one.goodput_mbps),
        row("retransmissions", lambda one: one.retransmissions, COUNTING),
        row("delay", lambda one: one.delay_ms),
    ]


@dataclass(frozen=True, slots=True)
class Report:
    """A case and every step that was taken."""

    case: Case
    attempts: list[tuple[Step, list[Compared]]]

    @property
    def agrees(self) -> bool:
        """Whether the last step does."""
        return overall(self.attempts[-1][1]) == AGREES

    @property
    def unexplained(self) -> bool:
        """Whether it should agree and does not; a case with too few seeds for a verdict is neither."""
        return overall(self.attempts[-1][1]) == DIFFERS and not self.case.differs


def report_case(case: Case, measure: Callable[[Sequence[Case], Step], list[Measured]]) -> Report:
    """Compare step by step until the two agree."""
    ours = [in_plait(member) for member in case.members(MORE_SEEDS)]
    attempts = []
    for step in steps(case):
        attempts.append((step, compare(measure(case.members(), step), ours)))
        if overall(attempts[-1][1]) == AGREES:
            break
    return Report(case, attempts)


def table(reports: Sequence[Report]) -> Table:
    """One line a step: ns-2 / Plait and the difference."""
    drawn = Table(
        title="TCP NewReno over one path in ns-2 and in Plait", title_justify="left", pad_edge=False
    )
    drawn.add_column("case", no_wrap=True)
    for name in ("goodput\nMbit/s", "retransmissions", "one-way delay\nms"):
        drawn.add_column(name, justify="right")
    drawn.add_column("verdict")
    drawn.add_column("step", overflow="fold")
    for report in reports:
        for number, (step, rows) in enumerate(report.attempts):
            verdict = overall(rows)
            color = COLORS.get(verdict, "yellow")
            why = report.case.differs if number + 1 == len(report.attempts) and not report.agrees else ""
            drawn.add_row(
                report.case.name if number == 0 else "",
                *[f"{row.theirs:.4g} / {row.ours:.4g} ({100 * row.difference:+.1f} %)" for row in rows],
                f"[{color}]{verdict}[/{color}]",
                f"{step.title} {why}".rstrip(),
            )
    return drawn
