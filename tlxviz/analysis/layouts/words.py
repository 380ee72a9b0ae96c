"""Layouts in a few words."""

from __future__ import annotations

from collections.abc import Sequence

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
from tlxviz.ir.types import PointerType, ScalarType, Type


def by(sizes: Sequence[int]) -> str:
    """`128x64`."""
    return "x".join(map(str, sizes))


def element_name(type_: Type) -> str:
    """`f16`; `pointer` for pointers."""
    match type_:
        case ScalarType():
            return type_.name
        case PointerType():
            return "pointer"
        case _:
            return "?"


def element_bits(type_: Type) -> int:
    """0 where it is not known."""
    match type_:
        case ScalarType():
            return 8 if type_.bits == 1 else type_.bits
        case PointerType():
            return 64
        case _:
            return 0


def describe(layout: Layout | None) -> str:
    """What somebody who writes kernels would call it."""
    match layout:
        case Blocked():
            order = "" if _row_major(layout.order) else f", order {by(layout.order)}"
            return (
                f"blocked {by(layout.size_per_thread)} a thread, {by(layout.threads_per_warp)} lanes, "
                f"{by(layout.warps_per_cta)} warps{order}"
            )
        case NvidiaMma():
            return f"{instruction(layout)} accumulator, {by(layout.warps_per_cta)} warps"
        case DotOperand():
            width = f", {layout.k_width} neighbours along K" if layout.k_width else ""
            return f"operand {'AB'[layout.index]} of {_parent(layout.parent)}{width}"
        case Slice():
            return f"dimension {layout.dimension} taken out of {describe(layout.parent)}"
        case Linear():
            return f"linear: {_dimension(layout.lane)} over lanes, {_dimension(layout.warp)} over warps"
        case SwizzledShared():
            order = "" if _row_major(layout.order) else f", order {by(layout.order)}"
            if layout.max_phase == 1:
                return f"no swizzle{order}"
            return f"swizzled({layout.vec}, {layout.per_phase}, {layout.max_phase}){order}"
        case NvmmaShared():
            swizzle = f"nvmma, swizzle {layout.swizzle} B" if layout.swizzle else "nvmma, no swizzle"
            return (
                swizzle + (", transposed" if layout.transposed else "") + (", fp4 padded" if layout.fp4_padded else "")
            )
        case PaddedShared():
            return "padded(" + ", ".join(f"{interval}:+{padding}" for interval, padding in layout.intervals) + ")"
        case SharedLinear():
            return "shared linear"
        case TensorMemory():
            apart = "" if layout.column_stride == 1 else f", one column in {layout.column_stride}"
            return f"tensor memory, blocks of {layout.block_m}x{layout.block_n}{apart}" + (
                ", two CTAs" if layout.two_ctas else ""
            )
        case TensorMemoryScales():
            return "tensor memory, scales"
        case Other():
            return layout.name
        case None:
            return "no layout"


def instruction(layout: NvidiaMma) -> str:
    """`wgmma m64n256k16`."""
    sizes = layout.instruction
    if layout.version == 3 and len(sizes) == 3:
        return f"wgmma m{4 * sizes[0]}n{sizes[1]}k{sizes[2]}"
    return f"mma.sync m{sizes[0]}n{sizes[1]}" if layout.version == 2 and len(sizes) > 1 else f"mma v{layout.version}"


def _parent(layout: Layout) -> str:
    return instruction(layout) if isinstance(layout, NvidiaMma) else describe(layout)


def _row_major(order: Sequence[int]) -> bool:
    return list(order) == list(reversed(range(len(order))))


def _dimension(bases: Sequence[Sequence[int]]) -> str:
    """Which dimensions bases go along: `rows`, `columns`, `rows and columns`."""
    along = [d for d in range(len(bases[0]) if bases else 0) if any(basis[d] for basis in bases)]
    if not along:
        return "the same"
    if len(bases[0]) == 2:
        return " and ".join(("rows", "columns")[d] for d in along)
    return "dimension " + " and ".join(map(str, along))
