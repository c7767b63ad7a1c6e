"""The comparisons of TCP as tables: on the console and in ``benches/README.md``, and as JSON."""

from __future__ import annotations

from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from rich.table import Table
from verdict import AGREES, DIFFERS, overall

from plait.support import pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tcp import Report
    from verdict import Compared

BBR_HEADINGS = (
    "link",
    "goodput: ns-3",
    "with Linux' samples",
    "and no lost retransmissions",
    "Plait standard",
    "Plait linux",
    "queueing delay: ns-3",
    "standard",
    "linux",
    "retransmissions: ns-3",
    "standard",
    "linux",
)
PAGE = Path(__file__).parents[1] / "README.md"
COLORS = {AGREES: "green", DIFFERS: "red"}
HEADINGS = ("case", "goodput Mbit/s", "formula", "retransmissions", "one-way delay ms", "kpkt/s")


def table(peer: str, reports: Sequence[Report]) -> Table:
    """Return a table with a line per step: the other simulator / Plait, and the difference."""
    drawn = Table(title=f"TCP over one link: {peer} / Plait", title_justify="left", pad_edge=False)
    for heading in HEADINGS:
        drawn.add_column(heading, justify="left" if heading == "case" else "right", no_wrap=heading == "case")
    drawn.add_column("verdict")
    drawn.add_column("step", overflow="fold")
    for report in reports:
        for number, (step, rows) in enumerate(report.attempts):
            verdict = overall(rows)
            color = COLORS.get(verdict, "yellow")
            first, last = number == 0, number + 1 == len(report.attempts)
            drawn.add_row(
                report.case.name if first else "",
                "\n".join(_percent(row) for row in rows[:-2]),
                _formula(report) if first else "",
                *[_percent(row) for row in rows[-2:]],
                _speeds(report) if first else "",
                f"[{color}]{verdict}[/{color}]",
                step.title + (f"; {report.why()}" if last and report.verdict != AGREES else ""),
            )
    return drawn


def _both(row: Compared) -> str:
    return f"{row.theirs:.4g} / {row.ours:.4g}"


def _percent(row: Compared) -> str:
    return f"{_both(row)} ({100 * row.difference:+.1f} ±{100 * row.error / row.theirs if row.theirs else 0:.1f} %)"


def _formula(report: Report) -> str:
    formula = report.case.response_mbps()
    return "" if formula is None else f"{formula:.4g}"


def _speeds(report: Report) -> str:
    if report.theirs is None or report.ours is None:
        return ""
    return f"{report.theirs.packets_per_second / 1e3:.0f} / {report.ours.packets_per_second / 1e3:.0f}"


def summary(peer: str, reports: Sequence[Report]) -> str:
    """Return the number of agreeing cases, and the speeds."""
    plain = sum(overall(report.attempts[0][1]) == AGREES for report in reports)
    agree = sum(report.verdict == AGREES for report in reports)
    text = (
        f"{len(reports)} cases in {peer}: {plain} agree as they come, {agree - plain} in a later step,"
        f" {len(reports) - agree} do not."
    )
    ratios = [
        report.ours.packets_per_second / report.theirs.packets_per_second
        for report in reports
        if report.ours and report.theirs
    ]
    if ratios:
        text += (
            f" Plait simulates {min(ratios):.0f} to {max(ratios):.0f} times as many packets per second,"
            f" in the geometric mean {geometric_mean(ratios):.0f} times."
        )
    return text


def document(report: Report) -> dict[str, Any]:
    """Return the data for ``--json``."""
    return {
        "simulator": report.peer,
        "case": report.case.name,
        "runs": report.case.runs,
        "verdict": report.verdict,
        "reason": report.why(),
        "formula_mbps": report.case.response_mbps(),
        "steps": [
            {
                "step": step.title,
                "verdict": overall(rows),
                "quantities": [
                    {
                        "name": row.name,
                        "theirs": row.theirs,
                        "plait": row.ours,
                        "two_standard_errors": row.error,
                        "verdict": row.verdict,
                    }
                    for row in rows
                ],
            }
            for step, rows in report.attempts
        ],
        "packets_per_second": {
            "theirs": report.theirs and report.theirs.packets_per_second,
            "plait": report.ours and report.ours.packets_per_second,
        },
    }


def write(reports: dict[str, list[Report]]) -> None:
    """Write the tables into ``benches/README.md``."""
    tables, values = {}, {}
    for peer, every in reports.items():
        some = [report for report in every if report.case.congestion_control != "bbr"]
        if bbr := [report for report in every if report.case.congestion_control == "bbr"]:
            tables[f"BBR in {peer}"] = pages.markdown(BBR_HEADINGS, bbr_lines(bbr), (0,))
            values[f"BBR in {peer}"] = summary(peer, bbr)
        if not some:
            continue
        tables[f"TCP in {peer}"] = pages.markdown([*HEADINGS, ""], [_line(report) for report in some], (0, 6))
        values[f"TCP in {peer}"] = summary(peer, some)
    PAGE.write_text(pages.fill(PAGE.read_text(encoding="utf-8"), tables, values), encoding="utf-8")


def _line(report: Report) -> list[str]:
    rows = report.last[1]
    verdict, why = report.verdict, report.why()
    if verdict != AGREES:
        step = "" if report.last is report.attempts[0] else f" with {report.last[0].title}"
        verdict = f"**{verdict}**{step}:"
    return [
        report.case.name,
        ", ".join(_both(row) for row in rows[:-2]),
        _formula(report),
        *[_both(row) for row in rows[-2:]],
        _speeds(report),
        f"{verdict} {why}".rstrip(),
    ]


def bbr_lines(reports: Sequence[Report]) -> list[list[str]]:
    """Return a line per link: ns-3 step by step, then its last step beside Plait's two profiles."""
    links: dict[str, dict[str, Report]] = {}
    for report in reports:
        links.setdefault(report.case.name, {})[report.case.profile] = report
    lines = []
    for name, profiles in links.items():
        standard, linux = profiles["standard"], profiles["linux"]
        goodputs = [f"{rows[0].theirs:.4g}" for _, rows in standard.attempts]
        goodputs += [""] * (3 - len(goodputs))
        last = standard.attempts[-1][1], linux.attempts[-1][1]
        both = [f"{rows[0].ours:.4g}" for rows in last]
        empty = standard.case.empty_ms
        delays = [f"{delay - empty:.1f}" for delay in (last[0][-1].theirs, *[rows[-1].ours for rows in last])]
        again = [f"{count:.4g}" for count in (last[0][-2].theirs, *[rows[-2].ours for rows in last])]
        lines.append([name.removeprefix("BBR "), *goodputs, *both, *delays, *again])
    return lines
