"""Write the measured tables into the papers' READMEs: every number there comes from a run.

A table stands between `<!-- measured: NAME -->` and `<!-- end -->`; a test compares it with a fresh
run. Run from anywhere: `.venv/bin/python docs/measured.py [PAPER]…`, or `make figures`. With
`--engine linux` it writes the tables that compare the kernel's runs with the simulator's, which
take an hour: `make figures-linux`. With `--engine usrsctp` it does so for FreeBSD's SCTP stack,
which takes a few minutes: `make figures-usrsctp`.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

import plait
from plait.engines.names import EngineName
from plait.papers import Paper, Reproduction, names, reproduce
from plait.papers.description import restricted
from plait.papers.page import pivot
from plait.papers.reproduce import reproduction, thinned
from plait.papers.rows import Row
from plait.papers.wording import said, verdict
from plait.results.wording import wording
from plait.runs.run import Task, run_tasks
from plait.scenarios.scheduler import parse_choice
from plait.statistics.designs import DESIGNS, uniformity
from plait.support.pages import markdown

PAPERS = Path(__file__).resolve().parents[1] / "papers"
QUEUES = (17, 50, 200)


MEASURES = {"schedulers-csws14": ("pooling", "benefit", "window", "half", "limited")}
"""Names of a paper's measures with separate tables, in the order of its expected.toml."""
NAMES: Mapping[EngineName, str] = {"linux": "kernel", "usrsctp": "stack"}
"""Names of the engines in tables that compare them with the simulator."""
BESIDE: Mapping[tuple[str, EngineName], Mapping[str, tuple[tuple[str, ...], str]]] = {
    ("dd-linux", "linux"): {
        "kernel-goodput": (("H_*-100-10", "H_*-100-100", "[A-G]-*-10*"), "goodput_bps"),
        "kernel-share": (("application-limited",), "first_path_share"),
        "kernel-block-delay": (("application-limited",), "block_delay_ms.mean"),
    },
    ("schedulers-csws14", "linux"): {"kernel-pooling": (("pooling",), "goodput_bps")},
    ("daps-icc14", "usrsctp"): {
        "stack-fast": (("table2-*",), "paths.fast.throughput_bps"),
        "stack-slow": (("table2-*",), "paths.slow.throughput_bps"),
        "stack-delay": (("table2-*",), "app_delay_ms.mean"),
        "stack-buffer": (("table2-*",), "receive_buffer_packets.mean"),
    },
}
"""Tables of a metric on both engines: the scenarios, and the metric."""
DASH = "–"


def tables(done: Reproduction) -> dict[str, str]:
    """Return the measured tables of a paper's README, by name, as Markdown."""
    made = {"headline": done.headline().markdown()}
    if any(row.agrees is False for row in done.rows):
        made["differing"] = not_reproduced(done)
    for name, index in zip(MEASURES.get(done.paper.id, ()), range(len(done.paper.measures)), strict=False):
        made[name] = measured(done, index)
    if done.paper.id == "blest-networking16":
        made["readings"] = readings(done.paper)
    if done.paper.id == "daps-icc14":
        made["queues"] = queues()
    if done.paper.id == "schedulers-csws14":
        made["designs"] = designs()
        made["blocking"] = blocking()
    return made


def measured(done: Reproduction, index: int) -> str:
    """Return one of the paper's measures with intervals: a line per scenario and scheduler."""
    table = pivot(done.paper, done.rows, done.paper.measures[index])
    lines = [[title, f"`{scheduler}`", *numbers] for title, scheduler, numbers in table["lines"]]
    return markdown(["case", "scheduler", *table["headings"]], lines, (0, 1))


def not_reproduced(done: Reproduction) -> str:
    """Return the rows that do not agree, each with its reason."""
    paper, lines = done.paper, []
    for row in done.rows:
        if row.agrees is False:
            word = wording(row.metric, paper)
            case = paper.scenarios[row.scenario].title
            numbers = [said(row, paper), word.number(row.measured)]
            lines.append([case, word.heading, f"`{row.scheduler}`", *numbers, row.reason])
    return markdown(["case", "metric", "scheduler", "paper", "here", "why"], lines, (0, 1, 2, 5))


Rows = Mapping[str, Row]
"""A reproduction's rows by their ids."""


