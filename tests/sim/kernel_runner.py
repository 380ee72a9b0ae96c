"""Runs single kernels, from Triton source or from TTGIR text, in the simulator.

A test that is there for certain operations says so with `executes`, which holds it to that;
`ops/test_ops_coverage.py` finds out from it that no operation of the list is forgotten.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from types import FrameType
from typing import Any

import pytest

from tlxviz import _triton
from tlxviz.devices.file import load_device
from tlxviz.devices.model import Device
from tlxviz.ir.operation import Block
from tlxviz.launch.device.gpu import Gpu
from tlxviz.launch.kernels.catch import Catcher
from tlxviz.launch.model import Launch
from tlxviz.launch.patching import Scope
from tlxviz.sim.compiler import CompiledKernel
from tlxviz.sim.recorder import SimulatedRecorder
from tlxviz.sim.recording import Recording
from tlxviz.trace.model import LaunchTrace

_executed: set[str] = set()

MODULE = (
    'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90", '
    '"ttg.threads-per-warp" = 32 : i32}} {{'
)


@dataclass
class Run:
    """One kernel, executed."""

    launch: Launch
    trace: LaunchTrace

    @property
    def cycles(self) -> int:
        return self.trace.cycles


@cache
def h200() -> Device:
    return load_device("h200")


@cache
def b200() -> Device:
    return load_device("b200")


def execute(
    launch: Launch,
    *,
    values: bool = True,
    ctas: Sequence[int] | None = None,
    cycle_limit: int = 10**8,
    device: Device | None = None,
) -> Run:
    """Executes a launch, on the H200 by default; raises what the simulator raises."""
    recorder = SimulatedRecorder(device or h200(), Recording(ctas=ctas or (0,)), values=values, cycle_limit=cycle_limit)
    with _watching() as lines:
        try:
            recorder.execute(launch)
        finally:
            for kernel in recorder._kernels.compiled:  # pyright: ignore[reportPrivateUsage]
                _executed.update(_operations(kernel, lines))
    return Run(launch, recorder.trace.launches[-1])


@contextmanager
def _watching() -> Iterator[set[tuple[str, int]]]:
    """Collects the lines of generated code that run."""
    lines: set[tuple[str, int]] = set()

    def local(frame: FrameType, event: str, argument: object) -> Any:
        lines.add((frame.f_code.co_filename, frame.f_lineno))
        return local

    def follow(frame: FrameType, event: str, argument: object) -> Any:
        return local if frame.f_code.co_filename.startswith("<tlxviz ") else None

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        yield lines
    finally:
        sys.settrace(before)


def _operations(kernel: CompiledKernel, lines: set[tuple[str, int]]) -> Iterator[str]:
    """Names of the operations in blocks of which a line has run; a combine region belongs to its operation."""
    blocks: dict[Block, None] = {}
    for number, (_, _, op) in enumerate(kernel._lines, 1):  # pyright: ignore[reportPrivateUsage]
        if op is not None and op.block is not None and (kernel._filename, number) in lines:  # pyright: ignore[reportPrivateUsage]
            blocks[op.block] = None
    yield from ("builtin.module", "tt.func")
    for block in blocks:
        for op in block.operations:
            yield op.name
            if op.name in ("tt.reduce", "tt.scan", "tt.map_elementwise"):
                yield from (inner.name for inner in op.walk())


def compile_kernel(
    function: Any, grid: tuple[int, ...], *args: Any, device: Device | None = None, **options: Any
) -> Launch:
    """The launch that `function[grid](*args, **options)` makes on a GPU, or would make on one that is large enough."""
    found: list[Launch] = []
    catcher = Catcher(Gpu(device or h200()), found.append)
    with Scope() as scope:
        catcher.install(scope)
        try:
            function[grid](*args, **options)
        except Exception as error:
            if catcher.refused is None or catcher.refused[0] is not error:
                raise
            return catcher.refused[1]
    return found[0]


def run_kernel(
    function: Any,
    grid: tuple[int, ...],
    *args: Any,
    values: bool = True,
    ctas: Sequence[int] | None = None,
    device: Device | None = None,
    **options: Any,
) -> Run:
    """Compiles a `@triton.jit` function without a GPU and executes it.

    Args:
        function: The function.
        grid: One to three sizes.
        args: CPU tensors and numbers.
        values: Whether tensors are computed.
        ctas: The CTAs to trace; None means CTA 0.
        device: The GPU; the H200 by default.
        options: Constexprs, and options of the launch such as `num_warps`.
    """
    launch = compile_kernel(function, grid, *args, device=device, **options)
    return execute(launch, values=values, ctas=ctas, device=device)


def ttgir_launch(text: str, *args: Any, grid: tuple[int, int, int] = (1, 1, 1), warps: int = 4) -> Launch:
    """A launch of hand-written TTGIR: a module, or functions that a module is put around."""
    if not re.search(r"^module", text, re.MULTILINE):
        text = f"{MODULE.format(warps=warps)}\n{text}\n}}\n"
    name = re.search(r"tt\.func public @(\w+)", text)
    assert name is not None
    parameters = [(f"arg{number}", value) for number, value in enumerate(args)]
    metadata = {"shared": 0, "num_warps": warps, "num_ctas": 1, "num_stages": 1}
    return Launch(name[1], grid, parameters, dict(parameters), text, metadata)


def run_ttgir(
    text: str, *args: Any, grid: tuple[int, int, int] = (1, 1, 1), warps: int = 4, values: bool = True
) -> Run:
    """Executes hand-written TTGIR with torch tensors for its pointers.

    A text without `module` is functions only; layouts are written out, or as aliases in front of a whole module.
    """
    return execute(ttgir_launch(text, *args, grid=grid, warps=warps), values=values)


def fbtriton_only(lack: str) -> pytest.MarkDecorator:
    """Skips a test where triton-utlx compiles, because of what that lacks."""
    fbtriton = _triton.toolchain().distribution == "fbtriton"
    return pytest.mark.skipif(not fbtriton, reason=f"triton-utlx: {lack}")


def executes(
    *operations: str, utlx: Sequence[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Says of a test that it executes operations; it fails if it does not.

    Args:
        operations: Their names.
        utlx: The names where triton-utlx compiles, if that makes others of the kernel.
    """
    if utlx is not None and _triton.toolchain().distribution != "fbtriton":
        operations = tuple(utlx)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(*args: Any, **options: Any) -> None:
            _executed.clear()
            test(*args, **options)
            missing = set(operations) - _executed
            assert not missing, f"not executed: {', '.join(sorted(missing))}"

        return run

    return decorate
