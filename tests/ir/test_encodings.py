"""What layout attributes describe, as TTGIR prints them."""

from __future__ import annotations

import pytest
from ir_samples import parsed

from tlxviz.ir.encodings import (
    Blocked,
    DotOperand,
    Layout,
    Linear,
    NvidiaMma,
    NvmmaShared,
    Other,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
    TensorMemory,
    TensorMemoryScales,
    layout_of,
)
from tlxviz.ir.types import MemDescType, TensorType

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>"
PLAIN = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
FRAGMENT = NvidiaMma(2, (4, 1), (16, 8))

TENSORS: list[tuple[str, Layout]] = [
    (BLOCKED, PLAIN),
    (MMA, FRAGMENT),
    (f"#ttg.slice<{{dim = 1, parent = {BLOCKED}}}>", Slice(1, PLAIN)),
    (f"#ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>", DotOperand(1, FRAGMENT, 2)),
    (f"#ttg.dot_op<{{opIdx = 0, parent = {BLOCKED}}}>", DotOperand(0, PLAIN, 0)),
    (
        "#ttg.linear<{register = [[0, 1], [8, 0]], lane = [[0, 2]], warp = [], block = []}>",
        Linear(((0, 1), (8, 0)), ((0, 2),), ()),
    ),
    ("#ttg.linear<{register = [], lane = [], warp = [], block = [[1, 0]]}>", Other("linear")),
    (BLOCKED.replace("}>", ", CGALayout = [[1, 0]]}>"), Other("blocked")),
    ("#ttg.amd_mfma<{version = 3}>", Other("amd_mfma")),
    ("#ttg.blocked<{sizePerThread = [1, 8]}>", Other("blocked")),
]
MEMORY: list[tuple[str, Layout]] = [
    (
        "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>",
        SwizzledShared(8, 2, 4, (1, 0)),
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = true, elementBitWidth = 16}>",
        NvmmaShared(64, True, 16),
    ),
    (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>",
        NvmmaShared(128, False, 8, True),
    ),
    ("#ttg.padded_shared<[32:+4] {order = [1, 0], shape = [64, 64]}>", PaddedShared(((32, 4),), (1, 0))),
    (
        "#ttg.padded_shared<[32:+4, 64:+8] {offset = [[0, 1], [1, 0]], block = []}>",
        PaddedShared(((32, 4), (64, 8)), (), ((0, 1), (1, 0))),
    ),
    ("#ttg.padded_shared<[32:+4] {offset = [[0, 1]], block = [[1, 0]]}>", Other("padded_shared", "...")),
    ("#ttg.shared_linear<{offset = [[0, 1], [1, 0]]}, alignment = 16>", SharedLinear(((0, 1), (1, 0)), 16)),
]
TENSOR_MEMORY: list[tuple[str, Layout]] = [
    ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>", TensorMemory(128, 64, 1)),
    (
        "#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 2, twoCTAs = true>",
        TensorMemory(64, 32, 2, True),
    ),
    ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true>", TensorMemory(128, 64, 2)),
    ("#ttng.tensor_memory_scales_encoding<>", TensorMemoryScales()),
]


def encoding_in(type_: str) -> Layout | None:
    """The layout of the tensor or view of memory that is so printed."""
    module = parsed(f"%v = ub.poison : {type_}")
    made = module.kernel.regions[0].entry.operations[0].result.type
    assert isinstance(made, TensorType | MemDescType)
    return layout_of(made.encoding)


@pytest.mark.parametrize(("text", "layout"), TENSORS)
def test_layouts_of_threads(text: str, layout: Layout):
    assert encoding_in(f"tensor<64x64xf16, {text}>") == layout


@pytest.mark.parametrize(("text", "layout"), MEMORY)
def test_layouts_of_shared_memory(text: str, layout: Layout):
    found = encoding_in(f"!ttg.memdesc<64x64xf16, {text}, #smem, mutable>")
    assert found == layout or (isinstance(found, Other) and isinstance(layout, Other) and found.name == layout.name)


@pytest.mark.parametrize(("text", "layout"), TENSOR_MEMORY)
def test_layouts_of_tensor_memory(text: str, layout: Layout):
    assert encoding_in(f"!ttg.memdesc<128x64xf32, {text}, #ttng.tensor_memory, mutable>") == layout


def test_a_tensor_without_a_layout():
    assert encoding_in("tensor<64xf16>") is None
