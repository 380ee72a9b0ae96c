"""The program as a user runs it, on real kernels and with no GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tlxviz.trace import load_trace

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(__file__).parent / "scripts"
KERNELS = ROOT / "kernels"


def tlxviz(folder: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program: with a simulated device, also where there is a GPU."""
    verb, *others = map(str, arguments)
    device = ["--device", "sim:h200"] if verb == "run" else []
    return subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), verb, *device, *others],
        cwd=folder,
        env=os.environ | {"COLUMNS": "80"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_warp_specialized_gemm_ends_with_right_numbers_a_trace_and_a_summary(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", KERNELS / "hopper_gemm_ws.py")

    assert done.returncode == 0, done.stderr
    assert "hopper_gemm_ws 512x512x512: relative error 2.07e-04" in done.stdout
    for role in ("load", "mma.0", "mma.1"):
        assert f"\n{role} " in done.stdout
    assert "Traceback" not in done.stderr
    assert "hopper_gemm_ws.tlxtrace" in done.stderr
    (launch,) = load_trace(tmp_path / "hopper_gemm_ws.tlxtrace").launches
    assert [agent.name for agent in launch.agents] == ["load", "mma.0", "mma.1"]
    assert launch.statistics["ctas_simulated"] == 8
    assert launch.flop == 2 * 512**3


def test_report_prints_what_run_printed(tmp_path: Path) -> None:
    ran = tlxviz(tmp_path, "run", KERNELS / "plain_gemm.py")
    reported = tlxviz(tmp_path, "report", "plain_gemm.tlxtrace")

    assert reported.returncode == 0
    assert reported.stdout in ran.stdout
    assert "of the critical path is" in reported.stdout


def test_two_runs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert tlxviz(tmp_path / name, "run", "--ctas", "0:3", KERNELS / "hopper_gemm_ws.py").returncode == 0

    first, second = (tmp_path / name / "hopper_gemm_ws.tlxtrace" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_values_off_predicts_the_same_time(tmp_path: Path) -> None:
    facts: list[dict[str, object]] = []
    for values in ("on", "off"):
        done = tlxviz(tmp_path, "run", "-q", "--json", "--values", values, KERNELS / "hopper_gemm_ws.py")
        facts.append(json.loads(done.stdout.splitlines()[-1])["launches"][0])

    assert facts[0]["cycles"] == facts[1]["cycles"]
    assert facts[0]["groups"] == facts[1]["groups"]


def test_outputs_without_values_are_told(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", "--values", "off", KERNELS / "plain_gemm.py")

    assert done.returncode == 1  # the script's own, whose check fails
    assert "values were off: outputs hold what was in memory before" in done.stderr
    assert "plain_gemm on NVIDIA H200" in done.stdout


def test_a_hang_is_explained_and_exits_with_1(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", SCRIPTS / "hangs.py")

    assert done.returncode == 1
    assert "never printed" not in done.stdout
    assert "load waits on empty[0], phase 0" in done.stdout
    assert "epilogue waits on full[0], phase 1" in done.stdout
    assert "Traceback" not in done.stderr
    (launch,) = load_trace(tmp_path / "hangs.tlxtrace").launches
    assert launch.hang is not None
    assert launch.hang["waiters"][0]["pending"] == 1


def test_a_configuration_that_hangs_is_explained_and_named(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", SCRIPTS / "tuned_hang.py")

    assert done.returncode == 1
    assert "compute.0 waits on bars[0], phase 0" in done.stdout
    assert done.stderr.endswith("\n\nIt was tried by the autotuner with N=2, num_warps=4, num_ctas=1, num_stages=3\n")


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("clusters.py", 3, "kernel pairs spreads each program over 2 CTAs (num_ctas)"),
        (
            "out_of_bounds.py",
            1,
            "out_of_bounds.py:11 (tt.store), CTA 1: store of int32 elements 64 to 127 of an allocation that has 100",
        ),
        ("missing.py", 2, "missing.py"),
    ],
)
def test_what_cannot_run_is_one_message(tmp_path: Path, script: str, code: int, text: str) -> None:
    done = tlxviz(tmp_path, "run", SCRIPTS / script)

    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("tlxviz: error:")]
    assert len(errors) == 1
    assert text in errors[0]
    assert "Traceback" not in done.stderr


def test_an_output_folder_that_does_not_exist_is_told_before_anything_runs(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", "-o", "nowhere/out.tlxtrace", KERNELS / "plain_gemm.py")

    assert done.returncode in (2, 3)
    assert "nowhere" in done.stderr
    assert "relative error" not in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(
    not Path("/dev/full").exists() or os.geteuid() != 0, reason="needs root to mount a small file system"
)
def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        done = tlxviz(small, "run", KERNELS / "hopper_gemm_ws.py")
        left = list(small.iterdir())
    finally:
        subprocess.run(["umount", str(small)], check=True)

    assert done.returncode == 3
    assert "no space is left on the disk" in done.stderr
    assert "Traceback" not in done.stderr
    assert left == []


def test_an_existing_trace_is_not_overwritten(tmp_path: Path) -> None:
    for _ in range(2):
        assert tlxviz(tmp_path, "run", SCRIPTS / "two_launches.py").returncode == 0
    named = tlxviz(tmp_path, "run", "-o", "two_launches.tlxtrace", SCRIPTS / "two_launches.py")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["two_launches.1.tlxtrace", "two_launches.tlxtrace"]
    assert named.returncode == 2
    assert "--force" in named.stderr


def test_every_launch_is_executed_and_the_first_of_each_kernel_recorded(tmp_path: Path) -> None:
    done = tlxviz(tmp_path, "run", SCRIPTS / "two_launches.py")

    assert done.stdout.startswith("sum -1800.0\n")  # 300 times -(1 * 2 + 1) * 2
    launches = load_trace(tmp_path / "two_launches.tlxtrace").launches
    assert [launch.kernel for launch in launches] == ["double", "negate"]


def test_ctrl_c_keeps_what_was_recorded(tmp_path: Path) -> None:
    command = [
        sys.executable,
        str(ROOT / "cli.py"),
        "run",
        "--device",
        "sim:h200",
        "--launch",
        "1",
        str(SCRIPTS / "long.py"),
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "launching\n"
    time.sleep(12)  # some thousand CTAs, also on a slow machine that runs other tests beside
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    (launch,) = load_trace(tmp_path / "long.tlxtrace").launches
    assert not launch.complete
    assert 0 < launch.statistics["ctas_simulated"] < 3_000_000


@pytest.mark.parametrize("kind", ["ImportError", "SystemError"])
def test_ctrl_c_while_triton_is_imported(tmp_path: Path, kind: str) -> None:
    """C++ code that initialises a module makes another exception of it."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(
        f"try:\n    raise KeyboardInterrupt\nexcept BaseException as error:\n    raise {kind}('init') from error\n"
    )
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = tlxviz(tmp_path, "run", SCRIPTS / "two_launches.py", PYTHONPATH=paths)

    assert (done.returncode, done.stderr) == (130, "tlxviz: error: interrupted\n")


def test_nothing_is_printed_into_a_closed_pipe(tmp_path: Path) -> None:
    command = f"{sys.executable} {ROOT / 'cli.py'} run {KERNELS / 'plain_gemm.py'} | head -1"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