def both_engines(name: str, engine: EngineName) -> dict[str, str]:
    """Return the tables of a paper on the simulator and on another engine, by name.

    They have each metric of `BESIDE`, and all printed or claimed values.
    """
    other = reproduce(name, engine=engine, with_figures=False)
    cases = sorted({scenario for scenario, _ in other.results})
    simulated = reproduce(name, scenarios=cases, with_figures=False)
    rows = [{row.id: row for row in done.rows} for done in (simulated, other)]
    return beside_tables(restricted(other.paper, cases), *rows)


def beside_tables(paper: Paper, simulated: Rows, others: Rows) -> dict[str, str]:
    """Return the tables of `both_engines` from the rows."""
    made = {}
    for name, (patterns, metric) in BESIDE[paper.id, paper.engine].items():
        part = restricted(paper, patterns)
        there = {(row.scenario, row.scheduler) for row in others.values() if row.metric == metric}
        cases = [one for one in part.scenarios if any(one == case for case, _ in there)]
        labels = [label for label in paper.schedulers if any((one, label) in there for one in cases)]
        word = wording(metric, paper)
        lines = []
        for case in cases:
            ids = [f"{case}/{label}/{metric}" for label in labels]
            pairs = [(simulated[one], others[one]) if one in others else () for one in ids]
            cells = [" / ".join(word.number(row.measured) for row in pair) or DASH for pair in pairs]
            lines.append([paper.scenarios[case].title, *cells])
        made[name] = markdown(["case", *(f"`{label}`" for label in labels)], lines)
    groups: dict[tuple[str, str, str], list[str]] = {}
    for key, row in others.items():
        if row.stated and row.scenario in paper.scenarios:
            groups.setdefault((row.metric, row.scheduler, said(row, paper)), []).append(key)
    lines = []
    for (metric, scheduler, words), keys in groups.items():
        first = paper.scenarios[others[keys[0]].scenario].title
        cells = [_outcome(paper, [rows[key] for key in keys]) for rows in (simulated, others)]
        cases = first if len(keys) == 1 else f"{len(keys)} cases"
        lines.append([wording(metric, paper).heading, f"`{scheduler}`", cases, words, *cells])
    other = NAMES[paper.engine]
    headings = ["metric", "scheduler", "case", "paper", "simulator", other]
    made[f"{other}-claims"] = markdown(headings, lines, (0, 1, 2))
    return made


def _outcome(paper: Paper, rows: Sequence[Row]) -> str:
    """Format the value of a row, or the number of agreeing rows."""
    if len(rows) == 1:
        return f"{wording(rows[0].metric, paper).number(rows[0].measured)}, {verdict(rows[0])}"
    return f"{sum(row.agrees is True for row in rows)} agree"


BULK, FRAMES = "3g-bulk-16384KiB", "wlan-cbr"
BACKGROUND = [
    f"flow.{kind}-{path}" for kind in ("tcp", "udp-100", "udp-500") for path in ("wlan", "wlan-2", "3g")
]
READINGS: Mapping[str, tuple[Mapping[str, object], Mapping[str, str]]] = {
    "as above": ({}, {}),
    "slow start ends by HyStart": ({"transport.hystart": True}, {}),
    "receive buffer of 8 MiB": ({"transport.receive_buffer": "8MiB"}, {}),
    "receive buffer of 1 MiB": ({"transport.receive_buffer": "1MiB"}, {}),
    "no background": ({f"{flow}.start": "89.999s" for flow in BACKGROUND}, {}),
    "157 packets of 1,500 bytes per second": (
        {
            f"{flow}.{key}": value
            for flow in BACKGROUND[:3]
            for key, value in (("rate", "1884kbit"), ("packet", "1500B"))
        },
        {},
    ),
    "at most 64 KiB written ahead of the acknowledgements": ({"transport.send_buffer": "64KiB"}, {}),
    "losses found by the RFCs' rules, not by RACK": (
        {"transport.profile": "standard", "transport.ack_every": 2, "transport.rto_min": "200ms"},
        {},
    ),
    "BLEST by the paper's formula": ({}, {"blest+rp": "blest-paper"}),
}
"""Readings of the BLEST paper: changes of its scenarios, and replacements of schedulers."""


