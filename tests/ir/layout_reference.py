"""Triton's own linear layouts, which those of `tlxviz.ir.places` must equal; and layouts to compare, at random."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tlxviz.ir.encodings import (
    Blocked,
    DotOperand,
    Layout,
    NvidiaMma,
    NvmmaShared,
    Slice,
    SwizzledShared,
)

Case = tuple[Layout, tuple[int, ...]]
PLAIN = Blocked((1, 8), (4, 8), (4, 1), (1, 0))
WGMMA = NvidiaMma(3, (4, 1), (16, 64, 16))
MMA = NvidiaMma(2, (4, 1), (16, 8))


class Reference:
    """Triton's builder of Gluon's IR."""

    def __init__(self) -> None:
        from triton._C.libtriton import gluon_ir, ir

        self._context: Any = ir.context()  # the builder does not keep it
        ir.load_dialects(self._context)
        self.builder: Any = gluon_ir.GluonOpBuilder(self._context)

    def bases(self, layout: Layout, shape: tuple[int, ...]) -> dict[str, tuple[tuple[int, ...], ...]]:
        """The bases by kind of place."""
        found = self.builder.to_linear_layout(self.attribute(layout, len(shape)), list(shape))
        kinds = {"offset": "offset_bases"}
        if hasattr(found, "reg_bases"):
            kinds = {"register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases"}
        return {kind: tuple(map(tuple, getattr(found, name))) for kind, name in kinds.items()}

    def conflicts(self, threads: Layout, memory: Layout, shape: tuple[int, ...], bits: int) -> int:
        """Transactions beyond the first, for each that would do."""
        return self.builder.get_shared_bank_conflicts(
            self.attribute(threads, len(shape)), self.attribute(memory, len(shape)), list(shape), bits
        )

    def attribute(self, layout: Layout, rank: int) -> Any:
        return in_gluon(layout, rank)._to_ir(self.builder)


def in_gluon(layout: Layout, rank: int = 2) -> Any:
    """The layout as Gluon writes it."""
    from triton.experimental.gluon.language import _layouts as gluon

    match layout:
        case Blocked():
            parts = (layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, layout.order)
            return gluon.BlockedLayout(*map(list, parts))
        case NvidiaMma():
            return gluon.NVMMADistributedLayout(
                [layout.version, 0], list(layout.warps_per_cta), list(layout.instruction)
            )
        case DotOperand():
            return gluon.DotOperandLayout(layout.index, in_gluon(layout.parent), layout.k_width)
        case Slice():
            return gluon.SliceLayout(layout.dimension, in_gluon(layout.parent, rank + 1))
        case SwizzledShared():
            return gluon.SwizzledSharedLayout(layout.vec, layout.per_phase, layout.max_phase, list(layout.order))
        case NvmmaShared():
            return gluon.NVMMASharedLayout(layout.swizzle, layout.element_bits, rank, layout.transposed)
        case _:
            raise NotImplementedError(layout)


def random_threads(seed: int, count: int) -> Iterator[Case]:
    """Layouts of threads with shapes that are smaller and larger than they are."""
    rnd = random.Random(seed)

    def power(low: int, high: int) -> int:
        return 1 << rnd.randint(low, high)

    def blocked() -> Blocked:
        lanes, warps = rnd.randint(0, 5), rnd.randint(0, 2)
        order = rnd.choice([(0, 1), (1, 0)])
        return Blocked((power(0, 3), power(0, 3)), (1 << lanes, 32 >> lanes), (1 << warps, 4 >> warps), order)

    def mma() -> NvidiaMma:
        if rnd.random() < 0.5:
            return NvidiaMma(2, rnd.choice([(4, 1), (2, 2), (1, 4)]), (16, 8))
        return NvidiaMma(3, rnd.choice([(4, 1), (8, 1), (4, 2)]), (16, power(3, 8), 16))

    for _ in range(count):
        shape = (power(3, 9), power(3, 9))
        match rnd.randrange(6):
            case 0:
                yield blocked(), shape
            case 1:
                yield Blocked((power(0, 3),), (32,), (4,), (0,)), (power(0, 12),)
            case 2:
                order = tuple(rnd.sample(range(3), 3))
                sizes = (power(0, 1), power(0, 2), power(0, 2))
                yield Blocked(sizes, (2, 4, 4), (1, 2, 2), order), (power(0, 4), power(0, 5), power(0, 6))
            case 3:
                yield mma(), shape
            case 4:
                parent = mma()
                index = rnd.choice([0, 1]) if parent.version == 2 else 0
                yield DotOperand(index, parent, rnd.choice([1, 2, 4])), (power(5, 8), power(5, 8))
                yield DotOperand(rnd.choice([0, 1]), blocked(), 0), shape
            case _:
                yield Slice(rnd.choice([0, 1]), rnd.choice([blocked(), mma()])), (power(3, 9),)


def random_memory(seed: int, count: int) -> Iterator[Case]:
    """Layouts of shared memory with shapes that fit them."""
    rnd = random.Random(seed)

    def power(low: int, high: int) -> int:
        return 1 << rnd.randint(low, high)

    for _ in range(count):
        if rnd.random() < 0.5:
            rank = rnd.choice([2, 3])
            shape = tuple(power(3, 8) for _ in range(rank))
            order = tuple(rnd.sample(range(rank), rank))
            yield SwizzledShared(power(0, 3), power(0, 2), power(0, 3), order), shape
            continue
        shape = (power(0, 4), power(3, 6), power(3, 6)) if rnd.random() < 0.3 else (power(3, 9), power(3, 9))
        bits, swizzle = rnd.choice([8, 16, 32]), rnd.choice([0, 32, 64, 128])
        transposed = bool(swizzle) and len(shape) == 2 and rnd.random() < 0.5
        inner = shape[0] if transposed else shape[-1]
        rows = 1
        for size in shape:
            rows *= size
        if inner * bits // 8 >= max(16, swizzle) and rows // inner >= 8:
            yield NvmmaShared(swizzle, transposed, bits), shape
