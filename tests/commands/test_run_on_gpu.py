"""`tlxviz run` on a GPU, with a fake one: options, what is said, and the end of a process that cannot go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from analysis.synthetic_traces import MEASURED, hung, pipeline
from commands.fake_backend import FakeBackend, FakeGpu

from tlxviz._errors import ExitCode, TlxvizError
from tlxviz.commands import main
from tlxviz.commands.backend import Gpu, nearest_device
from tlxviz.commands.run import RunCommand
from tlxviz.probe.options import ProbeOptions
from tlxviz.trace import load_trace

ROOT = Path(__file__).resolve().parents[2]


class Hang(TlxvizError):
    exit_code = ExitCode.FINDINGS


class Ended(BaseException):
    """In the place of `os._exit`, which does not come back either."""

    def __init__(self, status: int) -> None:
        self.status = status


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("print('the script')\nlaunch()\n")
    return tmp_path


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(os, "_exit", end)


def measured(**fields: Any) -> Any:
    return pipeline(provenance=MEASURED, **fields)


def run(gpu: FakeGpu, *words: str) -> int:
    return main(["run", *words], commands=[RunCommand(FakeBackend([pipeline()]), gpu)])


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_gpu_is_what_is_recorded_on_where_there_is_one(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    gpu = FakeGpu(launches=[(measured(), None)])
    assert run(gpu, "--device", device, "script.py") == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("the script\npipeline on NVIDIA H200 SXM, measured\n")
    assert (
        captured.err
        == "trace: script.tlxtrace\nnext:  tlxviz report script.tlxtrace\n       tlxviz view script.tlxtrace\n"
    )
    assert gpu.options == ProbeOptions()
    assert (gpu.chosen["launches"], gpu.chosen["ctas"], gpu.chosen["first_config"]) == ((0,), None, False)
    assert gpu.recorder.device.name == "h100"


def test_without_one_a_device_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeGpu("this machine has none"), "script.py") == 0
    assert ", simulated\n" in capsys.readouterr().out
    assert run(FakeGpu("this machine has none"), "--device", "cuda", "script.py") == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    says = "cannot record on a GPU: this machine has none. To simulate one: --device sim:h100 or sim:h200."
    assert captured.err == f"tlxviz: error: {says}\n"


def test_options_reach_the_recorder() -> None:
    gpu = FakeGpu(launches=[(measured(), None)])
    words = "--probes barriers,3:5 --warps all --parts 2 --repeat 9 --iterations 4:8 --timeout 2.5 --correction off"
    assert run(gpu, *words.split(), "--ctas", "0:2", "--launch", "all", "--first-config", "-q", "script.py") == 0
    assert gpu.options == ProbeOptions("barriers,3:5", True, 2, 9, (4, 8), 2.5, False)
    assert (gpu.chosen["launches"], gpu.chosen["ctas"], gpu.chosen["first_config"]) == (None, (0, 1), True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--device", "sim:h100", "--parts", "2"], "--parts is for recordings on a GPU (--device cuda)"),
        (["--device", "sim:h100", "--warps", "all", "--timeout", "3"], "--warps and --timeout are for recordings on a"),
        (["--values", "off"], "--values off is for simulated devices"),
        (["--parts", "0"], "argument --parts: '0' is no number from 1 on"),
        (["--repeat", "x"], "argument --repeat: 'x' is no number from 1 on"),
        (["--iterations", "4"], "'4' names no iterations: write 4:8 for 4 to 7"),
        (["--iterations", "8:4"], "'8:4' names no iterations"),
        (["--timeout", "nan"], "'nan' is no number of seconds above 0"),
        (["--warps", "3"], "invalid choice: '3'"),
    ],
)
def test_wrong_usage(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeGpu(), *words, "script.py") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err


def test_spills_are_in_the_measured_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(FakeGpu(launches=[(measured(metadata={"spilled_bytes": 64}), None)]), "script.py") == 0
    assert "spills" not in capsys.readouterr().err


@pytest.mark.usefixtures("ended")
def test_a_hang_ends_the_process_with_everything_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "script.py").write_text(
        "import sys\nprint('the script')\ntry:\n    launch()\nexcept Exception:\n    print('goes on')\n"
    )
    gpu = FakeGpu(launches=[(hung(), Hang("kernel pipeline hangs."))], stuck=True)
    with pytest.raises(Ended) as caught:
        run(gpu, "script.py")
    assert caught.value.status == 1
    captured = capsys.readouterr()
    assert captured.out.startswith("the script\n")
    assert "HANG at cycle 5,000" in captured.out
    assert "goes on" not in captured.out
    assert captured.err.startswith("trace: script.tlxtrace\n")
    assert "tlxviz: error: kernel pipeline hangs.\n" in captured.err
    assert load_trace(folder / "script.tlxtrace").launches[0].hang is not None


@pytest.mark.usefixtures("ended")
def test_ctrl_c_while_the_gpu_is_stuck(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Ended) as caught:
        run(FakeGpu(launches=[(measured(complete=False), KeyboardInterrupt())], stuck=True), "script.py")
    assert caught.value.status == 130
    assert "interrupted; what was recorded until then is kept" in capsys.readouterr().err


def test_an_error_that_leaves_the_gpu_usable_is_the_scripts_to_handle(folder: Path) -> None:
    (folder / "script.py").write_text("try:\n    launch()\nexcept Exception:\n    pass\nlaunch()\n")
    gpu = FakeGpu(launches=[(measured(), TlxvizError("no such operation.")), (measured(), None)])
    assert run(gpu, "-q", "script.py") == 0
    assert len(load_trace(folder / "script.tlxtrace").launches) == 2


def test_nothing_runs_after_the_end_of_a_stuck_process(folder: Path) -> None:
    """No handler of an exit, no other thread, and what the script printed is not lost."""
    (folder / "script.py").write_text(
        "import atexit, threading, time\n"
        "atexit.register(print, 'at exit')\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "print('the script')\n"
        "launch()\n"
    )
    program = (
        "import sys\n"
        "from analysis.synthetic_traces import hung\n"
        "from commands.fake_backend import FakeBackend, FakeGpu\n"
        "from tlxviz._errors import TlxvizError\n"
        "from tlxviz.commands import main\n"
        "from tlxviz.commands.run import RunCommand\n"
        "gpu = FakeGpu(launches=[(hung(), TlxvizError('it hangs.'))], stuck=True)\n"
        "sys.exit(main(['run', '--json', 'script.py'], commands=[RunCommand(FakeBackend(), gpu)]))\n"
    )
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 3
    first, last = done.stdout.splitlines()
    assert first == "the script"
    assert json.loads(last)["launches"][0]["hang"]["cycle"] == 5000
    assert done.stderr.endswith("tlxviz: error: it hangs.\n")


def test_no_gpu_is_known_without_importing_torch(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "Path.glob = lambda path, name: []\n"
        "from tlxviz.commands.backend import Gpu\n"
        "print(Gpu().obstacle(), 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "this machine has no NVIDIA GPU that this process may use (no /dev/nvidia0) False\n"


def test_what_torch_says_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    monkeypatch.setattr(Path, "glob", lambda path, name: ["nvidia0"])
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "is built without CUDA" in str(Gpu().obstacle())
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert Gpu().obstacle() == "torch sees no GPU (CUDA_VISIBLE_DEVICES=7)"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert Gpu().obstacle() is None
    assert "PYTORCH_NVML_BASED_CUDA_CHECK" not in os.environ


@pytest.mark.parametrize(
    ("gpu", "name", "title"),
    [
        ("NVIDIA H200", "h200", "NVIDIA H200 SXM"),
        ("NVIDIA H100 80GB HBM3", "h100", "NVIDIA H100 SXM"),
        ("NVIDIA B200", "b200", "NVIDIA B200"),
        ("NVIDIA GB200", "gb200", "NVIDIA GB200"),
        ("NVIDIA GH200 480GB", "h200", "NVIDIA GH200 480GB"),
    ],
)
def test_the_figures_of_a_gpu(gpu: str, name: str, title: str) -> None:
    device = nearest_device(gpu)
    assert (device.name, device.title) == (name, title)