def readings(paper: Paper) -> str:
    """Return the printed values of the BLEST paper by several readings, over five seeds."""
    headings = (
        "reading",
        "values that agree",
        "BLEST: goodput (%)",
        "BLEST: out of order (%)",
        "minRTT, BLEST: retransmissions",
        "DAPS: goodput (%)",
        "two WLANs, OTIAS: goodput (%)",
        "two WLANs, minRTT: delay of a frame (ms)",
    )
    lines = []
    cases = dict.fromkeys(one.scenario for one in paper.expected.values())
    part = thinned(restricted(paper, list(cases)), 5)
    for title, (changes, instead) in READINGS.items():
        rows = {row.id: row for row in reproduction(reread(part, changes, instead)).rows}

        def number(*place: str, rows: Mapping[str, Row] = rows) -> str:
            row = rows["/".join(place)]
            return wording(row.metric, part).number(row.measured)

        both = (number(BULK, one, "mean.reinjections") for one in ("lowest-rtt+rp", "blest+rp"))
        lines.append(
            [
                title,
                f"{sum(row.agrees is True for row in rows.values())} of {len(rows)}",
                number(BULK, "blest+rp", "change.mean.goodput_bps"),
                number(BULK, "blest+rp", "change.mean.receive_buffer_packets.mean"),
                ", ".join(both),
                number(BULK, "daps", "change.mean.goodput_bps"),
                number("wlan-bulk-16384KiB", "otias", "change.mean.goodput_bps"),
                number(FRAMES, "lowest-rtt+rp", "mean.block_delay_ms.mean"),
            ]
        )
    return markdown(headings, lines)


def reread(paper: Paper, changes: Mapping[str, object], instead: Mapping[str, str]) -> Paper:
    """Return the runs of the printed values, with changes and with replaced schedulers.

    A change of a path or flow applies to the scenarios that have one with this name.
    """
    scenarios = {}
    for key, one in paper.scenarios.items():
        file = tomllib.loads(one.file.read_text(encoding="utf-8")) if one.file else {}
        there = {f"{kind}.{entry['name']}" for kind in ("path", "flow") for entry in file[kind]} | {
            "transport"
        }
        own = {
            name: value
            for name, value in changes.items()
            if any(name.startswith(f"{part}.") for part in there)
        }
        members = tuple(replace(member, changes={**member.changes, **own}) for member in one.members)
        labels = [value.scheduler for value in paper.expected.values() if value.scenario == key]
        scenarios[key] = replace(
            one, members=members, schedulers=tuple(dict.fromkeys([paper.baseline, *labels]))
        )
    schedulers = {
        label: replace(one, choice=paper.schedulers[instead.get(label, label)].choice)
        for label, one in paper.schedulers.items()
    }
    return replace(paper, scenarios=scenarios, schedulers=schedulers, measures=(), figures=())


SCENARIOS = PAPERS.parent / "scenarios"
RIVALS = (
    "round-robin",
    "lowest-rtt",
    "delivery-delay",
    "intelligent-delivery-delay",
    "daps",
    "daps:fast_limit=literal",
    "daps-rounds",
)
BUFFERS = ("64KiB", "6MiB")


def head_of_line() -> str:
    """Return the scenarios about head-of-line blocking on both engines."""
    lines = []
    cases = [("head-of-line", buffer) for buffer in BUFFERS] + [("head-of-line-fast", "6MiB")]
    for name, buffer in cases:
        scenario = plait.load(SCENARIOS / f"{name}.toml", {"transport.receive_buffer": buffer})
        choices = [parse_choice(one) for one in RIVALS]
        for here, there in zip(
            plait.compare(scenario, choices), plait.compare(scenario, choices, engine="linux"), strict=True
        ):
            goodput = [f"{one.metrics['goodput_bps'] / 1e6:.2f}" for one in (here, there)]
            waiting = [f"{one.metrics['receive_buffer_packets']['mean']:.1f}" for one in (here, there)]
            label = f"`{here.scheduler}`"
            lines.append([f"`{name}`", buffer, label, " / ".join(goodput), " / ".join(waiting)])
    headings = ["scenario", "receive buffer", "scheduler", "goodput (Mbit/s)", "waiting for others (packets)"]
    return markdown(headings, lines, (0, 2))


