"""The kernels of this project, as the compiler leaves them and as their scripts behave."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz import _triton
from tlxviz.devices.model import Device
from tlxviz.launch.model import HostDescriptor, Launch
from tlxviz.launch.script import run_script

KERNELS = Path(__file__).resolve().parents[2] / "kernels"


def _matrices(launch: Launch) -> list[torch.Tensor]:
    tensors = [value.base if isinstance(value, HostDescriptor) else value for _, value in launch.parameters]
    return [value for value in tensors if isinstance(value, torch.Tensor)][:3]


def multiply(launch: Launch) -> None:
    """What a launch of a GEMM is to do, done by torch."""
    a, b, c = _matrices(launch)
    c.copy_(a @ b)


def clear(launch: Launch) -> None:
    """Memory that was not written may hold the right result of another launch."""
    _matrices(launch)[2].zero_()


@pytest.fixture
def gemm(device: Device) -> Callable[..., tuple[int, list[Launch]]]:
    def run(name: str, *argv: str, execute: Callable[[Launch], Any] = multiply) -> tuple[int, list[Launch]]:
        launches: list[Launch] = []

        def note(launch: Launch) -> None:
            launches.append(launch)
            execute(launch)

        return run_script(KERNELS / f"{name}.py", argv, device, note), launches

    return run


Gemm = Callable[..., tuple[int, list[Launch]]]
SIZES = ["--m", "100", "--n", "72", "--k", "200"]


@pytest.mark.parametrize("name", ["plain_gemm", "hopper_gemm_ws"])
@pytest.mark.parametrize("sizes", [[], SIZES], ids=["default", "odd"])
def test_a_right_result_is_accepted(gemm: Gemm, capsys: pytest.CaptureFixture[str], name: str, sizes: list[str]):
    status, launches = gemm(name, *sizes)
    assert (status, len(launches)) == (0, 1)
    assert re.fullmatch(rf"{name} \d+x\d+x\d+: relative error \d\.\d\de-\d\d\n", capsys.readouterr().out)


@pytest.mark.parametrize("name", ["plain_gemm", "hopper_gemm_ws"])
def test_a_wrong_result_is_refused(gemm: Gemm, capsys: pytest.CaptureFixture[str], name: str):
    status, _ = gemm(name, *SIZES, execute=clear)
    assert status == 1
    assert "above 0.001" in capsys.readouterr().err


def test_rows_that_tma_cannot_take_are_refused(gemm: Gemm, capsys: pytest.CaptureFixture[str]):
    status, launches = gemm("hopper_gemm_ws", "--k", "201")
    assert (status, launches) == (1, [])
    assert "K is 201 and must be a multiple of 8" in capsys.readouterr().err


WRONG = [
    "--m 0",
    "--n 0",
    "--k 0",
    "--m -1",
    "--block-k 8",
    "--block-k 48",
    "--block-k 256",
    "--block-n 48",
    "--stages 0",
]


@pytest.mark.parametrize("argv", WRONG)
@pytest.mark.parametrize("name", ["plain_gemm", "hopper_gemm_ws"])
def test_what_cannot_be_multiplied_is_refused(gemm: Gemm, capsys: pytest.CaptureFixture[str], name: str, argv: str):
    assert gemm(name, *argv.split()) == (1, [])
    option, number = argv.split()
    what = option.removeprefix("--").replace("-", "_").upper()
    assert capsys.readouterr().err.startswith(f"{name}: {what} is {number} and must be ")


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        ["--block-n", "128", "--block-k", "64", "--stages", "5"],
        ["--block-m", "256", "--block-n", "128"],
        ["--block-k", "128", "--stages", "2"],
        ["--block-n", "64", "--block-k", "32", "--stages", "2"],
    ],
    ids=lambda blocks: " ".join(blocks) or "default",
)
def test_the_warp_specialised_kernel_keeps_two_multiplications_in_flight(gemm: Gemm, device: Device, blocks: list[str]):
    _, [launch] = gemm("hopper_gemm_ws", *SIZES, *blocks)
    consumers = launch.ttgir.split("partition0")[1].split("partition1")
    assert len(consumers) == 2
    # The compiler may add a wait for everything behind a multiplication in a loop, which costs half the speed.
    in_loop = ["1"] if _triton.toolchain().distribution == "fbtriton" else ["0", "1"]
    for consumer in consumers:
        assert re.findall(r"warp_group_dot_wait .*pendings = (\d)", consumer) == [*in_loop, "0"]
        assert consumer.index("scf.for") < consumer.index("pendings = 1") < consumer.rindex("pendings = 0")
        assert "convert_layout" not in consumer
    assert "requestedRegisters = array<i32: 240, 240>" in launch.ttgir
    assert launch.metadata["shared"] <= device.limits.shared_memory_per_block


def test_the_plain_kernel_can_be_synchronous(gemm: Gemm):
    _, [pipelined] = gemm("plain_gemm")
    _, [synchronous] = gemm("plain_gemm", "--stages", "1")
    assert "async_copy_global_to_local" in pipelined.ttgir
    assert "async_copy_global_to_local" not in synchronous.ttgir
    assert "tt.load" in synchronous.ttgir
