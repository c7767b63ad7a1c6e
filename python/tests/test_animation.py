"""`plait plot --kind animation`: packets move at the recorded times."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import DSL_AND_LTE, Command

import plait
from plait import plots
from plait.plots.animation import REST

WINDOW = (0.3, 0.35)
SECONDS = 4.0
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[plait.Result]:
    file = tmp_path_factory.mktemp("animation") / "links.toml"
    file.write_text(f'duration = "800ms"\n{DSL_AND_LTE}')
    return [plait.run(file, one, packets=True) for one in ("lowest-rtt", "round-robin")]


def track(element: ElementTree.Element, name: str) -> list[tuple[float, str]]:
    """Returns an attribute's values with their times in seconds of the animation."""
    (found,) = (one for one in element.iter(f"{SVG}animate") if one.get("attributeName") == name)
    assert found.get("dur") == f"{SECONDS + REST:g}s"
    times = [float(share) * (SECONDS + REST) for share in found.attrib["keyTimes"].split(";")]
    return list(zip(times, found.attrib["values"].split(";"), strict=True))


def test_packets_leave_and_arrive_at_the_recorded_times(runs: list[plait.Result], tmp_path: Path) -> None:
    plots.animate(runs, WINDOW, tmp_path / "a.svg", seconds=SECONDS)
    root = ElementTree.fromstring((tmp_path / "a.svg").read_text())
    drawn = [one for one in root.iter(f"{SVG}circle") if one.get("class") == "packet"]
    start, end = (round(second * 1e9) for second in WINDOW)
    frames = [
        one.packets.filter((one.packets["sent_ns"] >= start) & (one.packets["sent_ns"] < end)) for one in runs
    ]
    last = max(
        row[name] or 0
        for frame in frames
        for row in frame.iter_rows(named=True)
        for name in ("sent_ns", "arrived_ns", "delivered_ns")
    )
    scale = SECONDS / (last - start)
    wanted = sorted(
        (row["path"] * 2 + column, (row["sent_ns"] - start) * scale, (row["arrived_ns"] - start) * scale)
        for column, frame in enumerate(frames)
        for row in frame.iter_rows(named=True)
        if row["arrived_ns"] is not None
    )
    found, heights = [], set()
    for one in drawn:
        xs, ys, panel = track(one, "cx"), track(one, "cy"), int(one.attrib["data-panel"])
        found.append((panel, xs[1][0], xs[2][0]))
        heights.add((panel, ys[1][1], ys[2][1]))
        # The place along the axis of time is that of the cover's edge.
        cover = track([r for r in root.iter(f"{SVG}rect") if r.find(f"{SVG}animate") is not None][panel], "x")
        speed = (float(cover[1][1]) - float(cover[0][1])) / cover[1][0]
        for time, x in xs[1:3]:
            assert float(x) == pytest.approx(float(cover[0][1]) + speed * time, abs=0.02)
    assert len(found) == len(wanted) > 20
    assert sorted(found) == [pytest.approx(one, abs=1e-5) for one in wanted]
    # Every packet of a panel leaves one line and arrives at one other line.
    assert len(heights) == len({panel for panel, _, _ in wanted})


def test_the_same_runs_give_the_same_bytes(runs: list[plait.Result], tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        plots.animate(runs, WINDOW, tmp_path / name, seconds=SECONDS)
    first = (tmp_path / "a.svg").read_bytes()
    assert first == (tmp_path / "b.svg").read_bytes()
    assert b"http" not in first.replace(b"http://www.w3.org/", b"").split(b"</metadata>")[1]


def test_a_gif_has_frames(runs: list[plait.Result], tmp_path: Path) -> None:
    from PIL import Image

    plots.animate(runs[0], WINDOW, tmp_path / "a.gif", seconds=1.0)
    with Image.open(tmp_path / "a.gif") as image:
        assert getattr(image, "n_frames", 1) > 10


def test_the_command_draws_or_says_what_is_missing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "links.toml").write_text(f'duration = "800ms"\n{DSL_AND_LTE}')
    done = command("compare", "links.toml", "--schedulers", "ecf,blest", "--out", "out")
    assert done.returncode == 0, done.stderr
    kind = ("plot", "out", "--kind", "animation", "--window")
    done = command(*kind, "0.3,0.35", "--schedulers", "blest", "-o", "a.svg")
    assert (done.returncode, done.stderr) == (0, "wrote a.svg\n")
    assert "blest" in (tmp_path / "a.svg").read_text()
    monkeypatch.setattr("shutil.which", lambda _: None)
    for arguments, message in (
        ((*kind, "0.3,0.35", "-o", "a.mp4"), "needs the program ffmpeg"),
        ((*kind, "0.3,0.35", "-o", "a.pdf"), "expected one that ends in .svg, .gif, .mp4"),
        ((*kind, "0.3", "-o", "a.svg"), "expected FROM,TO in seconds"),
        ((*kind, "7,8", "-o", "a.svg"), "no packet was sent between 7 s and 8 s"),
        ((*kind, "0.3,0.35", "--schedulers", "esf", "-o", "a.svg"), "'esf': unknown (did you mean ecf?)"),
        (("plot", "out", "--kind", "animation", "-o", "a.svg"), "needs --window FROM,TO"),
        (("plot", "out", "--kind", "cdf", "-o", "a.svg"), "--kind cdf needs --metric"),
    ):
        done = command(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
