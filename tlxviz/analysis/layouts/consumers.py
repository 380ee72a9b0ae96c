"""Who reads and writes a buffer, which layouts it takes, and which it would refuse.

What TMA, `wgmma` and `tcgen05` take is what Triton's compiler lets pass for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlxviz.ir.encodings import NvmmaShared, Shared, SwizzledShared
from tlxviz.ir.operation import Operation

_TMA = {
    "ttng.async_tma_copy_global_to_local": "TMA load",
    "ttng.async_tma_gather": "TMA gather",
    "ttng.async_tma_copy_local_to_global": "TMA store",
    "ttng.async_tma_reduce": "TMA reduction",
    "ttng.async_tma_scatter": "TMA scatter",
}
_PRODUCTS = {"ttng.warp_group_dot": "wgmma", "ttng.tc_gen5_mma": "tcgen05", "ttng.tc_gen5_mma_scaled": "tcgen05"}
_OTHERS = {
    "ttng.async_store": "bulk copy to global memory",
    "ttg.async_remote_shmem_copy": "copy to another CTA",
    "ttg.async_remote_shmem_store": "store to another CTA",
    "ttg.remote_shmem_store": "store to another CTA",
    "ttng.tmem_copy": "tcgen05.cp",
    "ttng.tmem_load": "tcgen05.ld",
    "ttng.tmem_store": "tcgen05.st",
    "ttng.tmem_alloc": "tcgen05.st",
    "ttg.local_load": "load",
    "ttg.local_store": "store",
    "ttg.local_alloc": "store",
    "ttg.local_gather": "gather",
    "ttg.local_scatter": "scatter",
    "ttg.async_copy_global_to_local": "cp.async",
    "ttng.async_clc_try_cancel": "launch control",
    "ttng.clc_query_cancel": "launch control",
}
_CORE_ROW = 16
"""Bytes of a row of the matrices that products read where nothing is swizzled."""
_LEAST_COPY = 4
"""Bytes that cp.async moves, at least."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A buffer's layout as an operation sees it through a view."""

    layout: Shared | None
    shape: Sequence[int]
    bits: int
    inner: int
    """The dimension of the view along which neighbours are neighbours in memory."""


def consumer(operation: Operation, part: str, seen: Seen | None) -> str:
    """What an operation is to a buffer: `wgmma A, K-major`, `TMA load`, `store`, ..."""
    product = _PRODUCTS.get(operation.name)
    if product is not None:
        if part not in ("a", "b"):
            names = {"c": "accumulator", "d": "accumulator", "a_scale": "scales of A", "b_scale": "scales of B"}
            return f"{product} {names.get(part, part)}"
        major = "" if seen is None or len(seen.shape) != 2 else f", {_major(part, seen)}-major"
        return f"{product} {part.upper()}{major}"
    return _TMA.get(operation.name) or _OTHERS.get(operation.name) or operation.name


def asks(operation: Operation, part: str) -> str:
    """What an operation asks of a buffer's layout; empty where it takes any."""
    if operation.name in _TMA:
        return "nvmma, rows at least as wide as the swizzle"
    if operation.name in _PRODUCTS and part in ("a", "b"):
        return "nvmma with a swizzle, or rows of 16 bytes"
    if operation.name == "ttg.async_copy_global_to_local":
        return "4 bytes together or more"
    return ""


def refusal(operation: Operation, part: str, seen: Seen, together: int = 0) -> str:
    """Why an operation would not take a layout; empty where it would.

    Args:
        together: Bytes that a thread can copy at once into the layout, for cp.async.
    """
    layout = seen.layout
    if operation.name in _TMA:
        return _refused_by_tma(layout, seen)
    if operation.name in _PRODUCTS and part in ("a", "b"):
        return _refused_by_product(_PRODUCTS[operation.name], part, layout, seen)
    if operation.name == "ttg.async_copy_global_to_local" and 0 < together < _LEAST_COPY:
        return f"cp.async copies {_LEAST_COPY} bytes or more at once, and {together} are together"
    return ""


def _refused_by_tma(layout: Shared | None, seen: Seen) -> str:
    if not isinstance(layout, NvmmaShared):
        return "TMA writes and reads nvmma layouts alone"
    if layout.transposed or seen.inner != len(seen.shape) - 1:
        return "TMA takes no transposed layout: rows of the box are rows in memory"
    return _too_narrow(layout, seen)


def _refused_by_product(product: str, part: str, layout: Shared | None, seen: Seen) -> str:
    if not isinstance(layout, NvmmaShared):
        return f"{product} reads nvmma layouts alone"
    row = seen.shape[seen.inner] * seen.bits // 8
    if not layout.swizzle and row != _CORE_ROW:
        return f"{product} needs a swizzle where rows are not {_CORE_ROW} bytes, and these are {row}"
    takes = (16,) if product == "wgmma" else (8, 16)
    if seen.bits not in takes and len(seen.shape) == 2 and _major(part, seen) == "MN":
        return f"{product} takes MN-major operands of {' and '.join(map(str, takes))}-bit types alone"
    return _too_narrow(layout, seen)


def _too_narrow(layout: NvmmaShared, seen: Seen) -> str:
    row = seen.shape[seen.inner] * seen.bits // 8 * (2 if layout.fp4_padded else 1)
    if row < layout.swizzle:
        return f"its rows of {row} bytes are narrower than the swizzle"
    return ""


def _major(part: str, seen: Seen) -> str:
    """`K` or `MN`: A is M x K, B is K x N."""
    along = seen.inner == 1 if part == "a" else seen.inner == 0
    return "K" if along else "MN"


def inner_dimension(layout: Shared | None, rank: int) -> int:
    """The dimension of a layout along which neighbours are neighbours in memory."""
    if isinstance(layout, NvmmaShared):
        return 0 if layout.transposed else rank - 1
    if isinstance(layout, SwizzledShared) and layout.order:
        return layout.order[0]
    return rank - 1
