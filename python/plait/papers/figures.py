"""The kinds of figures that a paper's description can ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from matplotlib.figure import Figure

from plait import plots
from plait._core import ScenarioError
from plait.models import max_blocking_ms
from plait.papers.description import Paper, PaperFigure
from plait.papers.rows import Results
from plait.result import Result


@dataclass(frozen=True)
class Drawing:
    """One figure of a reproduction: the name of its file without suffix, its title and the figure."""

    name: str
    title: str
    figure: Figure


@dataclass(frozen=True)
class Kind:
    """A kind of figure: what its runs must record, and how it is drawn."""

    draw: Callable[[Paper, PaperFigure, list[list[Result]]], Iterator[tuple[str, Figure]]]
    packets: bool = False
    series: str | None = None


def kind(figure: PaperFigure) -> Kind:
    """The kind that a description names; ScenarioError if there is none of that name."""
    if figure.kind not in KINDS:
        message = f"figure {figure.id!r}: unknown kind {figure.kind!r}; expected one of: {', '.join(KINDS)}"
        raise ScenarioError(message)
    return KINDS[figure.kind]


def draw(paper: Paper, results: Results) -> Iterator[Drawing]:
    """Draw all figures of a paper, one after the other."""
    for figure in paper.figures:
        groups = [[results[scenario, label] for label in figure.schedulers] for scenario in figure.scenarios]
        for suffix, drawn in kind(figure).draw(paper, figure, groups):
            title = f"{figure.title}: {suffix}" if suffix else figure.title
            name = f"{figure.id}-{suffix}" if suffix else figure.id
            yield Drawing(name.replace(" ", "-").replace(",", ""), title, drawn)


def _titles(paper: Paper, figure: PaperFigure, *, broken: bool = False) -> list[str]:
    titles = [paper.scenarios[scenario].title for scenario in figure.scenarios]
    return [title.replace(", ", "\n") for title in titles] if broken else titles


def _blocking(paper: Paper, figure: PaperFigure, groups: list[list[Result]]) -> Iterator[tuple[str, Figure]]:
    models = [max_blocking_ms(paper.scenarios[scenario].paths) for scenario in figure.scenarios]
    yield "", plots.blocking_time(groups, models, _titles(paper, figure), window=figure.window)


def _buffer(paper: Paper, figure: PaperFigure, groups: list[list[Result]]) -> Iterator[tuple[str, Figure]]:
    yield "", plots.receive_buffer(groups, _titles(paper, figure), window=figure.window)


def _slow_path(paper: Paper, figure: PaperFigure, groups: list[list[Result]]) -> Iterator[tuple[str, Figure]]:
    yield "", plots.slow_path_usage(groups, _titles(paper, figure, broken=True))


def _delay(paper: Paper, figure: PaperFigure, groups: list[list[Result]]) -> Iterator[tuple[str, Figure]]:
    yield "", plots.application_delay(groups, _titles(paper, figure, broken=True))


def _throughput(
    paper: Paper, figure: PaperFigure, groups: list[list[Result]]
) -> Iterator[tuple[str, Figure]]:
    for scenario, group in zip(figure.scenarios, groups, strict=True):
        suffix = paper.scenarios[scenario].title if len(groups) > 1 else ""
        yield suffix, plots.cumulative_throughput(group, window=figure.window)


def _space_time(
    paper: Paper, figure: PaperFigure, groups: list[list[Result]]
) -> Iterator[tuple[str, Figure]]:
    for scenario, group in zip(figure.scenarios, groups, strict=True):
        title = paper.scenarios[scenario].title
        suffix = title if len(groups) > 1 else ""
        yield suffix, plots.space_time(group, figure.window or (0.0, 0.1), title=title)


KINDS = {
    "blocking-time": Kind(_blocking, packets=True),
    "receive-buffer": Kind(_buffer, series="10ms"),
    "slow-path-usage": Kind(_slow_path),
    "application-delay": Kind(_delay),
    "cumulative-throughput": Kind(_throughput, series="10ms"),
    "space-time": Kind(_space_time, packets=True),
}
