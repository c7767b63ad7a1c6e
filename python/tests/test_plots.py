import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

import plait
from plait import plots
from plait.plots import style
from plait.plots.spread import Spread
from plait.scenarios.scenario import from_table
from plait.statistics.estimate import Estimate
from plait.support.files import OutputError


@pytest.fixture(scope="module")
def comparison() -> plait.Comparison:
    scenario = plait.Scenario(
        duration="3s",
        transport=plait.Transport(protocol="cmt-sctp"),
        paths=[
            plait.Path(name="fast", rate="2Mbit", rtt="20ms", queue="50p"),
            plait.Path(name="slow", rate="1Mbit", rtt="80ms", queue="50p", loss="2%"),
        ],
    )
    return plait.compare(scenario, ["round-robin", "daps"], packets=True, series="10ms")


def figures(runs: plait.Comparison) -> dict[str, Figure]:
    return {
        "buffer": plots.receive_buffer([list(runs)], window=(1, 2)),
        "blocking": plots.blocking_time([list(runs)] * 4, [30.0, 30.0, None, 30.0], ["a", "b", "c", "d"]),
        "throughput": plots.cumulative_throughput(list(runs)),
        "slow path": plots.slow_path_usage([list(runs)] * 2, ["one", "two"]),
        "delay": plots.application_delay([list(runs)] * 2, ["one", "two"]),
        "space-time": plots.space_time(runs[0], (1.0, 1.1)),
        "bars beside": plots.metric_bars(
            [list(runs)] * 12,
            [f"H_{n}" for n in range(12)],
            "goodput_bps",
            "goodput (bit/s)",
            beside=[[runs[0]]] * 12,
        ),
        "sequence": plots.sequence(list(runs), window=(1, 2)),
        "distribution": plots.distribution(
            [{f"scheduler {n}": [n / 9, 0.5, 1.0] for n in range(9)}] * 2,
            ["low", "high"],
            "delay (ms)",
            log=True,
        ),
        "over": plots.over(
            [256, 384, 512, 16384],
            {"a": [Estimate(1, 0.5, 2)] * 4, "b": [Estimate(3)] * 4},
            x="buffer (KiB)",
            y="b (%)",
            log=True,
        ),
        "delays": plots.estimated_delays(
            [f"H_{n}" for n in range(12)], [(10, 50)] * 12, [(10.5, 51)] * 12, ["subflow 1", "subflow 2"]
        ),
    }


def test_receive_order_marks_what_is_as_printed() -> None:
    strips = [
        plots.ArrivalOrder("printed", range(1, 21)),
        plots.ArrivalOrder("measured", [1, 2, 4, 3], [0, 0, 1, 0], 2),
    ]
    figure = plots.receive_order(strips, ["fast", "slow"])
    printed, measured = figure.axes
    assert measured.get_title(loc="left") == "measured: the first 2 as printed"
    bold = [text.get_text() for text in measured.texts if text.get_fontweight() == "bold"]
    assert bold == ["1", "2"]
    assert len(printed.texts) == 20
    otherwise = plots.receive_order([plots.ArrivalOrder("measured", [2, 1], [0, 1], 0)], ["fast", "slow"])
    assert otherwise.axes[0].get_title(loc="left") == "measured: begins otherwise"


def test_more_than_two_paths_are_stacked_per_scheduler() -> None:
    scenario = plait.Scenario(
        duration="3s",
        transport=plait.Transport(protocol="cmt-sctp"),
        paths=[plait.Path(name=f"path {n}", rate="1Mbit", rtt="20ms", queue="50p") for n in range(4)],
    )
    runs = plait.compare(scenario, ["round-robin", "lowest-rtt"], series="10ms")
    figure = plots.cumulative_throughput(list(runs))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["round-robin", "lowest-rtt"]
    assert all(len(axes.collections) == 4 for axes in figure.axes)


def test_curves_are_told_apart_by_colour_or_line() -> None:
    assert len({(style.colour(index), str(style.line(index))) for index in range(16)}) == 16


def visible(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def texts(axes: Axes) -> list[Text]:
    """Returns the visible ticks, the axis labels and the title."""
    low, high = axes.get_xlim()
    ticks = [
        tick
        for place, tick in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        if low <= place <= high
    ]
    return [text for text in (*ticks, axes.xaxis.label, axes.yaxis.label, axes.title) if text.get_text()]


def test_every_axis_is_named_with_its_unit(comparison: plait.Comparison) -> None:
    for name, figure in figures(comparison).items():
        labels = [axes.get_ylabel() for axes in visible(figure)] + [
            axes.get_xlabel() for axes in visible(figure)
        ]
        assert any("(" in label or "packets" in label for label in labels), name


def test_texts_do_not_overlap(comparison: plait.Comparison) -> None:
    for name, figure in figures(comparison).items():
        figure.canvas.draw()
        boxes = [text.get_window_extent() for axes in visible(figure) for text in texts(axes)]
        boxes += [legend.get_window_extent() for legend in figure.legends]
        for index, box in enumerate(boxes):
            for other in boxes[index + 1 :]:
                shrunk = (box.x1 - 1, box.y1 - 1, box.x0 + 1, box.y0 + 1)
                apart = (
                    shrunk[0] <= other.x0
                    or other.x1 <= shrunk[2]
                    or shrunk[1] <= other.y0
                    or other.y1 <= shrunk[3]
                )
                assert apart, name


def test_the_same_run_gives_the_same_picture(comparison: plait.Comparison) -> None:
    pictures = [plots.png(plots.space_time(comparison[0], (1.0, 1.1))) for _ in range(2)]
    assert pictures[0] == pictures[1]


def test_an_empty_window_says_so(comparison: plait.Comparison) -> None:
    with pytest.raises(ValueError, match="no packet was sent"):
        plots.space_time(comparison[0], (100, 101))


def test_a_duplicate_is_shown_to_its_arrival(comparison: plait.Comparison) -> None:
    scenario = from_table(json.loads(str(comparison[0].scenario_json)))
    run = plait.run(scenario, "redundant", packets=True)
    figure = plots.space_time(run, (1.0, 1.1))
    ends = run.packets.filter(pl.col("sent_ns").is_between(1e9, 1.1e9))["duplicate_ns"]
    latest = ends.max()
    assert isinstance(latest, int)
    assert figure.axes[0].get_xlim()[1] >= latest / 1e6 - 1000


def test_files_are_written_whole_or_not_at_all(comparison: plait.Comparison, tmp_path: Path) -> None:
    figure = plots.receive_buffer([list(comparison)])
    plots.save(figure, tmp_path / "buffer.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["buffer.svg"]
    with pytest.raises(OutputError):
        plots.save(figure, tmp_path / "nowhere" / "buffer.png")


@pytest.mark.parametrize(
    ("values", "from_zero"),
    [
        ((1.0, 10.0), True),
        ((5.0, 10.0), True),
        ((6.0, 10.0), False),
        ((0.0, 0.0), True),
        ((-1.0, 10.0), False),
    ],
)
def test_an_axis_starts_at_zero_unless_differences_would_be_small(
    values: tuple[float, ...], *, from_zero: bool
) -> None:
    assert style.starts_at_zero(values) == from_zero
    figure = plots.boxes(Spread({"a": np.array(values), "b": np.array(values)}, "x", "points", ""))
    assert (figure.axes[0].get_xlim()[0] == 0) == from_zero
