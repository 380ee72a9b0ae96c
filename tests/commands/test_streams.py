"""Standard streams that are full, closed, or taken over by the script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PROGRAM = """\
import sys
sys.path[:0] = sys.argv[1:3]
from analysis.synthetic_traces import pipeline
from commands.fake_backend import FakeBackend
from tlxviz.commands import main
from tlxviz.commands.report import ReportCommand
from tlxviz.commands.run import RunCommand
sys.exit(main(sys.argv[3:], commands=[RunCommand(FakeBackend([pipeline()])), ReportCommand()]))
"""
FULL = "cannot write to stdout: no space is left on the device."
CLOSED = "cannot write to stdout: it is closed."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "script.py").write_text("print('hello')\nlaunch()\n")
    return tmp_path


def shell(folder: Path, words: str, redirection: str = "", unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} {folder / 'program.py'} {TESTS} {TESTS.parent}"
    return subprocess.run(
        f"{program} {words} {redirection}",
        shell=True,
        cwd=folder,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        text=True,
        timeout=60,
    )


def error(done: subprocess.CompletedProcess[str]) -> str:
    """The one error message; nothing else that looks like a failure may be on stderr."""
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("tlxviz: error: ")]
    return line.removeprefix("tlxviz: error: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("redirection", "reason"), [(">/dev/full", FULL), (">&-", CLOSED)])
def test_a_stdout_that_takes_nothing(folder: Path, redirection: str, reason: str) -> None:
    done = shell(folder, "run script.py", redirection)
    assert (done.returncode, error(done)) == (3, reason)
    assert (folder / "script.tlxtrace").exists()
    for words in ("report script.tlxtrace", "report --json script.tlxtrace"):
        done = shell(folder, words, redirection)
        assert (done.returncode, error(done)) == (3, reason)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_into_a_full_device(folder: Path, unbuffered: str) -> None:
    done = shell(folder, "--help", ">/dev/full", unbuffered)
    assert (done.returncode, error(done)) == (3, FULL)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
def test_a_stderr_that_takes_nothing_is_no_failure(folder: Path, redirection: str) -> None:
    done = shell(folder, "run script.py", redirection)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hello\npipeline on NVIDIA H200 SXM, simulated\n")
    assert shell(folder, "run missing.py", redirection).returncode == 2


def test_both_closed(folder: Path) -> None:
    done = shell(folder, "run script.py", ">&- 2>&-")
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


@pytest.mark.parametrize(
    "line",
    [
        "sys.stdout.close()",
        "sys.stdout = open('other.txt', 'w')",
        "sys.stdout = io.StringIO()",
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer)",
        "sys.stdout = io.TextIOWrapper(sys.stdout.detach())",
        "sys.stdout = None",
        "sys.stdout = 7",
    ],
)
def test_what_the_script_does_to_stdout_leaves_the_summary(folder: Path, line: str) -> None:
    (folder / "script.py").write_text(f"import io, sys\nprint('hello')\nlaunch()\n{line}\n")
    done = shell(folder, "run script.py")
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "trace: script.tlxtrace")
    assert done.stdout.startswith("hello\npipeline on NVIDIA H200 SXM, simulated\n")
    assert "Exception ignored" not in done.stderr


def test_what_was_printed_to_a_stdout_of_the_scripts_own_is_there(folder: Path) -> None:
    (folder / "script.py").write_text("import sys\nsys.stdout = open('other.txt', 'w')\nprint('mine')\nlaunch()\n")
    assert shell(folder, "run -q script.py").returncode == 0
    assert (folder / "other.txt").read_text() == "mine\n"


def test_a_script_that_closes_stderr(folder: Path) -> None:
    (folder / "script.py").write_text("import sys\nlaunch()\nsys.stderr.close()\n")
    done = shell(folder, "run script.py")
    assert done.returncode == 0
    assert done.stderr.startswith("trace: script.tlxtrace\n")


@pytest.mark.parametrize("line", ["", "sys.stdout.close()", "sys.stdout.close(); sys.stderr.close()"])
def test_a_script_that_closes_all_files(folder: Path, line: str) -> None:
    (folder / "script.py").write_text(f"import os, sys\nlaunch()\nos.closerange(3, 100)\n{line}\n")
    done = shell(folder, "run script.py")
    assert "Traceback" not in done.stderr
    assert (folder / "script.tlxtrace").exists()
    assert done.returncode == (3 if line else 0)


def test_a_reader_that_has_gone_is_no_failure(folder: Path) -> None:
    done = shell(folder, "--help", "| true; echo ${PIPESTATUS[0]}")
    assert "Traceback" not in done.stderr
