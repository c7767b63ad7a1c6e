"""The kinds of figures that a paper's description can use."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace

from matplotlib.figure import Figure

from plait import plots
from plait._core import ScenarioError
from plait.papers.description import Paper, PaperFigure
from plait.papers.rows import estimate
from plait.papers.runs import (
    CompletedRun,
    Results,
    common_prefix,
    forward_delays_ms,
    receive_order,
    run_metric,
)
from plait.results.result import Result
from plait.results.wording import wording
from plait.scenarios.models import max_blocking_ms
from plait.statistics.estimate import Estimate
from plait.support.words import expected


@dataclass(frozen=True)
class Drawing:
    """One figure of a reproduction: its file name without suffix, its title and the figure."""

    name: str
    title: str
    figure: Figure


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the recordings that it needs, and its drawing function."""

    draw: Callable[[Paper, PaperFigure, Results], Iterator[tuple[str, Figure]]]
    packets: bool = False
    series: bool = False
    decisions: bool = False


def kind(figure: PaperFigure) -> Kind:
    """Return the kind that a description names; ScenarioError if there is none of that name."""
    if figure.kind not in KINDS:
        message = f"figure {figure.id!r}: unknown kind {figure.kind!r}{expected(figure.kind, list(KINDS))}"
        raise ScenarioError(message)
    return KINDS[figure.kind]


def draw(paper: Paper, results: Results) -> Iterator[Drawing]:
    """Draw all figures of a paper one after the other, with the runs that the engine has."""
    for figure in _possible(paper, results):
        for suffix, drawn in kind(figure).draw(paper, figure, results):
            title = f"{figure.title}: {suffix}" if suffix else figure.title
            name = f"{figure.id}-{suffix}" if suffix else figure.id
            yield Drawing(name.replace(" ", "-").replace(",", ""), title, drawn)


def _possible(paper: Paper, results: Container[tuple[str, str]]) -> list[PaperFigure]:
    """Return the figures with runs, without the schedulers and scenarios that lack runs."""
    remaining = []
    for figure in paper.figures:

        def complete(scenario: str, labels: Sequence[str]) -> bool:
            return all((scenario, label) in results for label in labels)

        def present(labels: Sequence[str], figure: PaperFigure = figure) -> tuple[str, ...]:
            return tuple(
                label for label in labels if any(complete(scenario, [label]) for scenario in figure.scenarios)
            )

        schedulers, beside = present(figure.schedulers), present(figure.beside)
        scenarios = [one for one in figure.scenarios if complete(one, [*schedulers, *beside])]
        if schedulers and scenarios:
            remaining.append(
                replace(figure, schedulers=schedulers, beside=beside, scenarios=tuple(scenarios))
            )
    return remaining


def _groups(
    figure: PaperFigure, results: Results, schedulers: Sequence[str] | None = None
) -> list[list[Result]]:
    """Return the runs of each scenario; of several members the first."""
    return [
        [
            results[scenario, label][0].result
            for label in (figure.schedulers if schedulers is None else schedulers)
        ]
        for scenario in figure.scenarios
    ]


def _titles(paper: Paper, figure: PaperFigure, *, broken: bool = False) -> list[str]:
    titles = [paper.scenarios[scenario].title for scenario in figure.scenarios]
    heads, _, tails = zip(*(title.partition(", ") for title in titles), strict=True)
    if len(titles) > 1 and len(set(heads)) == len(titles) and len(set(tails)) == 1:
        titles = list(heads)  # the common part is in the figure's title
    return [title.replace(", ", "\n") for title in titles] if broken else titles