def blocking() -> str:
    """Return the slow path's round-trip time with resource pooling, and the resulting rate limit.

    The limit is the receiver's window divided by this time.
    """
    file = PAPERS / "schedulers-csws14" / "scenarios" / "pooling.toml"
    runs = plait.compare(file, ["lowest-rtt", "lowest-rtt+rp"], series="100ms")
    headings = (
        "scheduler",
        "slow path: round trip, mean (s)",
        "queue, mean (packets)",
        "congestion window, mean (packets)",
        "receive buffer / round trip (Mbit/s)",
        "goodput (Mbit/s)",
    )
    lines = []
    for run in runs:
        slow = run.path_series.filter((pl.col("path") == 1) & (pl.col("time_ns") >= 100_000_000_000))
        means = [
            slow.select(pl.col(name).cast(pl.Float64).mean()).item()
            for name in ("srtt_ns", "link_queue_packets", "cwnd_packets")
        ]
        seconds = means[0] / 1e9
        numbers = (
            f"{seconds:.1f}",
            f"{means[1]:.0f}",
            f"{means[2]:.0f}",
            f"{6_291_456 * 8e-6 / seconds:.0f}",
        )
        lines.append([f"`{run.scheduler}`", *numbers, f"{run.metrics['goodput_bps'] / 1e6:.1f}"])
    return markdown(headings, lines)


def designs() -> str:
    """Return the evenness of designs of the paper's size in six dimensions.

    Random designs use the first seed.
    """
    lines = []
    for name, make in DESIGNS.items():
        measured = uniformity(make(200, 6, 1))
        numbers = (measured.minimum_distance, measured.coverage, measured.fill_distance, measured.discrepancy)
        lines.append([name, *(f"{number:.4f}" for number in numbers)])
    headings = ["design", "smallest distance", "coverage", "largest hole", "discrepancy (centred L2)"]
    return markdown(headings, lines)


def queues() -> str:
    """Return Table II, 1/200, 500 kB with other queues: the delay left without any blocking."""
    scenario = plait.load(PAPERS / "daps-icc14" / "scenarios" / "table2-1-200-500kB.toml")
    headings = (
        "queue (packets)",
        "scheduler",
        "throughput (kbit/s)",
        "queue of the slow path, mean (packets)",
        "application delay (ms)",
        "of it blocked (ms)",
        "against round-robin (%)",
        "if nothing were blocked (%)",
    )
    lines = []
    for queue in QUEUES:
        paths = [
            replace(path, forward=replace(path.forward, queue=f"{queue}p") if path.forward else None)
            for path in scenario.paths
        ]
        tasks = [
            Task(scenario=replace(scenario, paths=paths), scheduler=name, series="10ms")
            for name in ("round-robin", "daps")
        ]
        lines += _lines(queue, run_tasks(tasks))
    return markdown(headings, lines, (1,))


def _lines(queue: int, results: Sequence[plait.Result]) -> list[list[str]]:
    base = results[0].metrics["app_delay_ms"]["mean"]
    lines = []
    for result in results:
        slow = result.path_series.filter((pl.col("path") == 1) & (pl.col("time_ns") >= 10_000_000_000))
        delay, blocked = result.metrics["app_delay_ms"]["mean"], result.metrics["blocking_ms"]["mean"]
        numbers = [
            " + ".join(f"{path['throughput_bps'] / 1e3:.0f}" for path in result.paths),
            f"{slow.select(pl.col('link_queue_packets').mean()).item():.0f}",
            f"{delay:.0f}",
            f"{blocked:.0f}",
            "–" if result is results[0] else f"{(delay / base - 1) * 100:+.0f}",
            f"{((delay - blocked) / base - 1) * 100:+.0f}",
        ]
        lines.append([f"{queue}", result.scheduler, *numbers])
    return [[cell.replace("-", "−") if cell[0] in "+-" else cell for cell in line] for line in lines]


def fill(text: str, made: dict[str, str]) -> str:
    """Return the README with its tables replaced by new ones."""
    for name, table in made.items():
        place = re.compile(rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = place.subn(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
        if count != 1:
            message = f"expected one place for the table {name!r}, found {count}"
            raise ValueError(message)
    return text


def main() -> None:
    """Fill in the READMEs of the papers, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", metavar="PAPER")
    parser.add_argument("--engine", choices=("sim", *NAMES), default="sim")
    given = parser.parse_args()
    for name in given.papers or names(given.engine):
        here = given.engine == "sim"
        made = tables(reproduce(name, with_figures=False)) if here else both_engines(name, given.engine)
        write(PAPERS / name / "README.md", made)
    if given.engine == "linux" and not given.papers:
        write(SCENARIOS / "README.md", {"head-of-line": head_of_line()})


def write(file: Path, made: dict[str, str]) -> None:
    """Fill in the tables of a file."""
    file.write_text(fill(file.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
