"""Scripts of the kinds that everybody has: tutorials with benchmarks, models, suites of tests, modules, bad endings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tlxviz.commands import main
from tlxviz.trace import load_trace

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
TUTORIALS = SCRIPTS / "tutorials"
WITHOUT_PLOTS = find_spec("pandas") is None or find_spec("matplotlib") is None

Ran = tuple[int, str, str]
"""Status, stdout, stderr."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run the program here; its folder is empty before."""
    monkeypatch.chdir(tmp_path)

    def run_here(*arguments: object) -> Ran:
        status = main(["run", "--device", "sim:h200", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run_here


def tlxviz(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    # What this pytest was told is not for those that the program runs.
    outer = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), "run", "--device", "sim:h200", *map(str, arguments)],
        cwd=folder,
        env=outer | {"COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def lines_before_json(text: str) -> list[str]:
    *lines, last = text.splitlines()
    assert json.loads(last)["launches"]
    return lines


def header_of(line: str) -> list[str]:
    """Column titles, which may have one space each."""
    return [each.strip() for each in line.split("  ") if each.strip()]


# The five tutorials


def test_vector_add(run: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    status, out, err = run("--json", TUTORIALS / "vector_add.py")

    assert status == 0, err
    agrees, title, header, *rows = lines_before_json(out)
    assert agrees == "largest difference 0.0"
    assert title == "vector-add:"
    assert header_of(header) == ["size", "Triton (GB/s)", "Torch (GB/s)"]
    assert [row.split()[:2] for row in rows] == [["0", "4096.0"], ["1", "32768.0"]]
    small, large = (float(row.split()[2]) for row in rows)
    assert 1 < small < large < 5000
    saved = (tmp_path / "plots" / "vector-add.csv").read_text().splitlines()
    assert saved[0] == "size,Triton (GB/s),Torch (GB/s)"
    assert saved[1].startswith(f"4096.000000,{small:.6f},")
    if WITHOUT_PLOTS:
        assert "perf_report's tables were not plotted, which needs " in err
    assert "kernel add_vectors is autotuned: 3 configurations timed" in err


def test_fused_softmax(run: Callable[..., Ran]) -> None:
    status, out, err = run("--json", TUTORIALS / "fused_softmax.py")

    assert status == 0, err
    first, agrees, second, title, header, *rows = lines_before_json(out)
    assert (first, agrees, second) == ("block 1024: True, spills 0", "softmax agrees", "block 256: True, spills 0")
    assert (title, header_of(header)[0], len(rows)) == ("softmax-performance:", "N", 2)
    assert "not plotted" not in err  # nobody asked for a plot
    (launch,) = load_trace("fused_softmax.tlxtrace").launches
    assert launch.grid == (183, 1, 1)


def test_matmul(run: Callable[..., Ran]) -> None:
    status, out, err = run("--json", TUTORIALS / "matmul.py")

    assert status == 0, err
    lines = lines_before_json(out)
    assert lines[:2] == ["fp16 agrees: True", "fp8 agrees: True"]
    assert [line for line in lines if line.endswith(":")] == ["matmul-performance-fp16:", "matmul-performance-fp8:"]
    assert len(lines) == 2 + 4 + 4
    assert "recorded launch 0 of 7 of kernel product" in err


def test_dropout(run: Callable[..., Ran]) -> None:
    status, out, err = run("--json", TUTORIALS / "dropout.py")

    assert status == 0, err
    lines = lines_before_json(out)
    assert lines[0] == "repeats: True other seed differs: True"
    assert lines[2] == "share kept 0.75"
    assert [header_of(line) for line in lines[3:5]] == [["dropout:"], ["n", "Seeded (ms)"]]


def test_layer_norm(run: Callable[..., Ran], tmp_path: Path) -> None:
    status, out, err = run("--json", TUTORIALS / "layer_norm.py")

    assert status == 0, err
    lines = lines_before_json(out)
    assert lines[:2] == ["layer norm 151x400 agrees", "layer-norm-backward:"]
    assert (tmp_path / "results.html").exists()
    launches = load_trace(tmp_path / "layer_norm.tlxtrace").launches
    assert [launch.kernel for launch in launches] == ["forward_rows", "backward_rows", "sum_groups"]


# Other scripts


def test_a_model_hooks_heuristics_and_printing(run: Callable[..., Ran]) -> None:
    status, out, err = run("--json", SCRIPTS / "modules.py", ROOT / "kernels")

    assert status == 0, err
    assert lines_before_json(out) == [
        "model agrees",
        "pre-run hook [('run', 3), ('run', 2), ('run', 0), ('run', 0)]",
        "config hooks [64, 128]",
        f"launch hooks {['elementwise'] * 4 + ['total'] * 3}",
        "pid (0, 0, 0) idx () value: 0.000000",
        "shown 1.0",
    ]


def test_outputs_of_what_was_timed_are_right_however_they_are_looked_at(run: Callable[..., Ran]) -> None:
    status, out, err = run("--json", SCRIPTS / "looks.py")

    assert status == 0, err
    *wrong, count = lines_before_json(out)
    assert not wrong
    assert count == "90 ways"


# A suite of tests


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Its folder: pytest would read the configuration of this repository in the one where it is."""
    shutil.copytree(SCRIPTS / "suite", tmp_path / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "suite" / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    return tmp_path / "suite"


@pytest.mark.parametrize(
    ("device", "counts"),
    [
        pytest.param("sim:h100", "12 passed, 7 skipped, 1 xfailed", marks=pytest.mark.slow),
        ("sim:h200", "13 passed, 6 skipped, 1 xfailed"),
    ],
)
def test_a_suite_passes_and_skips_what_the_device_implies(suite: Path, device: str, counts: str) -> None:
    done = tlxviz(suite, "--device", device, "-m", "pytest", "-q")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{counts} in " in done.stdout
    assert [launch.kernel for launch in load_trace(suite / "pytest.tlxtrace").launches] == ["scale"]


def test_failures_are_shown_where_the_tests_have_them(suite: Path) -> None:
    done = tlxviz(suite, "-m", "pytest", "-q", FAIL="1", HANG="1", OUTSIDE="1")

    assert done.returncode == 1
    assert "3 failed, 13 passed, 3 skipped, 1 xfailed in " in done.stdout
    shown = done.stdout.partition(" FAILURES ")[2].partition(" short test summary")[0]
    assert "AssertionError: Tensor-likes are not close!" in shown
    assert "HangError: kernel waits hangs in CTA 0: compute waits for barriers[0], phase 0" in shown
    assert "load of float32 elements 0 to 63 of an allocation that has 16" in shown
    assert "tlxviz/sim" not in shown
    assert "tlxviz/launch" not in shown
    launches = load_trace(suite / "pytest.tlxtrace").launches
    assert [(launch.kernel, launch.hang is not None) for launch in launches] == [("scale", False), ("waits", True)]


@pytest.mark.slow
def test_a_suite_without_tests_has_pytests_own_status(suite: Path) -> None:
    assert tlxviz(suite, "-m", "pytest", "-q", "-k", "nothing_of_that_name").returncode == 5


# Modules


@pytest.fixture
def package(tmp_path: Path) -> Generator[None]:
    """A package in the current folder."""
    shutil.copytree(SCRIPTS / "package", tmp_path / "package", ignore=shutil.ignore_patterns("__pycache__"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "package"]:
        del sys.modules[name]


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("module", "arguments", "printed", "trace"),
    [
        ("package", ["--n", "3"], "__main__ package ['--n', '3'] 48.0", "package"),
        ("package.inner.tool", ["--value", "2"], "tool.py __main__ package.inner 16.0", "tool"),
    ],
)
def test_a_module_with_relative_imports(
    run: Callable[..., Ran], module: str, arguments: list[str], printed: str, trace: str
) -> None:
    status, out, err = run("--json", "-m", module, *arguments)

    assert status == 0, err
    assert lines_before_json(out) == [printed]
    assert load_trace(f"{trace}.tlxtrace").launches[0].kernel == "fill"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("nowhere.at.all", "there is no module nowhere.at.all to run."),
        ("package/__main__.py", "there is no module package/__main__.py to run. To run a file, leave out -m."),
        ("package.missing", "cannot run module package.missing: No module named package.missing"),
        ("package.inner", "cannot run module package.inner: No module named package.inner.__main__; "),
        ("package.inner.tool.deeper", "cannot run module package.inner.tool.deeper: Error while finding module"),
    ],
)
def test_a_module_that_cannot_run(run: Callable[..., Ran], module: str, text: str) -> None:
    status, out, err = run("-m", module)

    assert (status, out) == (2, "")
    assert err.startswith(f"tlxviz: error: {text}")
    assert err.count("\n") == 1


# Endings


@pytest.mark.parametrize(
    ("how", "status", "message"),
    [("raise", 4, "ValueError: of the script"), ("exit", 7, ""), ("message", 1, "went wrong")],
)
def test_however_a_script_ends_its_trace_is_kept(
    run: Callable[..., Ran], tmp_path: Path, how: str, status: int, message: str
) -> None:
    ended, out, err = run("-q", "--json", SCRIPTS / "ends.py", how)

    assert ended == status
    assert lines_before_json(out) == ["sum 8.0"]
    assert err.rstrip().endswith(message)
    assert err.count("Traceback") == (how == "raise")
    assert [path.name for path in tmp_path.iterdir()] == ["ends.tlxtrace"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("SIGINT", "interrupted"),
        ("SIGTERM", "terminated"),
        pytest.param("SIGHUP", "terminated", marks=pytest.mark.slow),
    ],
)
def test_of_a_script_that_is_told_to_end_the_trace_is_whole(tmp_path: Path, how: str, message: str) -> None:
    done = tlxviz(tmp_path, "-q", "--json", SCRIPTS / "ends.py", how)

    assert done.returncode == 128 + getattr(signal, how)
    assert lines_before_json(done.stdout) == ["sum 8.0"]
    assert done.stderr == f"tlxviz: error: {message}; what was recorded until then is kept\n"
    assert [path.name for path in tmp_path.iterdir()] == ["ends.tlxtrace"]
    assert load_trace(tmp_path / "ends.tlxtrace").launches[0].kernel == "ones"


@pytest.mark.parametrize("how", ["SIGKILL", pytest.param("SIGABRT", marks=pytest.mark.slow)])
def test_a_process_that_is_killed_leaves_no_file(tmp_path: Path, how: str) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = tlxviz(tmp_path, SCRIPTS / "ends.py", how)

    assert done.returncode == -getattr(signal, how)
    assert done.stdout == "sum 8.0\n"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_fork_of_the_script_writes_no_trace(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "-q", "--json", SCRIPTS / "ends.py", "fork")

    assert done.returncode == 0, done.stderr
    assert lines_before_json(done.stdout) == ["sum 8.0", "child 5"]
    assert [path.name for path in tmp_path.iterdir()] == ["ends.tlxtrace"]


def test_workers_end_without_a_word(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "-q", "--json", SCRIPTS / "ends.py", "pool")

    assert (done.returncode, done.stderr) == (0, "")
    assert lines_before_json(done.stdout) == ["sum 8.0", "[1, 2]"]


def test_stdout_is_what_python_prints_and_then_the_summary(tmp_path: Path) -> None:
    script = SCRIPTS / "prints.py"
    plain = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    ours = tlxviz(tmp_path, "-q", "--json", script)

    assert ours.returncode == 0, ours.stderr
    *lines, last = ours.stdout.splitlines(keepends=True)
    assert "".join(lines) == plain.stdout
    assert json.loads(last)["launches"][0]["kernel"] == "ones"
    assert ours.stderr == plain.stderr == "over\n"
