"""Where the elements of a tensor are: registers of threads, or offsets in shared memory, as linear layouts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.ir.encodings import (
    Blocked,
    DotOperand,
    Layout,
    Linear,
    NvidiaMma,
    NvmmaShared,
    PaddedShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)
from tlxviz.ir.linear import Basis, LinearLayout, flattened, solve, unit

_BOX = 256
"""Elements that a TMA box has in a dimension, at most."""


def is_regular(shape: Sequence[int]) -> bool:
    """Whether all sizes are powers of two, without which a layout is not linear."""
    return all(size > 0 and size & (size - 1) == 0 for size in shape)


def distributed(layout: Layout | None, shape: Sequence[int]) -> LinearLayout | None:
    """Registers, lanes and warps to elements; None for layouts and shapes of which that is not known."""
    if not is_regular(shape):
        return None
    rank = len(shape)
    match layout:
        case Blocked() if len(layout.order) == rank:
            made = _blocked(layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, layout.order, rank)
            return made.fitted(shape, "register", layout.order)
        case NvidiaMma(version=2 | 3) if rank == 2 and is_regular(layout.instruction):
            return _mma(layout, shape)
        case DotOperand(parent=NvidiaMma(version=2 | 3) as parent) if rank == 2 and layout.k_width:
            return _mma_operand(layout, parent, shape)
        case DotOperand(parent=Blocked() as parent) if rank == 2 and len(parent.order) == 2:
            return _plain_operand(layout.index, parent, shape)
        case Slice():
            return _slice(layout, shape)
        case Linear():
            held = {"register": layout.register, "lane": layout.lane, "warp": layout.warp}
            if any(len(basis) != rank for bases in held.values() for basis in bases):
                return None
            return LinearLayout(held, tuple(shape)).fitted(shape, "register", range(rank))
        case _:
            return None


def _spread(sizes: Sequence[int], order: Sequence[int], without: int = -1) -> tuple[Basis, ...]:
    """Bases that go through `sizes`, the first dimension of `order` fastest; zeros in the dimension `without`."""
    rank = len(sizes)
    return tuple(
        unit(rank, dimension, 0 if dimension == without else 1 << bit)
        for dimension in order
        for bit in range(sizes[dimension].bit_length() - 1)
    )


def _scaled(bases: Sequence[Basis], by: Sequence[int]) -> tuple[Basis, ...]:
    return tuple(tuple(c * factor for c, factor in zip(basis, by, strict=True)) for basis in bases)


def _blocked(
    registers: Sequence[int], lanes: Sequence[int], warps: Sequence[int], order: Sequence[int], rank: int, k: int = -1
) -> LinearLayout:
    """Blocks of registers, of lanes and of warps; lanes and warps that differ along dimension `k` have the same."""
    thread = [1 if d == k else size for d, size in enumerate(lanes)]
    by_lane = tuple(registers)
    by_warp = tuple(a * b for a, b in zip(registers, thread, strict=True))
    bases = {
        "register": _spread(registers, order),
        "lane": _scaled(_spread(lanes, order, k), by_lane),
        "warp": _scaled(_spread(warps, order, k), by_warp),
    }
    shape = tuple(a * b * c for a, b, c in zip(registers, lanes, warps, strict=True))
    return LinearLayout(bases, shape[:rank])


def _mma(layout: NvidiaMma, shape: Sequence[int]) -> LinearLayout:
    m, n = layout.instruction[:2]
    return _fragment((m, n), 2, (1, 0), layout, -1).fitted(shape, "register", (1, 0))


def _mma_operand(layout: DotOperand, parent: NvidiaMma, shape: Sequence[int]) -> LinearLayout:
    k = 1 - layout.index
    tile = (16, 8 * layout.k_width) if layout.index == 0 else (8 * layout.k_width, 8)
    order = (k, 1 - k)
    made = _fragment(tile, layout.k_width, order, parent, k)
    return made.fitted(shape, "register", order)


def _fragment(tile: tuple[int, int], width: int, order: tuple[int, int], mma: NvidiaMma, k: int) -> LinearLayout:
    """One warp's part of a tensor core's instruction, and where the warps stand.

    Four lanes have `width` neighbours each along `order[0]`, eight such rows are along `order[1]`, and registers repeat
    that up to the tile: along `order[1]` first.
    """
    fast, slow = order
    registers = [unit(2, fast, 1 << bit) for bit in range(width.bit_length() - 1)]
    lanes = [unit(2, fast, width << bit) for bit in range(2)] + [unit(2, slow, 1 << bit) for bit in range(3)]
    for dimension, reached in ((slow, 8), (fast, 4 * width)):
        while reached < tile[dimension]:
            registers.append(unit(2, dimension, reached))
            reached *= 2
    by_warp = _scaled(_spread(mma.warps_per_cta, (0, 1) if mma.version == 3 else (1, 0), k), tile)
    return LinearLayout({"register": tuple(registers), "lane": tuple(lanes), "warp": by_warp}, tile)


def _plain_operand(index: int, parent: Blocked, shape: Sequence[int]) -> LinearLayout:
    k = 1 - index
    registers = [shape[d] if d == k else size for d, size in enumerate(parent.size_per_thread)]
    made = _blocked(registers, parent.threads_per_warp, parent.warps_per_cta, parent.order, 2, k)
    return made.fitted(shape, "register", parent.order)


def _slice(layout: Slice, shape: Sequence[int]) -> LinearLayout | None:
    dimension = layout.dimension
    if not 0 <= dimension <= len(shape):
        return None
    whole = distributed(layout.parent, (*shape[:dimension], 1, *shape[dimension:]))
    if whole is None:
        return None

    def cut(basis: Basis) -> Basis:
        return (*basis[:dimension], *basis[dimension + 1 :])

    bases = {kind: tuple(map(cut, held)) for kind, held in whole.bases.items()}
    bases["register"] = tuple(basis for basis in bases["register"] if any(basis))
    return LinearLayout(bases, tuple(shape))


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where the elements of a tensor are in shared memory, from the beginning of the tensor's memory."""

    layout: LinearLayout
    """Offsets in elements to coordinates, before padding."""
    intervals: tuple[tuple[int, int], ...] = ()
    """After every so many elements, so many are left free."""

    def bases(self) -> tuple[tuple[int, ...], ...] | None:
        """For each dimension, the offset of each bit of its coordinate; None where two elements share a place."""
        shape = self.layout.shape
        wanted = [
            flattened(unit(len(shape), d, 1 << bit), shape)
            for d, size in enumerate(shape)
            for bit in range(size.bit_length() - 1)
        ]
        found = solve(wanted, self.layout.flat("offset"))
        if found is None:
            return None
        taken = iter(found)
        return tuple(tuple(next(taken) for _ in range(size.bit_length() - 1)) for size in shape)

    def padded(self, offset: int) -> int:
        """An offset with the gaps before it."""
        return offset + sum(offset // interval * padding for interval, padding in self.intervals)


def offsets(layout: Layout | None, shape: Sequence[int]) -> Offsets | None:
    """Where elements are in shared memory; None for layouts and shapes of which that is not known."""
    if not is_regular(shape):
        return None
    rank = len(shape)
    match layout:
        case SwizzledShared() if len(layout.order) == rank:
            return Offsets(_swizzled(layout, shape))
        case NvmmaShared(fp4_padded=False):
            made = _nvmma(layout, shape)
            return Offsets(made) if made is not None else None
        case PaddedShared() if layout.offset or len(layout.order) == rank:
            bases = layout.offset or _spread(shape, layout.order)
            return Offsets(LinearLayout({"offset": bases}, tuple(shape)), layout.intervals)
        case SharedLinear() if all(len(basis) == rank for basis in layout.offset):
            return Offsets(LinearLayout({"offset": layout.offset}, tuple(shape)))
        case _:
            return None


def _swizzled(layout: SwizzledShared, shape: Sequence[int]) -> LinearLayout:
    rank = len(shape)
    if rank < 2:
        return LinearLayout({"offset": _spread(shape, layout.order)}, tuple(shape))
    column, row, *rest = layout.order
    bases = list(_spread(shape, [column]))
    for bit in range(shape[row].bit_length() - 1):
        phase = (1 << bit) // layout.per_phase % layout.max_phase
        basis = list(unit(rank, row, 1 << bit))
        basis[column] = layout.vec * phase % shape[column]
        bases.append(tuple(basis))
    bases += _spread(shape, rest)
    return LinearLayout({"offset": tuple(bases)}, tuple(shape))


def _nvmma(layout: NvmmaShared, shape: Sequence[int]) -> LinearLayout | None:
    """As `nvmmaSharedToLinearLayout` of Triton has it: TMA boxes one behind the other."""
    rank = len(shape)
    dimensions = list(range(rank))
    if layout.transposed:
        if rank != 2 or not layout.swizzle:  # without a swizzle, versions of Triton differ
            return None
        dimensions = [1, 0]
    *outer, inner = dimensions
    width = 8 * layout.swizzle // layout.element_bits
    box = [min(size, _BOX) for size in shape]
    if not layout.swizzle:
        made = LinearLayout({"offset": _spread(box, list(reversed(dimensions)))}, tuple(box))
        return made.fitted(shape, "offset")
    if shape[inner] < width or not outer:
        return None
    box[inner] = width
    vector = 128 // layout.element_bits
    phases = layout.swizzle // 16
    bases = list(_spread(box, [inner]))
    rows = 1
    for dimension in reversed(outer):
        for bit in range(box[dimension].bit_length() - 1):
            basis = list(unit(rank, dimension, 1 << bit))
            basis[inner] = vector * (rows * phases // 8 % phases)
            bases.append(tuple(basis))
            rows *= 2
    made = LinearLayout({"offset": tuple(bases)}, tuple(box))
    return made.fitted(shape, "offset", range(rank))
