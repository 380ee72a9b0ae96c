"""Kernels of one access or conversion, compiled: which instructions Triton picks for it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import triton
from ir.layout_reference import in_gluon
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from tlxviz.ir.encodings import Layout

TYPES = {8: ("i8", gl.int8), 16: ("fp16", gl.float16), 32: ("fp32", gl.float32)}
_SHARED = re.compile(r"\b(ld\.shared|st\.shared)(?:::cta)?(?:\.v(\d))?\.b(\d+)")
_MATRIX = re.compile(r"\b(ldmatrix|stmatrix)\.sync\.aligned\.m8n8\.(x\d)(\.trans)?")

Instruction = tuple[str, int]
"""Name, and bytes of a lane."""


@gluon.jit
def through_memory(
    out, threads: gl.constexpr, memory: gl.constexpr, M: gl.constexpr, N: gl.constexpr, dtype: gl.constexpr
):
    rows = gl.arange(0, M, gl.SliceLayout(1, threads))
    columns = gl.arange(0, N, gl.SliceLayout(0, threads))
    places = rows[:, None] * N + columns[None, :]
    buffer = gl.allocate_shared_memory(dtype, [M, N], memory)
    buffer.store((places + gl.program_id(0)).to(dtype))
    gl.barrier()
    gl.store(out + places, buffer.load(threads))


@gluon.jit
def converted(out, source: gl.constexpr, target: gl.constexpr, M: gl.constexpr, N: gl.constexpr, dtype: gl.constexpr):
    rows = gl.arange(0, M, gl.SliceLayout(1, source))
    columns = gl.arange(0, N, gl.SliceLayout(0, source))
    value = gl.convert_layout((rows[:, None] * N + columns[None, :] + gl.program_id(0)).to(dtype), target)
    to_rows = gl.arange(0, M, gl.SliceLayout(1, target))
    to_columns = gl.arange(0, N, gl.SliceLayout(0, target))
    gl.store(out + to_rows[:, None] * N + to_columns[None, :], value)


def compiled(kernel: Any, shape: tuple[int, int], bits: int, **layouts: Layout) -> Any:
    """The kernel for an H100."""
    name, dtype = TYPES[bits]
    constants = {key: in_gluon(layout) for key, layout in layouts.items()}
    constants |= {"M": shape[0], "N": shape[1], "dtype": dtype}
    signature = {"out": f"*{name}", **dict.fromkeys(constants, "constexpr")}
    return triton.compile(GluonASTSource(kernel, signature, constants), target=GPUTarget("cuda", 90, 32))


def accesses(ptx: str) -> dict[Instruction, int]:
    """How often each load and store of shared memory is there, in one warp's code."""
    found: Counter[Instruction] = Counter()
    for name, count, bits in _SHARED.findall(ptx):
        found[name, int(count or 1) * int(bits) // 8] += 1
    for name, count, transposed in _MATRIX.findall(ptx):
        found[f"{name}.{count}{transposed}", 4 * int(count[1:])] += 1
    return dict(found)


def shuffles(ptx: str) -> int:
    return len(re.findall(r"\bshfl\.sync", ptx))
