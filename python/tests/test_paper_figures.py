"""The figures of papers: differences, distributions, boxes, maps; of sweeps and of results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import DSL_AND_LTE, Command
from matplotlib.collections import QuadMesh

import plait
from plait import plots
from plait.analysis import analyze
from plait.plots import style
from plait.plots.spread import Spread
from plait.results.delays import delays
from plait.results.recorded import read_results
from plait.results.writing import write_result
from plait.runs.experiment import grid
from plait.runs.run import run_tasks
from plait.sweep import Dataset, dataset_of, read, sweep

LINKS = f'duration = "400ms"\n{DSL_AND_LTE}'
PLAN = """
scenario = "links.toml"
schedulers = ["lowest-rtt", "round-robin", "blest"]
seeds = 2
set = { "path.lte.rtt" = "{rtt}ms", "transport.receive_buffer" = "{buffer}kB" }
[[axis]]
rtt = [20, 80, 200]
[[axis]]
buffer = [32, 64]
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("figures")
    (folder / "links.toml").write_text(LINKS)
    (folder / "plan.toml").write_text(PLAN)
    return read(sweep(folder / "plan.toml", folder / "set").folder)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    (tmp_path / "links.toml").write_text(LINKS)
    tasks = grid(
        plait.load(tmp_path / "links.toml"), ["blest", "round-robin"], [1, 2, 3], perturb=True, packets=True
    )
    for number, result in enumerate(run_tasks(tasks)):
        write_result(result, tmp_path / "out" / str(number))
    return tmp_path / "out"


def test_differences_are_those_of_analyze(dataset: Dataset) -> None:
    """Delays, of which less is better, count as gains where they are shorter."""
    (axes,) = plots.paired_differences(dataset, "app_delay_ms", baseline="round-robin").axes
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["lowest-rtt", "blest"]
    label = axes.get_xlabel().replace("\n", " ")
    assert label == "mean application delay: better than round-robin by (ms)"
    found = analyze(dataset, metrics=["app_delay_ms.mean"], baseline="round-robin")
    gains = [one.turned(-1).difference for one in found.metrics[0].whole.comparisons]
    assert any(one.value != 0 for one in gains)
    for one, drawn in zip(gains, axes.containers, strict=True):
        point, _, (bar,) = drawn.lines  # type: ignore[attr-defined]
        assert point.get_xdata() == pytest.approx([one.value])
        low, high = one.interval or (one.value, one.value)
        assert bar.get_segments()[0][:, 0] == pytest.approx([low, high])
        sure = one.interval is not None and not low <= 0 <= high
        assert (point.get_color() == style.colour(0)) == sure


def test_differences_over_a_variable_are_those_of_its_regions(dataset: Dataset) -> None:
    (axes,) = plots.difference_curves(dataset, "rtt", "goodput", percent=True).axes
    found = analyze(dataset, metrics=["goodput_bps"], by=["rtt"])
    drawn = {str(one.get_label()): one for one in axes.get_lines()}
    for place, name in enumerate(("round-robin", "blest")):
        changes = [part.comparisons[place].change for part in found.metrics[0].regions]
        assert list(drawn[name].get_xdata()) == [20, 80, 200]  # type: ignore[arg-type]
        assert drawn[name].get_ydata() == pytest.approx([one.value if one else None for one in changes])


def test_maps_have_the_gains_of_both_variables(dataset: Dataset) -> None:
    figure = plots.heat_map(dataset, "rtt", "buffer", "goodput", baseline="lowest-rtt", width="page")
    panels = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in panels] == ["round-robin", "blest"]
    assert [text.get_text() for text in panels[0].get_xticklabels()] == ["20", "80", "200"]
    regions = analyze(dataset, metrics=["goodput_bps"], by=["rtt", "buffer"]).metrics[0].regions
    for place, axes in enumerate(panels):
        (mesh,) = [one for one in axes.collections if isinstance(one, QuadMesh)]
        values = np.asarray(mesh.get_array())
        assert values.shape == (2, 3)
        changes = [part.comparisons[place].change for part in regions]
        assert values.T.ravel() == pytest.approx([one.value for one in changes if one is not None])
        unsure = [not part.comparisons[place].beyond_chance for part in regions]
        assert len(axes.patches) == sum(unsure)


