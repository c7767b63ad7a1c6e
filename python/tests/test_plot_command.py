"""`plait plot`, and figures suitable for papers."""

from __future__ import annotations

import itertools
import re
import zlib
from pathlib import Path

import numpy as np
import pytest
from conftest import DSL_AND_LTE, Command
from matplotlib.colors import to_rgba

import plait
from plait import plots
from plait.plots import style
from plait.plots.sweep import sweep_curves
from plait.statistics.estimate import mean
from plait.sweep import Dataset, read, sweep

LINKS = f'duration = "400ms"\n{DSL_AND_LTE}'
PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "round-robin", "blest", "ecf"]
seeds = 2
set = { "path.lte.rtt" = "{rtt}ms", "transport.receive_buffer" = "{buffer}kB" }
[[axis]]
rtt = [20, 80, 200]
[[axis]]
buffer = [64, 256]
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("plot")
    (folder / "links.toml").write_text(LINKS)
    (folder / "plan.toml").write_text(PLAN)
    return read(sweep(folder / "plan.toml", folder / "set").folder)


def words(pdf: bytes) -> bytes:
    """Returns a PDF with its compressed streams unpacked."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    plain = []
    for one in streams:
        try:
            plain.append(zlib.decompress(one))
        except zlib.error:
            continue
    return pdf + b"\n".join(plain)


def test_pdf_and_svg_have_real_fonts(dataset: Dataset, tmp_path: Path) -> None:
    figure = sweep_curves(dataset, "rtt", "goodput")
    plots.save(figure, str(tmp_path / "saved.pdf"))
    figure.savefig(tmp_path / "own.pdf")
    for name in ("saved.pdf", "own.pdf"):
        found = words((tmp_path / name).read_bytes())
        assert b"/Type3" not in found
        assert b"/FontFile2" in found, "TrueType"
    plots.save(figure, tmp_path / "saved.svg")
    text = (tmp_path / "saved.svg").read_text()
    assert "round-robin</text>" in text
    with pytest.raises(plait.ScenarioError, match=r"expected one that ends in \.pdf, \.svg, \.png"):
        plots.save(figure, tmp_path / "figure.doc")


def test_without_the_setting_fonts_would_be_drawn(dataset: Dataset, tmp_path: Path) -> None:
    """Ensures that the test above can fail."""
    figure = sweep_curves(dataset, "rtt", "goodput")
    super(style.NotebookFigure, figure).savefig(tmp_path / "bare.pdf")  # type: ignore[misc]
    assert b"/Type3" in words((tmp_path / "bare.pdf").read_bytes())


def test_curves_are_the_means_of_points(dataset: Dataset) -> None:
    figure = sweep_curves(dataset, "rtt", "goodput", schedulers=["ecf", "blest"])
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rtt (ms)", "goodput (Mbit/s)")
    drawn = {str(curve.get_label()): curve for curve in axes.get_lines()}
    assert list(drawn) == ["ecf", "blest"]
    frame = dataset.frame
    for name, curve in drawn.items():
        assert list(curve.get_xdata()) == [20, 80, 200]  # type: ignore[arg-type]
        for place, value in zip((20, 80, 200), curve.get_ydata(), strict=True):  # type: ignore[arg-type]
            rows = frame.filter(scheduler=name, rtt=place)
            points = [one["goodput_bps"].mean() for _, one in rows.group_by("point")]
            assert value == pytest.approx(mean(points).value / 1e6)  # type: ignore[arg-type]


def test_long_bands_do_not_flatten_the_curves(dataset: Dataset) -> None:
    """At each value of `rtt`, there are two points, whose intervals reach far beyond the means."""
    (axes,) = sweep_curves(dataset, "rtt", "goodput", schedulers=["lowest-rtt", "blest"]).axes
    highest = max(np.asarray(line.get_ydata(), dtype=float).max() for line in axes.lines)
    bands = max(np.asarray(band.get_paths()[0].vertices)[:, 1].max() for band in axes.collections)
    assert bands > 2 * highest
    assert axes.get_ylim() == pytest.approx((0, 2 * highest))
    assert "bands cut" in [text.get_text() for text in axes.texts]


def test_more_schedulers_have_a_panel_each(dataset: Dataset) -> None:
    figure = sweep_curves(dataset, "rtt", "app_delay_ms", width="page")
    assert [axes.get_title(loc="left") for axes in figure.axes] == dataset.schedulers
    for axes in figure.axes:
        coloured = [curve for curve in axes.get_lines() if curve.get_color() == style.colour(0)]
        assert (len(coloured), len(axes.get_lines())) == (1, 4)
        assert coloured[0].get_label() == axes.get_title(loc="left")


@pytest.mark.parametrize(("width", "inches"), [("column", 3.33), ("page", 7.0), ("ieee-page", 7.16)])
def test_figures_are_as_wide_as_columns(dataset: Dataset, width: str, inches: float) -> None:
    for schedulers in ((), ("ecf", "blest")):
        figure = sweep_curves(
            dataset, "rtt", "goodput", schedulers=schedulers, width=width, note="word " * 60
        )
        assert figure.get_figwidth() == inches
        figure.draw_without_rendering()
        below = figure._supxlabel  # type: ignore[attr-defined]
        assert below.get_window_extent().x1 <= figure.bbox.x1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1350.0, "1\u2009350"),
        (-0.0, "0"),
        (-2.5, "\u22122.5"),
        (0.1 + 0.2, "0.3"),
        (1e6, "1\u2009000\u2009000"),
    ],
)
def test_numbers_have_no_exponent_and_no_negative_zero(value: float, text: str) -> None:
    assert style.plain(value) == text


def test_the_command_writes_what_it_says_and_says_what_it_wrote(dataset: Dataset, command: Command) -> None:
    folder = str(dataset.folder)
    done = command("plot", folder, "--x", "rtt", "--metric", "goodput", "-o", "fig.svg", "--width", "page")
    note = "intervals also contain the effect of buffer; --where buffer=VALUE takes one value\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"{note}wrote fig.svg\n")
    for wrong, message in (
        (("--x", "rt", "--metric", "goodput"), "variable 'rt': unknown (did you mean rtt?)"),
        (("--x", "rtt", "--metric", "goodputt"), "metric 'goodputt': unknown (did you mean goodput_bps?)"),
        (
            ("--x", "rtt", "--metric", "goodput", "--schedulers", "esf"),
            "scheduler 'esf': unknown (did you mean ecf?)",
        ),
    ):
        done = command("plot", folder, *wrong, "-o", "fig.pdf")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr


@pytest.mark.parametrize(
    ("seeds", "said"),
    [(8, ""), (2, "segments: 8 values in 2 slices, because a value has fewer than 8 runs\n")],
)
def test_listed_values_are_points_of_the_curve_or_are_said_to_be_slices(
    seeds: int, said: str, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "links.toml").write_text(LINKS)
    (tmp_path / "plan.toml").write_text(f"""
