"""The page about runs: tables, distributions, levels over time, single packets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from plait.analysis import Repeated
from plait.reports.chart import colours
from plait.reports.definition import definitions
from plait.reports.origin import network_table, origin_table, scenario_of, scheduler_notes, settings
from plait.reports.reading import Runs
from plait.reports.schedule import MOST_PACKETS, schedule
from plait.reports.series import LEVELS, buffer_chart, decision_rows, delay_charts, level_chart, verdict_chart
from plait.results.result import Result
from plait.results.summary import count, flow_rows, metric_rows, path_rows
from plait.scenarios.repetition import MEANING

ENGINES = {
    "sim": "simulator",
    "linux": "Linux kernel in virtual time",
    "quic": "QUIC connections in virtual time",
    "usrsctp": "FreeBSD's SCTP in virtual time",
    "sockets": "real paths",
}


def runs_page(runs: Runs) -> dict[str, Any]:
    """Return the input of the page's template."""
    labels = list(dict.fromkeys(result.scheduler for result in runs.results))
    groups = [_group(f"g{number}", results, labels) for number, results in enumerate(runs.groups)]
    charts = [chart for group in groups for chart in group["charts"].values()]
    titles = [group["title"] for group in groups]
    return {
        "kind": "runs",
        "title": titles[0] if len(titles) == 1 else f"{titles[0]} and {len(titles) - 1} more",
        "summary": _summary(runs),
        "origin": origin_table(runs.origins),
        "groups": groups,
        "labels": labels,
        "schedulers": scheduler_notes(labels),
        "definitions": definitions(),
        "most_packets": MOST_PACKETS,
        "perturbed": f"{MEANING[0].upper()}{MEANING[1:]}.",
        "data": {
            "colours": colours(),
            "labels": labels,
            "charts": charts,
            "schedules": [group["schedule"] for group in groups if group["schedule"]],
        },
    }


def _summary(runs: Runs) -> str:
    first = runs.results[0]
    engines = sorted({ENGINES.get(result.data["engine"], result.data["engine"]) for result in runs.results})
    seeds = sorted({result.seed for result in runs.results})
    return ", ".join(
        [
            count(len(runs.results), "run"),
            count(len({result.scheduler for result in runs.results}), "scheduler"),
            f"seed {first.seed}" if len(seeds) == 1 else f"seeds {', '.join(map(str, seeds))}",
            " and ".join(engines),
        ]
    )


def _group(group: str, results: Sequence[Result], labels: Sequence[str]) -> dict[str, Any]:
    """Return the page's section about the runs of one scenario."""
    names = _names(results)
    places = [labels.index(result.scheduler) for result in results]
    scenario = scenario_of(results)
    found = {
        "buffer": buffer_chart(group, results, places, names),
        "levels": level_chart(group, results, places, names),
        "verdicts": verdict_chart(group, results, places, names),
    }
    charts = {name: chart for name, chart in found.items() if chart is not None}
    charts |= {
        chart["id"].removeprefix(f"{group}-"): chart for chart in delay_charts(group, results, places, names)
    }
    return {
        "id": group,
        "title": results[0].scenario,
        "names": names,
        "network": network_table(scenario) if scenario else None,
        "settings": settings(scenario) if scenario else [],
        "scenario": json.dumps(scenario, indent=2, ensure_ascii=False) if scenario else None,
        "warnings": [text for result in results for text in result.warnings],
        "seeds": _seeds(results),
        "metrics": metric_rows(results),
        "parts": [
            *((f"path “{name}”", rows) for name, rows in path_rows(results)),
            *((f"competing flow “{name}”", rows) for name, rows in flow_rows(results)),
        ],
        "decisions": decision_rows(results),
        "charts": charts,
        "schedule": schedule(group, results, places),
        "levels": [(column, name) for column, (name, _) in LEVELS.items()],
    }


def _seeds(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return means over several seeds with intervals; None with one seed or several engines."""
    if len({result.data["engine"] for result in results}) > 1:
        return None
    found = Repeated.of(results)
    if len(found) < 2:
        return None
    return {
        "count": len(found),
        "note": found.note,
        "perturbed": found.perturbed,
        "names": found.schedulers,
        "means": [("", found.rows()), *((f"path “{name}”", rows) for name, rows in found.path_rows())],
        "gains": found.gain_rows(),
    }


def _names(results: Sequence[Result]) -> list[str]:
    """Return headings of the runs: their schedulers, and other distinguishing properties."""
    seeds = len({result.seed for result in results}) > 1
    engines = len({result.data["engine"] for result in results}) > 1
    names: list[str] = []
    for result in results:
        name = result.scheduler
        name += f", seed {result.seed}" if seeds else ""
        name += f", {result.data['engine']}" if engines else ""
        same = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names