def test_distributions_have_a_value_per_point(dataset: Dataset) -> None:
    spread = plots.spread_of(dataset, "goodput", ["blest", "round-robin"])
    frame = dataset.frame.filter(scheduler="blest")
    means = sorted(float(one["goodput_bps"].mean()) / 1e6 for _, one in frame.group_by("point"))  # type: ignore[arg-type]
    (axes,) = plots.cumulative(spread).axes
    drawn = {str(one.get_label()): one for one in axes.get_lines()}
    assert list(drawn) == ["blest", "round-robin"]
    assert list(drawn["blest"].get_xdata()) == pytest.approx(means)  # type: ignore[arg-type]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("goodput (Mbit/s)", "share of points")
    (boxes,) = plots.boxes(spread).axes
    medians = [one for one in boxes.get_lines() if one.get_linewidth() == 1.2]
    assert medians[0].get_xdata() == pytest.approx([np.median(means)] * 2)
    over = plots.boxes_over(dataset, "rtt", "goodput").axes[0]
    assert len([one for one in over.get_lines() if one.get_linewidth() == 1.2]) == 9


def test_results_have_figures_too(results: Path) -> None:
    held = dataset_of(results)
    assert (held.schedulers, held.runs, held.variables) == (["blest", "round-robin"], 6, [])
    assert plots.paired_differences(held, "goodput").axes[0].get_yticklabels()[0].get_text() == "round-robin"
    spread = plots.spread_of_packets(read_results(results), "app_delay")
    expected = sum(
        len(delays(one)["app_delay_ms"]) for one in read_results(results) if one.scheduler == "blest"
    )
    assert (len(spread.values["blest"]), spread.of) == (expected, "packets")
    first = read_results(results)[0]
    assert delays(first)["app_delay_ms"].mean() == pytest.approx(
        first.metrics["app_delay_ms"]["mean"], rel=1e-3
    )
    with pytest.raises(plait.ScenarioError, match="results, without variables"):
        plots.sweep_curves(held, "rtt", "goodput")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "heatmap", "--x", "rtt"), "--kind heatmap needs --y"),
        (
            (),
            "--kind curves (the default) needs --x, a variable of a sweep; without --x: differences, cdf, box",
        ),
        (
            ("--kind", "cdf", "--x", "rtt"),
            "--x goes with --kind curves, differences, box, heatmap; got --kind cdf",
        ),
        (("--kind", "box", "--packets", "--x", "rtt"), "--packets and --x exclude each other"),
        (("--kind", "differences", "--baseline", "esf"), "scheduler 'esf': unknown"),
    ],
)
def test_options_without_effect_are_refused(
    dataset: Dataset, command: Command, options: tuple[str, ...], message: str
) -> None:
    done = command("plot", str(dataset.folder), "--metric", "goodput", "-o", "f.pdf", *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr


def test_logarithmic_axes_have_no_zero(dataset: Dataset) -> None:
    zero = Dataset(dataset.folder, dataset.about, dataset.lazy.with_columns(rtt=pl.col("rtt") - 20))
    for draw in (plots.sweep_curves, plots.difference_curves):
        draw(zero, "rtt", "goodput")
        with pytest.raises(plait.ScenarioError, match="--log: rtt has a value of 0; expected only values"):
            draw(zero, "rtt", "goodput", log=True)
    none = Spread({"blest": np.array([0.0, 1.0])}, "goodput", "points", "")
    for draw_one in (plots.cumulative, plots.boxes):
        with pytest.raises(plait.ScenarioError, match="--log: blest has a value of 0; expected only values"):
            draw_one(none, log=True)


def test_the_command_draws_every_kind(dataset: Dataset, command: Command, tmp_path: Path) -> None:
    for kind, options in {
        "differences": ("--percent",),
        "cdf": ("--log",),
        "box": (),
        "heatmap": ("--x", "rtt", "--y", "buffer"),
    }.items():
        done = command(
            "plot", str(dataset.folder), "--kind", kind, "--metric", "goodput", "-o", f"{kind}.pdf", *options
        )
        assert (done.returncode, done.stderr) == (0, f"wrote {kind}.pdf\n")
        assert (tmp_path / f"{kind}.pdf").read_bytes().startswith(b"%PDF")
