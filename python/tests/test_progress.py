import io
import sys

import pytest

from plait.support import progress
from plait.support.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watch(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error; to be called by the test itself, as pytest sets its own after the fixtures."""
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
