"""Recording beside a GPU: here the stand-in plays the GPU."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from tlxviz._errors import TlxvizError
from tlxviz.devices.model import Device
from tlxviz.launch.model import HostDescriptor, Launch
from tlxviz.launch.script import run_script

Writer = Callable[..., Path]
Beside = Callable[[Any, str], None]


@dataclass
class Watcher:
    expected: tuple[int, ...]
    seen: int = 0
    launches: list[Launch] = field(default_factory=list[Launch])

    def expects(self, kernel: str) -> bool:
        return self.seen in self.expected

    def pass_over(self, kernel: str) -> None:
        self.seen += 1

    def execute(self, launch: Launch) -> None:
        self.seen += 1
        self.launches.append(launch)


@pytest.fixture
def beside(write: Writer, device: Device) -> Callable[[Watcher, str], None]:
    """Runs a body, with a watcher beside a GPU on which every kernel writes 7 into its output."""

    def gpu(launch: Launch) -> None:
        tensors = [value for _, value in launch.parameters if isinstance(value, torch.Tensor)]
        if tensors:
            tensors[-1].fill_(7)

    def run(watcher: Watcher, body: str) -> None:
        vars(builtins)["watcher"] = watcher
        prelude = "".join(
            f"from tlxviz.launch.{module} import {name}\n"
            for module, name in (("patching", "Scope"), ("kernels.shadow", "Shadow"), ("kernels.watch", "Watch"))
        )
        try:
            assert run_script(write(prelude + body), [], device, gpu) == 0
        finally:
            del vars(builtins)["watcher"]

    return run


def test_the_program_runs_and_the_chosen_launches_are_watched_as_well(beside: Beside):
    watcher = Watcher((1,))
    beside(
        watcher,
        """
with Scope() as scope:
    Watch(Shadow(watcher)).install(scope)
    for _ in range(3):
        out.zero_()
        add[(4,)](x, y, out, 1000, BLOCK=256)
        assert out[0] == 7
""",
    )
    assert watcher.seen == 3
    [launch] = watcher.launches
    assert (launch.kernel, launch.grid) == ("add", (4, 1, 1))
    shapes = [tuple(value.shape) for _, value in launch.parameters if isinstance(value, torch.Tensor)]
    assert shapes == [(1000,)] * 3


def test_integers_are_copied_as_they_are_before_the_launch(beside: Beside):
    watcher = Watcher((0,))
    beside(
        watcher,
        """
lengths = torch.arange(2000, device="cuda", dtype=torch.int32)[::2]
with Scope() as scope:
    Watch(Shadow(watcher)).install(scope)
    add[(4,)](x, y, lengths, 1000, BLOCK=256)
assert lengths[3] == 7
""",
    )
    copied: Any = watcher.launches[0].parameters[2][1]
    assert copied.tolist() == list(range(0, 2000, 2))
    assert copied.stride() == (2,)


def test_trials_of_an_autotuner_do_not_count(beside: Beside):
    watcher = Watcher((0,))
    beside(
        watcher,
        """
configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
tuned = triton.autotune(configs, key=["n"])(add)
with Scope() as scope:
    Watch(Shadow(watcher)).install(scope)
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, y, out, 1000)
""",
    )
    assert watcher.seen == 1


def test_host_descriptors_are_copied_too(beside: Beside):
    watcher = Watcher((0,))
    beside(
        watcher,
        """
from triton.tools.tensor_descriptor import TensorDescriptor
import triton.language as tl

@triton.jit
def twice(desc):
    desc.store([0, 0], desc.load([0, 0]) * 2)

matrix = torch.ones(64, 64, device="cuda")
with Scope() as scope:
    Watch(Shadow(watcher)).install(scope)
    twice[(1,)](TensorDescriptor.from_tensor(matrix, [32, 32]))
""",
    )
    descriptor = watcher.launches[0].parameters[0][1]
    assert isinstance(descriptor, HostDescriptor)
    assert (tuple(descriptor.base.shape), descriptor.block) == ((64, 64), (32, 32))


def test_what_cannot_be_simulated_does_not_stop_the_program(beside: Beside):
    class Failing(Watcher):
        def execute(self, launch: Launch) -> None:
            super().execute(launch)
            raise TlxvizError("no such operation")

    watcher = Failing((0,))
    beside(
        watcher,
        """
import warnings
with Scope() as scope, warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Watch(Shadow(watcher)).install(scope)
    add[(4,)](x, y, out, 1000, BLOCK=256)
assert out[0] == 7
assert str(caught[-1].message) == "tlxviz: simulating kernel add failed: no such operation"
""",
    )
    assert len(watcher.launches) == 1
