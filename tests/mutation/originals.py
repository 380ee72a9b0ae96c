"""The kernels that mutants are made of: small, and each with means of synchronization of its own."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.launch.model import Launch
from tlxviz.launch.script import run_script
from tlxviz.sim.recorder import Simulated, SimulatedRecorder
from tlxviz.sim.recording import Recording

TESTS = Path(__file__).resolve().parents[1]
KERNELS = TESTS.parent / "kernels"


class _Enough(BaseException):
    """The launch has been caught."""


@dataclass(frozen=True)
class Original:
    """A launch of a script."""

    name: str
    script: Path
    arguments: Sequence[str] = ()
    gpu: str = "h200"
    sms: int = 0
    """SMs of the GPU, so that CTAs of persistent kernels have several tiles; 0 for all."""
    number: int = 0
    """Which of the script's launches."""

    @cached_property
    def device(self) -> Device:
        device = load_device(self.gpu)
        return replace(device, limits=replace(device.limits, sms=self.sms)) if self.sms else device

    def launch(self) -> Launch:
        """The launch, with its arguments and nothing executed."""
        found: list[Launch] = []
        recorder = SimulatedRecorder(self.device, Recording(ctas=()))

        def catch(launch: Launch) -> Simulated:
            found.append(launch)
            if len(found) > self.number:
                raise _Enough
            return recorder.execute(launch)

        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(_Enough):
            run_script(self.script, list(self.arguments), self.device, catch)
        return found[-1]


_ATTENTION = {
    "sizes": [1, 1, 512, 64],
    "BLOCK_M": 128,
    "BLOCK_N": 64,
    "NUM_BUFFERS": 2,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
}
_GEMM = ("--m", "256", "--k", "320", "--stages", "2")
_CORRECT = TESTS / "faults" / "correct"
ORIGINALS = (
    Original("hopper_gemm_ws", KERNELS / "hopper_gemm_ws.py", (*_GEMM, "--n", "256", "--block-n", "128"), sms=2),
    Original("blackwell_gemm_ws", KERNELS / "blackwell_gemm_ws.py", (*_GEMM, "--n", "512"), "b200", sms=2),
    Original(
        "hopper_fa_ws_pipelined_pingpong",
        TESTS / "sim" / "tutorial_driver.py",
        ("hopper_fa_ws_pipelined_pingpong", "attention", json.dumps(_ATTENTION)),
    ),
    Original("multicast_ring", _CORRECT / "multicast_ring.py", number=1),
    Original("pingpong", _CORRECT / "pingpong.py", number=1),
    Original("async_copy_ring", _CORRECT / "async_copy_ring.py", number=1),
)