def _blocking(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    models = [max_blocking_ms(paper.scenarios[scenario].paths) for scenario in figure.scenarios]
    yield (
        "",
        plots.blocking_time(_groups(figure, results), models, _titles(paper, figure), window=figure.window),
    )


def _buffer(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    yield "", plots.receive_buffer(_groups(figure, results), _titles(paper, figure), window=figure.window)


def _slow_path(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    yield "", plots.slow_path_usage(_groups(figure, results), _titles(paper, figure, broken=True))


def _delay(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    yield "", plots.application_delay(_groups(figure, results), _titles(paper, figure, broken=True))


def _throughput(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    groups = _groups(figure, results)
    for scenario, group in zip(figure.scenarios, groups, strict=True):
        suffix = paper.scenarios[scenario].title if len(groups) > 1 else ""
        yield suffix, plots.cumulative_throughput(group, window=figure.window)


def _space_time(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    groups = _groups(figure, results)
    for scenario, group in zip(figure.scenarios, groups, strict=True):
        title = paper.scenarios[scenario].title
        suffix = title if len(groups) > 1 else ""
        yield suffix, plots.space_time(group, figure.window or (0.0, 0.1), title=title)


def _bars(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    word = wording(figure.metric, paper)
    yield (
        "",
        plots.metric_bars(
            _groups(figure, results),
            _titles(paper, figure, broken=True),
            figure.metric,
            word.heading,
            scale=word.scale,
            beside=_groups(figure, results, figure.beside) if figure.beside else (),
        ),
    )


def _over(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    word = wording(figure.metric.removeprefix("mean.").removeprefix("median."), paper)
    curves = {}
    for label in figure.schedulers:
        found = [estimate(paper, results, scenario, label, figure.metric) for scenario in figure.scenarios]
        curves[label] = [one or Estimate(math.nan) for one in found]
    places = [float(paper.scenarios[scenario].variables[figure.variable]) for scenario in figure.scenarios]
    yield (
        "",
        plots.over(
            places,
            curves,
            x=figure.label or figure.variable,
            y=word.heading,
            scale=word.scale,
            log=figure.log,
        ),
    )


def _distribution(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    word = wording(figure.metric, paper)
    groups = []
    for scenario in figure.scenarios:
        values = {}
        for label in figure.schedulers:
            key = (scenario, label)
            found = [run_metric(paper, key, made, figure.metric) for made in results[key]]
            values[label] = [one * word.scale for one in found if one is not None]
        groups.append(values)
    marks = (0.0,) if figure.metric == "aggregation_benefit" else ()
    yield "", plots.distribution(groups, _titles(paper, figure), word.heading, log=figure.log, marks=marks)


def _sequence(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    for scenario, group in zip(figure.scenarios, _groups(figure, results), strict=True):
        suffix = paper.scenarios[scenario].title if len(figure.scenarios) > 1 else ""
        yield suffix, plots.sequence(group, figure.schedulers, window=figure.window)


def _order(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    """For each scheduler draw the printed order, if there is one, and the measured one below it."""
    for scenario in figure.scenarios:
        strips = []
        for label in figure.schedulers:
            frame = receive_order(results[scenario, label][0].result)
            printed = paper.orders.get((scenario, label))
            count = 48 if printed is None else len(printed.numbers)
            measured = [int(number) for number in frame["number"].to_list()[:count]]
            same = None
            if printed is not None:
                same = common_prefix(printed.numbers, measured)
                strips.append(plots.ArrivalOrder(f"{label}, printed", printed.numbers))
            strips.append(
                plots.ArrivalOrder(f"{label}, measured", measured, frame["path"].to_list()[:count], same)
            )
        names = results[scenario, figure.schedulers[0]][0].result.path_names
        yield "", plots.receive_order(strips, names)


def _estimated_delays(paper: Paper, figure: PaperFigure, results: Results) -> Iterator[tuple[str, Figure]]:
    made: list[CompletedRun] = [results[scenario, figure.schedulers[0]][0] for scenario in figure.scenarios]
    delays = [forward_delays_ms(one) for one in made]
    yield (
        "",
        plots.estimated_delays(
            _titles(paper, figure),
            [[configured for configured, _ in case] for case in delays],
            [[estimated for _, estimated in case] for case in delays],
            made[0].result.path_names,
        ),
    )


KINDS = {
    "blocking-time": Kind(_blocking, packets=True),
    "receive-buffer": Kind(_buffer, series=True),
    "slow-path-usage": Kind(_slow_path),
    "application-delay": Kind(_delay),
    "cumulative-throughput": Kind(_throughput, series=True),
    "space-time": Kind(_space_time, packets=True),
    "bars": Kind(_bars),
    "over": Kind(_over),
    "distribution": Kind(_distribution),
    "sequence": Kind(_sequence, packets=True),
    "receive-order": Kind(_order, packets=True),
    "estimated-delays": Kind(_estimated_delays, decisions=True),
}