scenario = "links.toml"
schedulers = ["lowest-rtt", "round-robin:segments={{segments}}"]
seeds = {seeds}
[[axis]]
segments = [1, 2, 3, 4, 5, 6, 7, 8]
""")
    assert command("sweep", "plan.toml", "--out", "set").returncode == 0
    for kind in ("curves", "differences", "box"):
        asked = ("plot", "set", "--kind", kind, "--x", "segments", "--metric", "goodput", "-o", "fig.svg")
        done = command(*asked)
        assert (done.returncode, done.stderr) == (0, f"{said}wrote fig.svg\n")
    done = command("plot", "set", "--x", "segments", "--metric", "goodputt", "-o", "fig.svg")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), "a mistake has one line"
    (axes,) = sweep_curves(read(tmp_path / "set"), "segments", "goodput").axes
    assert {len(curve.get_xdata()) for curve in axes.get_lines()} == {2 if said else 8}  # type: ignore[arg-type]


def test_plan_and_command_stand_in_the_figure_if_asked(
    dataset: Dataset, command: Command, tmp_path: Path
) -> None:
    asked = ("plot", str(dataset.folder), "--x", "rtt", "--metric", "goodput", "-o", "fig.svg")
    for caption in ((), ("--caption",)):
        command(*asked, *caption)
        text = " ".join(re.findall(r">([^<>]+)</t", (tmp_path / "fig.svg").read_text()))
        assert "rtt (ms)" in text
        for word in (f"{read(dataset.folder).name}: 48 runs", "--metric goodput"):
            assert (word in text) == bool(caption)
    command(*asked, "--x-label", "round trip of LTE")
    text = " ".join(re.findall(r">([^<>]+)</t", (tmp_path / "fig.svg").read_text()))
    assert "rtt (ms)" not in text
    assert "round trip of LTE" in text


def test_schedulers_stand_beside_each_other_and_say_what_was_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(LINKS)
    done = command("compare", "links.toml", "--schedulers", "blest,ecf", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "comparison-links.png").read_bytes().startswith(b"\x89PNG")
    runs = plait.compare(tmp_path / "links.toml", ["blest", "ecf", "daps"])
    figure = plots.beside(list(runs))
    assert [axes.get_title(loc="left").split("\n") for axes in figure.axes] == [
        ["goodput (Mbit/s)", "more is better"],
        ["mean application delay (ms)", "less is better"],
        ["95 % application delay (ms)", "less is better"],
        ["mean receive buffer (packets)", "less is better"],
    ]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["blest", "ecf", "daps"]
    goodputs = [one.metrics["goodput_bps"] for one in runs]
    bars = figure.axes[0].patches
    assert [bar.get_width() for bar in bars] == pytest.approx([value / 1e6 for value in goodputs])  # type: ignore[attr-defined]
    assert len({bar.get_facecolor() for bar in bars}) == 1, (
        "blest and ecf have the same goodput: nobody is best"
    )
    blest, daps = plots.beside([runs[0], runs[2]]).axes[0].patches
    assert goodputs[0] > 1.01 * goodputs[2]
    assert (blest.get_facecolor(), daps.get_facecolor()) == (
        to_rgba(style.colour(0)),
        bars[2].get_facecolor(),
    )


def test_one_run_has_no_figure_beside_others(command: Command, tmp_path: Path) -> None:
    (tmp_path / "links.toml").write_text(LINKS)
    assert command("run", "links.toml", "--out", "out").returncode == 0
    assert not list((tmp_path / "out").glob("*.png"))
    assert list((tmp_path / "out").glob("*/space-time.png"))


def test_titles_do_not_cover_each_other() -> None:
    paths = [plait.Path(rate="1Mbit", rtt="20ms"), plait.Path(rate="2Mbit", rtt="40ms")]
    runs = plait.compare(plait.Scenario(duration="300ms", paths=paths), ["blest", "ecf"])
    figure = plots.beside(list(runs))
    figure.draw_without_rendering()
    titles = [axes._left_title.get_window_extent() for axes in figure.axes]  # type: ignore[attr-defined]
    assert all(one.x1 < other.x0 for one, other in itertools.pairwise(titles))


@pytest.mark.parametrize("count", [2, 3])
def test_the_warm_up_is_marked_where_time_runs(count: int) -> None:
    paths = [plait.Path(rate="1Mbit", rtt="20ms") for _ in range(count)]
    for warmup, marks in (("700ms", [0.7]), ("0s", [])):
        scenario = plait.Scenario(duration="3s", warmup=warmup, paths=paths)
        runs = list(plait.compare(scenario, ["ecf"], series="100ms"))
        for figure in (plots.cumulative_throughput(runs), plots.receive_buffer([runs])):
            for axes in figure.axes:
                found = [one for one in axes.patches if one.get_gid() == "warm-up"]
                assert [
                    one.get_extents().transformed(axes.transData.inverted()).x1 for one in found
                ] == pytest.approx(marks)
        inside = plots.receive_buffer([runs], window=(1.0, 2.0))
        assert inside.axes[0].get_xlim() == (1.0, 2.0)
        assert not inside.axes[0].patches
