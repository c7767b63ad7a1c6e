"""One page about runs or about a sweep's dataset: a single file that needs no network.

Python aggregates, a page's scripts only select the visible parts, and Plotly draws. The page
contains all drawn data.

| file | content |
|---|---|
| `reading.py` | input of a report: results, a folder of results, a dataset |
| `chart.py` | common parts of charts: compact numbers, reduced curves, axes, colours |
| `origin.py` | origin of the runs: commands, versions, the scenario in words |
| `schedule.py`, `series.py` | charts of runs: single packets in space and time; distributions, series, decisions |
| `runs.py` | the page about runs |
| `sample.py`, `field.py` | charts of a dataset: distributions, estimates, paired differences; maps of winners |
| `sweeps.py` | the page about a dataset |
| `definition.py` | meaning of the metrics, from the docstrings of `plait.results.metrics` |
| `page.py`, `*.j2`, `*.css`, `*.js` | the page |

A page has distributions as quantiles, series thinned with their extremes, cells of maps, and
windows of packets. A chart is a Plotly figure without colours; its traces name their scheduler and
choices. `common.js` adds colours and removes hidden traces. The colour of a scheduler is its index
on the page. Windows of packets are packed columns, from which `schedule.js` makes traces.
`run.json` beside a run has commands, versions and machine; the folder of a run has only data that
follows from scenario and seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from plait.reports.reading import Rows, subject
from plait.results.result import Result
from plait.support.files import whole_file
from plait.sweep import Dataset


def report(
    what: str | PathLike[str] | Result | Sequence[Result] | Dataset | Rows,
    file: str | PathLike[str] = "report.html",
) -> Path:
    """Write a page about runs or a dataset: tables, distributions, and packets of some moments.

        comparison = plait.compare("my-links.toml", ["daps", "dqs"], packets=True, series="10ms")
        plait.report(comparison, "report.html")

    Without a recording (``packets=True``, ``series``, ``decisions=True``) its charts are missing,
    and the page says so.

    Args:
        what: a result, a `Comparison`, a list of results, a `plait.sweep.Dataset`, `Rows`; or the
            name of a folder from ``plait run --out``, ``plait compare --out`` or ``plait sweep``.
        file: name of the page's file.

    Returns:
        The page's file.

    Raises:
        ScenarioError: there is nothing to report, or a file cannot be read. OutputError: the page
            cannot be written.
    """
    from plait.reports.page import page  # noqa: PLC0415 - Jinja and Plotly take as long to load as everything else
    from plait.reports.runs import runs_page  # noqa: PLC0415
    from plait.reports.sweeps import dataset_page  # noqa: PLC0415

    found = subject(what)
    place = Path(file)
    with whole_file(place) as temporary:  # opened first: an unwritable place is reported at once
        content = dataset_page(found) if isinstance(found, Rows) else runs_page(found)
        temporary.write_text(page(content), encoding="utf-8")
    return place


__all__ = ["Rows", "report"]
