from __future__ import annotations

import io

import pytest

from tlxviz.commands.progress import LaunchProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def simulate(progress: LaunchProgress, clock: Clock, seconds: float, total: int = 10) -> None:
    for done in range(total + 1):
        progress("gemm", done, total)
        clock.now += seconds / total


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Not a fixture: pytest sets stderr itself between a fixture and the test."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_a_long_launch_shows_ctas_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    with LaunchProgress(clock=clock) as progress:
        simulate(progress, clock, 20)
    shown = terminal.getvalue()
    assert "simulating gemm" in shown
    assert "1/10" in shown
    assert "18 s left" in shown


def test_a_short_launch_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    with LaunchProgress(clock=clock) as progress:
        simulate(progress, clock, 0.9)
        clock.now += 60
        simulate(progress, clock, 0.9)
    assert terminal.getvalue() == ""


def test_no_terminal_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    clock = Clock()
    with LaunchProgress(clock=clock) as progress:
        simulate(progress, clock, 20)
    assert stream.getvalue() == ""


def test_an_interrupted_launch_leaves_the_screen_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    clock = Clock()
    progress = LaunchProgress(clock=clock)

    def interrupted() -> None:
        with progress:
            progress("gemm", 0, 10)
            clock.now = 5
            progress("gemm", 1, 10)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith("\x1b[2K")  # the bar's line is erased
