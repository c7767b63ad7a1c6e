"""Draw the site's figures and fill in its pages: every number comes from a run or another page.

Run from anywhere: `.venv/bin/python docs/draw.py [PAGE]…`, or `make figures`; everything takes
two minutes. The name of a page is its path below `docs`,
without the ending; the schedulers' pages are made together.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "questions")]

from studies import advising, bounds, choosing, example, learning, networks, pictures  # noqa: E402
from study import Answer  # noqa: E402

from plait import plots  # noqa: E402
from plait.cli.errors import guarded  # noqa: E402
from plait.support.files import write_text  # noqa: E402
from plait.support.pages import fill, tables_wanted, values_in  # noqa: E402
from plait.support.progress import Progress  # noqa: E402

IMAGES = HERE / "images"
REPEATED = {
    "asymmetry": HERE / "questions" / "asymmetry.md",
    "rtt-error": HERE / "questions" / "rtt-error.md",
    "decision-cost": HERE / "questions" / "decision-cost.md",
    "validation": HERE / "validation.md",
}
"""Pages whose values are repeated by others, as ``PAGE: VALUE``."""
GOAL = re.compile(r"\| (reached|missed) \|$")
"""The lines of the validation's table of goals."""


def repeated() -> dict[str, str]:
    """Return the values of other pages."""
    made = {}
    for name, file in REPEATED.items():
        found = values_in(file.read_text(encoding="utf-8"))
        made.update({f"{name}: {key}": value for key, value in found.items()})
    page = REPEATED["validation"].read_text(encoding="utf-8")
    table = page.partition("<!-- measured: goals -->")[2].partition("<!-- end -->")[0]
    goals = [line for line in table.splitlines() if GOAL.search(line)]
    missed = sum("missed" in line for line in goals)
    return {**made, "validation: goals missed": f"{missed} of {len(goals)}"}


def network_pages() -> Mapping[str, Answer]:
    """Return the schedulers' pages, which share their runs, and the pages that quote them."""
    found = networks.Networks.measured()
    figures, quoted = pictures.figures(), found.values()
    index = Answer(
        {
            "networks": networks.contents(),
            "goodput": found.table("goodput"),
            "delay": found.table("delay"),
        },
        quoted,
        figures,
    )
    made = {"schedulers/index": index, "choosing": Answer({}, quoted)}
    for name in networks.schedulers():
        base = networks.BASE if name != networks.BASE else "round-robin"
        tables = {f"summary {name}": found.summary(name, base), f"row {name}": found.row(name, base)}
        if name == "redundant":
            tables |= {f"modes {what}": found.modes(what) for what in ("goodput", "delay")}
        page = "options" if "+" in name else name
        before = made.get(f"schedulers/{page}", Answer({}))
        made[f"schedulers/{page}"] = Answer({**before.tables, **tables}, quoted)
    return made


STUDIES: Mapping[str, Callable[[], Mapping[str, Answer]]] = {
    "schedulers": network_pages,
    "choosing": lambda: {"choosing": choosing.answer()},
    "advise": advising.answers,
    "quick-start-scheduler": lambda: {"quick-start-scheduler": example.answer()},
    "bound": lambda: {"bound": bounds.answer()},
    "learning": lambda: {"learning": learning.answer()},
    "transport": lambda: {"transport": example.asking()},
    "trust": lambda: {"trust": Answer({})},
}
"""The study that fills in each group of pages."""


@click.command()
@click.argument("names", nargs=-1, metavar="[PAGE]...", type=click.Choice(list(STUDIES)))
def main(names: tuple[str, ...]) -> None:
    """Make the runs of each PAGE, or of all; write figures and numbers into docs."""
    wanted = list(names or STUDIES)
    if "choosing" in wanted and "schedulers" not in wanted:
        wanted.append("schedulers")  # it quotes their runs
    answers: dict[str, Answer] = {}
    for name in wanted:
        with Progress(f"running {name}"):
            found = STUDIES[name]()
        for page, answer in found.items():
            before = answers.get(page, Answer({}))
            answers[page] = Answer(
                {**before.tables, **answer.tables},
                {**before.values, **answer.values},
                {**before.figures, **answer.figures},
            )
    others = repeated()
    for page, answer in answers.items():
        for figure, drawn in answer.figures.items():
            plots.save(drawn, IMAGES / f"{figure}.png")
        if page == "choosing" and "choosing" not in wanted:
            continue  # only quoted here; its own runs were not requested
        file = HERE / f"{page}.md"
        text = file.read_text(encoding="utf-8")
        places = tables_wanted(text)
        tables = {name: table for name, table in answer.tables.items() if name in places}
        write_text(file, fill(text, tables, {**answer.values, **others}))
        click.echo(f"wrote {file.relative_to(HERE.parent)}")


if __name__ == "__main__":
    guarded(lambda: main(standalone_mode=False))
