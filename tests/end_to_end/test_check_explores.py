"""`tlxviz check` with other schedules and sizes, as a user runs it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tlxviz.check.shapes import Shape
from tlxviz.commands import main
from tlxviz.commands.shape_worker import Job, Worker
from tlxviz.trace import load_trace

pytest.importorskip("triton.language.extra.tlx")
FAULTS = Path(__file__).parents[1] / "faults"
Capture = pytest.CaptureFixture[str]

DYING = """
import os, sys
count = int(sys.argv[1])
if count == 0:
    os._exit(3)
assert count != 1, "one is too few"
print("fine")
"""


def test_a_script_that_ends_its_process_ends_no_other(tmp_path: Path):
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    worker = Worker(Job(script, "h200", False, (), 1.0, None), time.monotonic() + 100)
    try:
        assert worker.run(Shape(("0",))) == "its process ended"
        tried, _ = worker.run(Shape(("1",)))  # pyright: ignore[reportAssignmentType]
        assert "one is too few" in tried.refused
        tried, _ = worker.run(Shape(("2",)))  # pyright: ignore[reportAssignmentType]
        assert not tried.refused
    finally:
        worker.end()


def test_a_schedule_again_with_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture):
    monkeypatch.chdir(tmp_path)
    script = str(FAULTS / "const_phase.py")
    assert main(["check", "--device", "sim:h100", "--replay", "w0=250", "-o", "hang.tlxtrace", script]) == 1
    said = capsys.readouterr()
    assert "schedule w0=250" in said.out
    assert "tlxviz view hang.tlxtrace" in said.err
    (launch,) = load_trace(tmp_path / "hang.tlxtrace").launches
    assert launch.hang is not None
    assert {waiter["agent"] for waiter in launch.hang["waiters"]} >= {"compute", "store"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["-o", "x.tlxtrace"], "--replay usual"),
        (["--replay", "w1"], "is no schedule"),
        (["--schedules", "0"], "0"),
        (["--explore", "soon"], "is no number of seconds"),
    ],
)
def test_wrong_options(words: list[str], text: str, capsys: Capture):
    assert main(["check", *words, "script.py"]) == 2
    assert text in capsys.readouterr().err


@pytest.mark.slow
def test_a_nasty_size_is_found_and_made_small(capsys: Capture):
    script = str(FAULTS / "tail_toggle.py")
    words = ["--device", "sim:h100", "--explore", "40", script, "--tiles", "1", "--steps", "1"]
    assert main(["check", *words]) == 1
    said = capsys.readouterr()
    assert "the script shows it with --tiles 2 --steps 1" in " ".join(said.out.split())
    assert "explored" in said.err
