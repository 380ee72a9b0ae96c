"""Compiles one product or copy, and ends with status 0 if the compiler takes it; it may also abort.

Arguments: `wgmma` or `tcgen05` with the operand, or `tma`; swizzle, `transposed` or `rows`, and bits of an element.
"""

from __future__ import annotations

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma, warpgroup_mma, warpgroup_mma_wait

M, N, K = 128, 128, 128
TYPES = {8: gl.float8e5, 16: gl.float16, 32: gl.float32}


@gluon.jit
def wgmma(out, A: gl.constexpr, B: gl.constexpr, dtype: gl.constexpr, result: gl.constexpr):
    a = gl.allocate_shared_memory(dtype, [128, 128], A)
    b = gl.allocate_shared_memory(dtype, [128, 128], B)
    sums = gl.zeros([128, 128], gl.float32, result)
    sums = warpgroup_mma_wait(0, deps=[warpgroup_mma(a, b, sums, is_async=True)])
    rows = gl.arange(0, 128, gl.SliceLayout(1, result))
    columns = gl.arange(0, 128, gl.SliceLayout(0, result))
    gl.store(out + rows[:, None] * 128 + columns[None, :], sums)


@gluon.jit
def tcgen05(out, A: gl.constexpr, B: gl.constexpr, dtype: gl.constexpr, result: gl.constexpr):
    a = gl.allocate_shared_memory(dtype, [128, 128], A)
    b = gl.allocate_shared_memory(dtype, [128, 128], B)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    sums = allocate_tensor_memory(gl.float32, [128, 128], result)
    tcgen05_mma(a, b, sums, use_acc=False)
    tcgen05_commit(bar)
    mbarrier.wait(bar, 0)


@gluon.jit
def copied(source, A: gl.constexpr, dtype: gl.constexpr):
    a = gl.allocate_shared_memory(dtype, [128, 128], A)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    mbarrier.expect(bar, 1024)
    tma.async_copy_global_to_shared(source, [0, 0], bar, a)
    mbarrier.wait(bar, 0)


def main(what: str, operand: str, swizzle: str, order: str, bits_text: str) -> None:
    bits = int(bits_text)
    if swizzle == "swizzled":
        asked = gl.SwizzledSharedLayout(8, 1, 8, [1, 0])
    else:
        asked = gl.NVMMASharedLayout(int(swizzle), bits, 2, order == "transposed")
    # what any product takes: A by rows, B by columns
    usual = {"a": gl.NVMMASharedLayout(128, bits, 2), "b": gl.NVMMASharedLayout(128, bits, 2, transposed=True)}
    constants = {"A": usual["a"], "B": usual["b"], "dtype": TYPES[bits]}
    if what == "tma":
        constants = {"A": asked, "dtype": TYPES[bits]}
        name = {8: "fp8e5", 16: "fp16", 32: "fp32"}[bits]
        signature = {"source": f"tensordesc<{name}[128,128],{asked!r}>", **dict.fromkeys(constants, "constexpr")}
        kernel, capability = copied, 90
    else:
        constants[operand.upper()] = asked
        hopper = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 256 // bits])
        constants["result"] = hopper if what == "wgmma" else TensorMemoryLayout((128, 128), 1)
        signature = {"out": "*fp32", **dict.fromkeys(constants, "constexpr")}
        kernel, capability = (wgmma, 90) if what == "wgmma" else (tcgen05, 100)
    triton.compile(GluonASTSource(kernel, signature, constants), target=GPUTarget("cuda", capability, 32))


if __name__ == "__main__":
    main(*sys.argv[1:])
