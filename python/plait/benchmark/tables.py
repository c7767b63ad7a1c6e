"""The tables of a benchmark as text, for the terminal, the page and the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from plait.benchmark.bench import Bench
from plait.benchmark.scores import ALL, Case, Standing
from plait.benchmark.suite import DOMAINS
from plait.results.wording import Wording, wording
from plait.statistics.estimate import Estimate
from plait.support.tables import NONE

TITLES = {**DOMAINS, ALL: "all domains together, each point with the same weight"}
"""The meaning of each domain."""
TERMS = {
    "near the best": "share of the points within 5 % of the best known value, which is the best of all "
    "schedulers with results there",
    "5th percentile, median": "of the ratio to the best known value; 1 is the best; for delays and times "
    "it is the best over the value",
    "near the bound": "share of the points within 5 % of a bound that no scheduler beats (plait bound); "
    "perhaps no schedule reaches it",
    "harmless": "share of the points at which the best path alone is not better by more than 5 %",
    "better than the baseline": "geometric mean over the points; more than zero is better, also for "
    "delays and times",
    "intervals": "95 %, over points (bootstrap); all schedulers meet the same losses and delays at a point",
}
"""The columns of the tables, explained."""
CASE_HEADINGS = ("scheduler", "worst at", "ratio", "value", "best known", "by")


def headings(found: Bench) -> Sequence[str]:
    """Return the headings of the standings."""
    return (
        "scheduler",
        "near the best (%)",
        "5th percentile",
        "median",
        "near the bound (%)",
        "harmless (%)",
        f"better than {found.baseline} (%)",
    )


def groups(found: Bench) -> list[tuple[str, list[list[str]]]]:
    """Return for each domain a title and the rows of its standings."""
    return [
        (f"{domain}: {TITLES[domain]}", [line(one) for one in found.standings if one.domain == domain])
        for domain in dict.fromkeys(one.domain for one in found.standings)
    ]


def line(one: Standing) -> list[str]:
    """Return a row of the standings."""
    return [
        one.scheduler,
        _share(one.near_best),
        f"{one.low:.2f}",
        f"{one.median:.2f}",
        _share(one.near_bound),
        _share(one.harmless),
        NONE if one.gain is None else _text(one.gain, Wording("", "", 1.0, 1, signed=True)),
    ]


def case_line(one: Case) -> list[str]:
    """Return a row of the worst cases."""
    words = wording(one.point.metric)

    def text(value: float | None) -> str:
        return NONE if value is None else f"{words.number(value)} {words.unit}"

    return [
        one.scheduler,
        one.point.id,
        f"{one.ratio:.2f}",
        text(one.value),
        text(one.best),
        one.best_scheduler,
    ]


def _share(found: Estimate) -> str:
    return _text(found, Wording("", "", 100.0, 0))


def _text(found: Estimate, words: Wording) -> str:
    return f"{words.number(found.value)} {words.interval(found.interval)}".rstrip()
