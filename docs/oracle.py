"""Fills in the tables of docs/oracle.md: the search at short points of the benchmark's part `tune`.

    python docs/oracle.py [SECONDS]

It makes 24 searches of 10 seconds by default, on one core. The seconds limit the number of runs, so
numbers differ between machines.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median

from plait.benchmark.suite import MEASURES, Point, amounts, points
from plait.results.metrics import direction, metric_if_known
from plait.results.result import Result
from plait.runs.oracle import Oracle, oracle
from plait.runs.run import Task, run_tasks

PAGE = Path(__file__).with_name("oracle.md")
EACH = 8
"""Points of each domain: those with the least data."""
DOMAINS = ("bulk", "blocks", "files")


def main() -> None:
    """Search at all points, and write the tables."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    found: dict[str, list[tuple[Point, Oracle, Result]]] = {}
    for domain in DOMAINS:
        for point in sorted(points("tune", domains=[domain]), key=data)[:EACH]:
            one = oracle(point.scenario, seconds=seconds, threads=1)
            (plait,) = run_tasks([Task(scenario=point.scenario, scheduler="plait")])
            found.setdefault(domain, []).append((point, one, plait))
            sys.stderr.write(f"{point.id}: {one.scheduler}, {one.gain:.1%}, {one.runs} runs, {one.plan}\n")
    rows = [row(domain, cases) for domain, cases in found.items()]
    head = ["domain", "points", "runs", "gain > 5 %", "median gain (%)", "largest gain (%)"]
    head += ["scheduler to bound (%)", "oracle to bound (%)", "plait to oracle (%)"]
    write("points", [head, ["---", *["--:"] * (len(head) - 1)], *rows])
    cases = [case for group in found.values() for case in group]
    worst = sorted(cases, key=lambda case: -behind(case))[:5]
    head = ["point", "paths", "longest / shortest round trip", "receive buffer (kB)", "plait behind (%)"]
    head += ["oracle's scheduler", "its steps"]
    write("plait", [head, ["---", *["--:"] * 4, "---", "--:"], *map(case_row, worst)])


def data(point: Point) -> float:
    """Return about the bits that a run of the point carries."""
    if point.domain == "files":
        return float(point.table["workload"]["size"].rstrip("kB")) * 8e3
    return amounts(point)["capacity (Mbit/s)"] * 1e3 * float(point.table["duration"].rstrip("ms"))


def apart(worse: float, better: float) -> float:
    """Return how far one value is from another, as a share of the latter."""
    return abs(worse / better - 1)


def behind(case: tuple[Point, Oracle, Result]) -> float:
    """Return how far plait is behind the schedule, as `Oracle.gain` counts."""
    point, one, plait = case
    value = point.value({name: metric_if_known(plait, name) for name in MEASURES})
    return float("inf") if value is None else (one.value / value) ** direction(one.metric) - 1


def row(domain: str, cases: list[tuple[Point, Oracle, Result]]) -> list[str]:
    """Return a domain's row."""
    gains = [one.gain for _, one, _ in cases]
    bounded = [(one, one.bound.value) for _, one, _ in cases if one.bound is not None]
    gaps = [
        median(apart(one.scheduler_value, bound) for one, bound in bounded),
        median(apart(one.value, bound) for one, bound in bounded),
    ]
    runs = median(one.runs for _, one, _ in cases)
    shares = [median(gains), max(gains), *gaps, median(map(behind, cases))]
    more = sum(gain > 0.05 for gain in gains)
    return [domain, str(len(cases)), f"{runs:.0f}", str(more), *(f"{100 * share:.1f}" for share in shares)]


def case_row(case: tuple[Point, Oracle, Result]) -> list[str]:
    """Return the row of a point."""
    point, one, _ = case
    given = amounts(point)
    return [
        point.id,
        f"{given['paths']}",
        f"{given['longest / shortest round trip']:.1f}",
        f"{given['receive buffer (kB)']:.0f}",
        f"{100 * behind(case):.0f}",
        f"`{one.plan['base']}`",
        str(len(one.plan["steps"])),
    ]


def write(name: str, rows: list[list[str]]) -> None:
    """Replace a table of the page."""
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    page = PAGE.read_text(encoding="utf-8")
    place = re.compile(f"(<!-- measured: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    new, count = place.subn(lambda match: f"{match[1]}{text}\n{match[2]}", page)
    if count != 1:
        sys.exit(f"{PAGE}: expected one table called {name}, got {count}")
    PAGE.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
