import io
import sys

import pytest

from plait.support import progress
from plait.support.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replaces standard error by a terminal.

    The test itself has to call this, because pytest sets standard error after the fixtures.
    """
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_short_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    with Progress("working") as bar:
        bar.update(0.5)
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("working") as bar:
        bar.update(0.5)
        bar.update(1.0)
    assert "working" in terminal.getvalue()


def test_work_of_which_it_is_known_that_it_is_long_shows_a_bar_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("working", patience=0.0) as bar:
        bar.update(0.0)
        assert "working" in terminal.getvalue()


def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watch(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(Progress, "quiet", True)
    with Progress("working") as bar:
        bar.update(0.5)
    assert terminal.getvalue() == ""


def test_no_bar_where_nobody_watches(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.0)
    with Progress("working") as bar:
        bar.update(0.5)
    assert capsys.readouterr() == ("", "")


def test_long_work_without_a_terminal_writes_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("plait.support.progress.time.monotonic", lambda: now)
    with Progress("sweeping", 1_000, "runs", lines=True) as bar:
        bar.update(400)  # work from earlier does not count for the speed
        now = 29.0
        bar.update(450)
        assert capsys.readouterr().err == ""
        now = 60.0
        bar.update(500)
        now = 61.0
        bar.update(501)
        assert capsys.readouterr().err == "sweeping: 50% (500 of 1,000 runs), about 5 min left\n"
        monkeypatch.setattr(Progress, "quiet", True)
        now = 200.0
        bar.update(600)
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (89.0, "89 s"), (95.0, "2 min"), (5_399.0, "90 min"), (9_000.0, "2.5 h")],
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert progress.span(seconds) == text
