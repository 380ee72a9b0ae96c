"""`pytest --tlxviz-check`: suites in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tlxviz._triton import toolchain

ROOT = Path(__file__).parents[2]
INSTALLED = any(each.value == "tlxviz.embedded.pytest_plugin" for each in entry_points(group="pytest11"))
SUITE = """
import sys
sys.path.insert(0, {faults!r})
import pytest, torch
import const_phase, missing_arrive

def race(fixed=False):
    return const_phase.launch(fixed, 4, 1)

@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_right():
    made, expected = race(fixed=True)
    assert torch.equal(made, expected)

def test_race():
    race()

def test_race_that_the_test_sees():
    made, expected = race()
    assert torch.equal(made, expected), "they differ"

def test_hang_that_the_test_catches():
    with pytest.raises(Exception):
        missing_arrive.launch(False, **missing_arrive.CASE.params)

@pytest.fixture
def made():
    return race()

def test_race_of_a_fixture(made):
    pass

def test_nothing_launched():
    pass
"""


def run(folder: Path, suite: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_suite.py").write_text(suite)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugin = [] if INSTALLED else ["-p", "tlxviz.embedded.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *plugin, *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def outcomes(output: str) -> dict[str, str]:
    """Test to what became of it."""
    lines = [line.split() for line in output.partition("short test summary info")[2].splitlines()]
    return {words[1].partition("::")[2]: words[0] for words in lines if len(words) > 1 and "::" in words[1]}


@pytest.fixture
def faults() -> str:
    pytest.importorskip("triton.language.extra.tlx")
    if toolchain().distribution != "fbtriton":
        pytest.skip("the kernels are for the TLX of fbtriton")
    return SUITE.format(faults=str(ROOT / "tests" / "faults"))


def test_tests_fail_by_what_is_found_in_their_launches(tmp_path: Path, faults: str):
    ran = run(tmp_path, faults, "--tlxviz-check", "--tlxviz-device", "sim:h100")
    assert ran.returncode == 1, ran.stderr
    out = ran.stdout
    assert "tlxviz: every kernel launch is checked, on a simulated NVIDIA H100 SXM" in out
    assert outcomes(out) == {
        "test_right": "PASSED",
        "test_race": "FAILED",
        "test_race_that_the_test_sees": "FAILED",
        "test_hang_that_the_test_catches": "FAILED",
        "test_race_of_a_fixture": "ERROR",
        "test_nothing_launched": "PASSED",
    }
    assert "FAILED test_suite.py::test_race - Failed: tlxviz check: parity" in out
    assert "      31 | tlx.local_store(staging[t % S], x + x)\n         | ^~~~~~~~~~~~~~~\n" in out
    assert "AssertionError: they differ" in out
    assert "- Captured tlxviz check call -" in out
    assert "ERROR test_suite.py::test_race_of_a_fixture - Failed: tlxviz check: parity" in out
    assert " errors in 2 kernels, 3 launches" in out.partition(" tlxviz check =")[2]
    assert "tlxviz/check" not in out  # frames of tlxviz


def test_without_the_option_nothing_is_imported(tmp_path: Path):
    suite = """
import json, sys

def test_modules():
    heavy = {"torch", "triton", "numpy", "rich", "tlxviz.check", "tlxviz.sim", "tlxviz.launch"}
    print("MODULES", json.dumps(sorted(heavy & set(sys.modules))))
    print("PLUGIN", "tlxviz.embedded.pytest_plugin" in sys.modules)
"""
    ran = run(tmp_path, suite)
    assert ran.returncode == 0, ran.stdout
    [loaded] = [line for line in ran.stdout.splitlines() if line.startswith("MODULES")]
    assert json.loads(loaded.removeprefix("MODULES")) == []
    assert "PLUGIN True" in ran.stdout
    said = [line for line in ran.stdout.partition("MODULES")[0].splitlines() if not line.startswith("plugins:")]
    assert "tlxviz" not in "\n".join(said)


def test_a_device_that_does_not_exist(tmp_path: Path):
    pytest.importorskip("triton")
    ran = run(tmp_path, "def test_nothing(): pass", "--tlxviz-check", "--tlxviz-device", "sim:none")
    assert ran.returncode == 4
    assert "ERROR: there is no device 'none'. Devices:" in ran.stderr


def test_warnings_fail_where_it_is_asked_for(tmp_path: Path, faults: str):
    suite = faults.partition("import const_phase")[0] + "import swapped_offsets\n\ndef test_it():\n"
    suite += "    swapped_offsets.launch(False, **swapped_offsets.CASE.params)\n"
    words = ("--tlxviz-check", "--tlxviz-device", "h100")
    assert outcomes(run(tmp_path, suite, *words).stdout) == {"test_it": "PASSED"}
    assert outcomes(run(tmp_path, suite, *words, "--tlxviz-strict").stdout) == {"test_it": "FAILED"}


def test_workers_of_xdist_check_too(tmp_path: Path, faults: str):
    pytest.importorskip("xdist")
    words = ("--tlxviz-check", "--tlxviz-device", "h100", "-n", "1", "-k", "test_race or test_right")
    made = outcomes(run(tmp_path, faults, *words).stdout)
    assert (made["test_right"], made["test_race"], made["test_race_of_a_fixture"]) == ("PASSED", "FAILED", "ERROR")
