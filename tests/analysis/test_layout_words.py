"""Layouts in words."""

from __future__ import annotations

import pytest

from tlxviz.analysis.layouts.words import describe
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
)

PLAIN = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
WGMMA = NvidiaMma(3, (4, 1), (16, 64, 16))


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (PLAIN, "blocked 1x8 a thread, 4x8 lanes, 4x1 warps"),
        (Blocked((8, 1), (8, 4), (1, 4), (0, 1)), "blocked 8x1 a thread, 8x4 lanes, 1x4 warps, order 0x1"),
        (WGMMA, "wgmma m64n64k16 accumulator, 4x1 warps"),
        (NvidiaMma(2, (2, 2), (16, 8)), "mma.sync m16n8 accumulator, 2x2 warps"),
        (NvidiaMma(5, (4, 1), (16, 8)), "mma v5 accumulator, 4x1 warps"),
        (DotOperand(0, WGMMA, 2), "operand A of wgmma m64n64k16, 2 neighbours along K"),
        (DotOperand(1, PLAIN, 0), "operand B of blocked 1x8 a thread, 4x8 lanes, 4x1 warps"),
        (Slice(1, PLAIN), "dimension 1 taken out of blocked 1x8 a thread, 4x8 lanes, 4x1 warps"),
        (Linear(((0, 1),), ((1, 0), (2, 0)), ((4, 0), (0, 2))), "linear: rows over lanes, rows and columns over warps"),
        (Linear((), ((0,),), ()), "linear: the same over lanes, the same over warps"),
        (Linear((), ((1, 0, 0),), ((0, 0, 1),)), "linear: dimension 0 over lanes, dimension 2 over warps"),
        (SwizzledShared(1, 1, 1, (1, 0)), "no swizzle"),
        (SwizzledShared(8, 2, 4, (0, 1)), "swizzled(8, 2, 4), order 0x1"),
        (NvmmaShared(64, True, 16), "nvmma, swizzle 64 B, transposed"),
        (NvmmaShared(0, False, 8), "nvmma, no swizzle"),
        (NvmmaShared(128, False, 8, True), "nvmma, swizzle 128 B, fp4 padded"),
        (PaddedShared(((32, 4), (64, 8)), (1, 0)), "padded(32:+4, 64:+8)"),
        (SharedLinear(((0, 1),), 16), "shared linear"),
        (TensorMemory(128, 64, 1), "tensor memory, blocks of 128x64"),
        (TensorMemory(64, 32, 2, True), "tensor memory, blocks of 64x32, one column in 2, two CTAs"),
        (TensorMemoryScales(), "tensor memory, scales"),
        (Other("amd_mfma"), "amd_mfma"),
        (None, "no layout"),
    ],
)
def test_words(layout: Layout | None, words: str):
    assert describe(layout) == words
