"""Recording on a GPU: results stay the same to the last bit, and the records are those that the replay expects."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tlxviz.devices import load_device
from tlxviz.launch.script import run_on_gpu
from tlxviz.probe.options import ProbeOptions
from tlxviz.probe.recorder import ProbingRecorder
from tlxviz.sim.recording import Recording
from tlxviz.trace.model import LaunchTrace, TrackKind

pytest.importorskip("triton.language.extra.tlx")

from tlxviz._triton import toolchain

pytestmark = pytest.mark.gpu
FBTRITON = toolchain().distribution == "fbtriton"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GEMM = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True,
    "NUM_CTAS": 1,
    "USE_WARP_BARRIER": False,
}
PAIR = {**GEMM, "NUM_CTAS": 2, "ctas_per_cga": [2, 1, 1]}
SQUARE = [1024, 1024, 1024]
PERSISTENT = {"sizes": SQUARE, "call": "matmul_tlx_ws_persistent"}
ATTENTION = {"sizes": [1, 4, 1024, 128]}
TUTORIALS = [
    ("hopper_gemm_ws", "gemm", {"sizes": SQUARE, **GEMM}),
    ("hopper_gemm_ws", "gemm", {"sizes": SQUARE, **PAIR}),
    ("hopper_gemm_pipelined", "gemm", {"sizes": SQUARE, "call": "matmul"}),
    ("hopper-persistent-gemm-ws-cooperative", "gemm", PERSISTENT),
    ("hopper-persistent-gemm-ws-pingpong", "gemm", PERSISTENT),
    ("hopper_fa_ws", "attention", ATTENTION),
    ("hopper_fa_ws_pipelined", "attention", ATTENTION),
    ("hopper_fa_ws_pipelined_pingpong", "attention", ATTENTION),
    ("hopper_fa_ws_pipelined_pingpong_persistent", "attention", ATTENTION),
]


def record(script: Path, *arguments: str, **options: Any) -> list[LaunchTrace]:
    recorder = ProbingRecorder(Recording(), ProbeOptions(**{"parts": 1, **options}), load_device("h200"))
    assert run_on_gpu(script, list(arguments), recorder) == 0
    return recorder.trace.launches


@pytest.mark.parametrize(
    ("name", "case", "options"), TUTORIALS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_tutorials(name: str, case: str, options: dict[str, Any], capfd: pytest.CaptureFixture[str]):
    if options.get("NUM_CTAS") == 2 and not FBTRITON:
        pytest.skip("triton-utlx cannot address the shared memory of another CTA")
    [launch] = record(HERE / "tutorials_twice.py", name, case, json.dumps(options))
    assert capfd.readouterr().out.splitlines()[-1] == "identical"
    assert launch.complete
    assert launch.provenance["probe"]["missing"] == 0
    assert {agent.name for agent in launch.agents} == {
        track.name for track in launch.tracks if track.kind is TrackKind.WARP_GROUP
    }


@pytest.mark.parametrize("name", ["calls", "volume", "ranges", "hand_off", "ping_pong"])
@pytest.mark.parametrize("options", [{}, {"all_warps": True}, {"parts": 2}], ids=["plain", "all warps", "parts"])
def test_forms_of_kernels(name: str, options: dict[str, Any], capfd: pytest.CaptureFixture[str]):
    [launch] = record(HERE / "probed_kernels.py", name, **options)
    assert capfd.readouterr().out == f"{name} identical\n"
    assert launch.provenance["probe"]["missing"] == 0


@pytest.mark.parametrize(
    ("name", "agents"),
    [
        ("gluon matmul", {"compute"}),
        ("gluon persistent matmul", {"mma", "load"}),
        ("gluon attention", {"softmax", "load"}),
        ("divided matmul", {"mma", "load", "idle"}),
        ("divided steps", {"mma", "load"}),
        ("divided matmul in parts", {"mma.0", "mma.1", "load", "idle"}),
    ],
)
def test_what_is_not_written_in_tlx(name: str, agents: set[str], capfd: pytest.CaptureFixture[str]):
    if not FBTRITON and name.startswith("gluon"):
        pytest.skip("triton-utlx: Gluon and TLX do not compile in one process")
    if not FBTRITON:
        agents = {"load", "mma.0", "mma.1"}  # triton 3.8 divides loops as it thinks best
    [launch] = record(HERE / "divided_kernels.py", name)
    assert capfd.readouterr().out == "identical\n"
    assert launch.provenance["probe"]["missing"] == 0
    assert {track.name for track in launch.tracks if track.kind is TrackKind.WARP_GROUP} == agents


def test_a_trace_is_as_long_as_the_kernel():
    [launch] = record(ROOT / "kernels" / "hopper_gemm_ws.py", "--m", "8192", "--n", "8192", "--k", "2048")
    probe = launch.provenance["probe"]
    ends = [track.end for track in launch.tracks]
    begins = [track.begin for track in launch.tracks]
    assert probe["slow_down_percent"] < 3
    assert (max(ends) - min(begins)) == pytest.approx(launch.cycles, rel=0.05)
    assert launch.cycles / launch.clock_mhz / 1000 == pytest.approx(probe["kernel_ms"], rel=0.1)


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    text = (ROOT / "kernels" / "hopper_gemm_ws.py").read_text(encoding="utf-8")
    removed = "                        tlx.barrier_arrive(b_empty[previous])\n"
    assert removed in text
    script = tmp_path / "hanging.py"
    script.write_text(text.replace(removed, ""), encoding="utf-8")
    return script


def test_a_hang_is_explained_and_ends(hanging: Path):
    line = 1 + next(
        number
        for number, text in enumerate(hanging.read_text(encoding="utf-8").splitlines())
        if "tlx.barrier_wait(b_empty[" in text
    )
    command = [sys.executable, str(ROOT / "cli.py"), "run", "--device", "cuda", "--timeout", "2", str(hanging)]
    done = subprocess.run(command, cwd=hanging.parent, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    assert f"load waits for b_empty[0], phase 0, at {hanging}:{line} (nobody has arrived yet)" in done.stderr
    assert (hanging.parent / "hanging.tlxtrace").exists()


def test_a_hang_after_launches_that_ended_is_explained(hanging: Path):
    """Later launches note their starts late, so that the report has to do without them."""
    script = hanging.with_name("second.py")
    script.write_text(
        f"import sys; sys.path[:0] = [{str(ROOT / 'kernels')!r}, {str(hanging.parent)!r}]\n"
        "import torch, hopper_gemm_ws, hanging\n"
        "a, b = (torch.zeros(512, 512, device='cuda', dtype=torch.float16) for _ in range(2))\n"
        "hopper_gemm_ws.matmul(a, b)\n"
        "hopper_gemm_ws.matmul(a, b)\n"
        "hanging.matmul(a, b)\n",
        encoding="utf-8",
    )
    command = [sys.executable, str(ROOT / "cli.py"), "run", "--device", "cuda", "--timeout", "2", "--launch", "all"]
    done = subprocess.run(
        [*command, str(script)], cwd=script.parent, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 1, done.stderr
    assert f"load waits for b_empty[0], phase 0, at {hanging}:" in done.stderr
    assert (script.parent / "second.tlxtrace").exists()
