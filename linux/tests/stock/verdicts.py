"""The cases that a guest runs, and the judgement of their results."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

CHOICES = (
    *("replay", "transfers", "failures", "endpoints", "fallback", "beginning", "handshakes", "connections"),
    *("memory", "exchange", "reload"),
)
"""Cases in their order. Before them the module is loaded, after them it is unloaded."""
TAKES_LONG = {"failures", "memory"}

EXPECTED = re.compile(
    # The module is not Debian's.
    r"\w+: loading out-of-tree module taints kernel\."
    r"|\w+: module verification failed: signature and/or required key missing - tainting kernel"
    # Its stage 2.
    r"|\w+: tainting kernel with TAINT_LIVEPATCH|livepatch: enabling patch '\w+'"
    r"|livepatch: '\w+': (starting (un)?patching transition|(un)?patching complete|signaling remaining tasks)"
    # Clocks of a guest whose instructions are translated, on a busy host.
    r"|clocksource: .*|hrtimer: interrupt took \d+ ns|perf: interrupt took too long .*"
)
RULE = re.compile("=+")
LOG = re.compile(r"LOG \[ *(?P<time>[\d.]+)\] (?P<text>.*)")


def settings(module: str, chosen: Collection[str], *, short: bool) -> bytes:
    """Return the file of the guest with names and numbers; all cases without a choice."""
    wanted = [one for one in CHOICES if one in chosen or not (chosen or (short and one in TAKES_LONG))]
    files = (
        "10000:14:4 100000:4:2 1000000:2:1"
        if short
        else "10000:60:4 100000:25:4 1000000:10:2 5000000:4:1 50000000:1:1"
    )
    lines = {
        "MODULE": module,
        "CASES": " ".join(["load", *wanted, "unload"]),
        # Seconds for a case: longer than a transfer that stands still.
        "LIMIT": "400",
        "RELOADS": "20" if short else "200",
        "CONNECTIONS": "40" if short else "400",
        # BYTES:CONNECTIONS:AT_ONCE
        "TRANSFERS": files,
    }
    return "".join(f'{key}="{value}"\n' for key, value in lines.items()).encode()


@dataclass(frozen=True, kw_only=True)
class Result:
    """Result of a case."""

    fields: dict[str, Any]
    """The guest's line."""
    messages: list[str] = field(default_factory=list)
    """Unexpected lines of the kernel's log."""
    races: int = 0
    """Data races that KCSAN found elsewhere in the kernel."""

    @property
    def ok(self) -> bool | None:
        """Whether it passed; None if the kernel cannot run it."""
        said: bool | None = self.fields["ok"]
        return False if self.messages else said

    def row(self) -> tuple[str, str, str, str, str]:
        """Return the row of the table."""
        seconds = self.fields["ended"] - self.fields["began"]
        verdict = {True: "passed", False: "FAILED", None: "skipped"}[self.ok]
        return self.fields["case"], self.fields["scheduler"], verdict, f"{seconds:.0f}", self.facts()

    def facts(self) -> str:
        """Return numbers of the case, and the first unexpected message."""
        parts = [
            f"{key} {value}"
            for key, value in self.fields.items()
            if key not in {"case", "scheduler", "ok", "began", "ended", "transfers"}
        ]
        transfers = [one for one in self.fields.get("transfers", []) if one]
        if transfers:
            parts.append(f"{sum(one['right'] for one in transfers)} of ")
            parts[-1] += f"{sum(one['connections'] for one in transfers)} files right"
            parts += [
                f"{key} {total}"
                for key in ("wrong", "failed", "fallbacks", "subflows")
                if (total := sum(one[key] for one in transfers))
            ]
        if self.races:
            parts.append(f"{self.races} data races elsewhere in the kernel")
        if self.messages:
            parts.append(f"log: {self.messages[0]} ({len(self.messages)} lines)")
        return ", ".join(parts)


def results(lines: Iterable[str], module: str) -> Iterator[Result]:
    """Read the lines of a guest: those of the kernel's log belong to the next result."""
    messages: list[str] = []
    for line in lines:
        if line.startswith("LOG "):
            found = LOG.fullmatch(line)
            text = found["text"] if found else line.removeprefix("LOG ")
            if not EXPECTED.fullmatch(text):
                messages.append(text)
        else:
            own, races = _without_other_races(messages, module)
            yield Result(fields=json.loads(line), messages=own, races=races)
            messages = []


def _without_other_races(messages: list[str], module: str) -> tuple[list[str], int]:
    """Drop KCSAN's reports without a function of the module: Linux has many races of its own."""
    kept: list[str] = []
    races = 0
    for report in _reports(messages):
        whole = len(report) > 1 and RULE.fullmatch(report[-1]) is not None
        if whole and "BUG: KCSAN: " in report[1] and f"[{module}]" not in " ".join(report):
            races += 1
        else:
            kept += report
    return kept, races


def _reports(messages: list[str]) -> Iterator[list[str]]:
    """Split messages into the reports of sanitizers, which stand between two rules, and single lines."""
    report: list[str] = []
    for line in messages:
        rule = RULE.fullmatch(line) is not None
        if not report and not rule:
            yield [line]
            continue
        report.append(line)
        if rule and len(report) > 1:
            yield report
            report = []
    yield report
