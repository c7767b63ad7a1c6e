"""The league table: ``make league``. Makes the runs of every domain.

It writes `docs/league.md` and its figure anew.

Exit status: 0 done, 1 a run failed, 2 bad input.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "questions")]

from runs import Domain, domains, measured  # noqa: E402
from standing import BASE, SHARE, TIE, Standing, standings, surely  # noqa: E402
from study import with_interval, written  # noqa: E402

from plait import plots  # noqa: E402
from plait.cli.errors import guarded  # noqa: E402
from plait.plots.style import new_figure  # noqa: E402
from plait.statistics.estimate import Estimate  # noqa: E402
from plait.support.files import write_text  # noqa: E402
from plait.support.pages import fill, markdown  # noqa: E402
from plait.support.progress import Progress  # noqa: E402

DOCS = HERE.parent / "docs"
PAGE = DOCS / "league.md"
FIGURE = DOCS / "images" / "league.png"
WIDTH = 100
"""Columns of a line of the page."""
EXTREME = 50.0
"""Gains beyond this, in percent, have the darkest colour."""
NAMES = {
    "goodput_bps": "goodput",
    "app_delay_ms.p95": "95 % application delay",
    "app_delay_ms.max": "longest application delay",
    "request_latency_ms.mean": "mean latency",
    "request_latency_ms.p95": "95 % latency",
    "in_time_share": "blocks in time",
    "block_delay_ms.p95": "95 % delay of a block",
}

Table = Mapping[Domain, Sequence[Standing]]


def glance(table: Table) -> str:
    """Return all schedulers in all domains: gains, and the share of points with harm.

    Gains are by each domain's first metric.
    """
    lines = []
    for label, own in _sorted(table):
        harmful, points = sum(one.harmful for one in own), sum(one.points for one in own)
        cells = [_marked(next(iter(one.gains.values()))) for one in own]
        lines.append([f"`{label}`", *cells, f"{100 * harmful / points:.0f} %"])
    headings = [f"[{domain.title}](#{domain.name})" for domain in table]
    return markdown(["scheduler", *headings, "harmful"], lines)


def details(domain: Domain, found: Sequence[Standing]) -> str:
    """Return the table of one domain, with a column per metric."""
    unit = {name: "points" if name == SHARE else "%" for name in domain.metrics}
    headings = [f"{NAMES[name]}, better by ({unit[name]})" for name in domain.metrics]
    ordered = sorted(found, key=lambda one: -next(iter(one.gains.values())).value)
    lines = [
        [
            f"`{one.scheduler}`",
            *(with_interval(gain, 1, signed=True) for gain in one.gains.values()),
            f"{one.best}",
            f"{one.harmful}",
            "–" if one.harm >= -TIE else written(one.harm, 0, signed=True),
        ]
        for one in ordered
    ]
    points = found[0].points
    return markdown(
        ["scheduler", *headings, f"best in, of {points}", f"harmful in, of {points}", "worst (%)"], lines
    )


def winners(table: Table) -> str:
    """Return a line per domain: how many schedulers are better, worse and never harmful."""
    lines = []
    for domain, found in table.items():
        first = next(iter(found[0].gains))
        better = sorted((one for one in found if one.is_better), key=lambda one: -one.gains[first].value)
        best = "; ".join(
            f"`{one.scheduler}` {with_interval(one.gains[first], 0, signed=True)}" for one in better[:3]
        )
        counts = (len(better), sum(one.is_worse for one in found), sum(one.harmful == 0 for one in found))
        lines.append([domain.title, NAMES[first], *map(str, counts), best or "–"])
    headings = ["domain", "metric", "better", "worse", "never harmful", "best, better by (%)"]
    return markdown(headings, lines, (0, 1, 5))


def values(table: Table) -> dict[str, str]:
    """Return numbers for the sentences.

    Keys: ``NAME harmful`` (percent of points), ``NAME worst`` (of goodput), ``NAME better`` and
    ``NAME worse`` (domains).
    """
    made = {}
    for label, own in _sorted(table):
        points = sum(one.points for one in own)
        made[f"{label} harmful"] = f"{100 * sum(one.harmful for one in own) / points:.0f}"
        bulk = [one.harm for one in own if "goodput_bps" in one.gains]
        made[f"{label} worst"] = written(-min(bulk))
        made[f"{label} better"] = f"{sum(one.is_better for one in own)}"
        made[f"{label} worse"] = f"{sum(one.is_worse for one in own)}"
    made["domains"] = f"{len(table)}"
    made["points"] = f"{sum(found[0].points for found in table.values())}"
    made["schedulers"] = f"{len(next(iter(table.values())))}"
    return made


def drawn(table: Table) -> Figure:
    """Draw the overview as a map."""
    rows = list(_sorted(table))
    figure, (axes,) = new_figure(width=9.0, height=0.27 * len(rows) + 1.6)
    gains = [[next(iter(one.gains.values())) for one in own] for _, own in rows]
    norm = TwoSlopeNorm(0, -EXTREME, EXTREME)
    image = axes.imshow([[one.value for one in row] for row in gains], cmap="RdBu", norm=norm, aspect="auto")
    for row, own in enumerate(gains):
        for column, gain in enumerate(own):
            dark = abs(gain.value) > 0.6 * EXTREME
            weight = "bold" if surely(gain) else "normal"
            text = written(gain.value, 0, signed=True)
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "weight": weight}
            axes.text(column, row, text, color="white" if dark else "black", **style)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows], fontsize=8)
    titles = [f"{domain.title}\n({NAMES[domain.metrics[0]]})" for domain in table]
    axes.set_xticks(range(len(titles)), titles, rotation=30, ha="right", fontsize=7)
    axes.grid(visible=False)
    figure.colorbar(
        image, ax=axes, label=f"better than {BASE} by (%; blocks: percentage points)", extend="both"
    )
    return figure


def _sorted(table: Table) -> list[tuple[str, list[Standing]]]:
    """Sort schedulers by the number of harmful points; of equals, by better and worse domains."""
    labels = [one.scheduler for one in next(iter(table.values()))]
    by_label = {
        label: [next(one for one in found if one.scheduler == label) for found in table.values()]
        for label in labels
    }

    def rank(item: tuple[str, list[Standing]]) -> tuple[int, int]:
        return sum(one.harmful for one in item[1]), sum(one.is_worse - one.is_better for one in item[1])

    return sorted(by_label.items(), key=rank)


def _marked(gain: Estimate) -> str:
    text = written(gain.value, 0, signed=True)
    return f"**{text}**" if surely(gain) else text


@click.command()
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Folder to write the rows to, one Parquet file per domain.",
)
@click.option(
    "--rows",
    type=click.Path(path_type=Path, exists=True),
    help="Folder to read the rows from, instead of making runs.",
)
@click.option("--threads", type=click.IntRange(0), default=0, help="0 means one per core.")
def main(keep: Path | None, rows: Path | None, threads: int) -> None:
    """Make the runs of all domains, and write the page and its figure anew."""
    table: dict[Domain, Sequence[Standing]] = {}
    for domain in domains():
        if rows:
            found = pl.read_parquet(rows / f"{domain.name}.parquet")
        else:
            with Progress(f"running {domain.name}") as progress:
                found = measured(domain, threads=threads, progress=progress.update)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            found.write_parquet(keep / f"{domain.name}.parquet")
        table[domain] = standings(domain, found)
    tables = {"glance": glance(table), "winners": winners(table)}
    tables |= {f"domain {domain.name}": details(domain, found) for domain, found in table.items()}
    tables |= {f"what {domain.name}": textwrap.fill(domain.what, WIDTH) for domain in table}
    write_text(PAGE, fill(PAGE.read_text(encoding="utf-8"), tables, values(table)))
    plots.save(drawn(table), FIGURE)
    click.echo("wrote docs/league.md")


if __name__ == "__main__":
    guarded(lambda: main(standalone_mode=False))
