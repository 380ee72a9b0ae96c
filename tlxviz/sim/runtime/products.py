"""What generated code calls for products whose sums are in tensor memory: see `semantics.tcgen05`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush

import torch

from tlxviz.sim.dtypes import fp4_to_float, tf32
from tlxviz.sim.engine import Barrier, Cta, EventLoop
from tlxviz.sim.errors import Cause, ClusterError, Refused, RemoteFault, SimulationError
from tlxviz.sim.runtime.remote import remote_barrier, remote_view
from tlxviz.sim.shared import SharedView
from tlxviz.sim.tensor_memory import TensorMemoryView

View = SharedView | TensorMemoryView
Sources = tuple[View, View, TensorMemoryView, View | None, View | None, bool]
"""A, B, the sum, the scales of A and B, and whether the sum is added to."""
Arrivals = Sequence[tuple[Barrier, int]]
"""Barriers, each with the row that is the cause of what follows in its CTA."""

_ROWS_OF_A_BLOCK = 128
_BLOCK = (32, 4, 4)
"""Scales of 128 rows and four groups of K as shared memory has them: rows modulo 32, then 32 rows each, then groups."""


@dataclass(frozen=True, slots=True)
class Factor:
    """How an operand is read."""

    kind: str
    """Empty for numbers that are held as f32 already; `float`, `double`, `tf32`; or the format of bytes: `fp4`, where
    a byte has two numbers, or the name of a type."""
    axis: int
    """The dimension along which products are summed."""


@dataclass(frozen=True, slots=True)
class Product:
    """What is the same each time a product is issued."""

    site: int
    code: int
    """`code` of the rows of the tensor cores: see `engine.ROW`."""
    duration: int
    """Cycles that it keeps the tensor cores busy."""
    complete: int
    """Cycles from its begin until barriers are told."""
    flop: int
    """In each CTA."""
    a: Factor
    b: Factor
    detailed: bool = False
    """Whether rows have `engine.DETAILS`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A product under way, and what happens when it is complete."""

    spec: Product
    cta: Cta
    """Whose warp group has issued it."""
    sources: Sequence[Sources]
    """Of each CTA that takes part; none where nobody needs the values."""
    arrivals: Arrivals


def multiply_paired(
    spec: Product, cta: Cta, cycle: int, row: int, iteration: tuple[int, int], slot: int
) -> tuple[int, int]:
    """The tensor cores of both CTAs of a pair take up a product.

    Args:
        spec: The product.
        cta: The CTA that issues it.
        cycle: When it is issued.
        row: The row of the issue; -1 where nothing is recorded.
        iteration: Iterations of the outermost and the innermost loop.
        slot: The slot of the sum.

    Returns:
        The cycles at which it begins and at which it is complete.
    """
    peer = _peer(cta)
    begin = max(cycle, cta.sm.tensor_free, peer.sm.tensor_free)
    done = max(sm.multiply(begin, spec.duration, spec.complete, spec.flop)[1] for sm in (cta.sm, peer.sm))
    cta.sm.products_done = peer.sm.products_done = done
    if row >= 0:
        recorded = (spec.code, begin, done, *iteration, slot, -1, row + cta.origin)
        peer.rows.append((*recorded, -1, -1, -1) if spec.detailed else recorded)
    return begin, done


def of_one(spec: Product, cta: Cta, sources: Sources | None, told: Sequence[Barrier], cause: int) -> Finished:
    """What happens when a product of one CTA is complete."""
    return Finished(spec, cta, () if sources is None else (sources,), [(barrier, cause) for barrier in told])


def of_pair(spec: Product, cta: Cta, sources: Sources | None, told: Sequence[Barrier], cause: int) -> Finished:
    """What happens when a product of a pair of CTAs is complete: each has its part of both operands."""
    both: Sequence[Sources] = ()
    if sources is not None:
        *views, use = sources
        rank = cta.rank ^ 1
        there = [None if view is None else remote_view(cta, view, rank) for view in views]
        both = sources, (*there, use)  # type: ignore[assignment]
    # the event of the other CTA's tensor cores is its last one now
    there = -1 if cause < 0 else len(_peer(cta).rows) - 1
    return Finished(spec, cta, both, arrivals_of_pair(cta, told, cause, there))


def arrivals_of_pair(cta: Cta, told: Sequence[Barrier], cause: int, there: int) -> Arrivals:
    """Both CTAs are told, each at its barrier in the same place; `there` is the cause in the other CTA."""
    rank = _peer(cta).rank
    return [(b, cause) for b in told] + [(remote_barrier(cta, b, rank), there) for b in told]


def finish_product(cycle: int, finished: Finished) -> None:
    """A product is complete."""
    try:
        if finished.sources:
            _compute(finished.spec, finished.sources)
    except SimulationError as error:
        raise RemoteFault(error, finished.spec.site, finished.cta.index) from None
    arrive_complete(cycle, (finished.spec.site, finished.cta, finished.arrivals))


def arrive_complete(cycle: int, told: tuple[int, Cta, Arrivals]) -> None:
    """The tensor cores have done what they were given before, and tell barriers so: the site, whose warp group handed
    it to them, and the barriers."""
    site, cta, arrivals = told
    for barrier, cause in arrivals:
        try:
            barrier.last_site, barrier.last_time = site, cycle
            home = barrier.home
            if home is not None:
                barrier.last_cta = cta.index
                if home is not cta:
                    _check_there(barrier, home)
                    barrier.came(cycle, site, cta.index)
            barrier.pending -= 1
            if barrier.pending <= 0:
                barrier.settle(cycle, cause)
        except SimulationError as error:
            raise RemoteFault(error, site, cta.index) from None


def copy_to_tensor_memory(
    cycle: int, copied: tuple[SharedView, TensorMemoryView, bool, tuple[int, int], EventLoop]
) -> None:
    """`tcgen05.cp` has read its source, which may be of scales. Products issued before it still read what was there."""
    source, target, scales, products, loop = copied
    value = source.filled
    if scales:
        value = _unpacked(value, target.shape[0])
        if not value.is_floating_point():
            value = value.contiguous().view(target.dtype)
    if products[0] > cycle:
        heappush(loop.heap, (products[0], next(loop.sequence), _arrive_copy, (target, value.clone())))
    else:
        target.store(value.reshape(target.shape))


def _arrive_copy(cycle: int, copied: tuple[TensorMemoryView, torch.Tensor]) -> None:
    target, value = copied
    target.store(value.reshape(target.shape))


def _compute(spec: Product, sources: Sequence[Sources]) -> None:
    right = torch.cat([_right(spec, each) for each in sources], dim=1) if len(sources) > 1 else _right(spec, sources[0])
    for each in sources:
        a, _, sums, scales, _, use = each
        left = _read(spec.a, a)
        if scales is not None:
            left = left * _along(_scales(scales, left.shape[0]), left.shape[1], 1)
        cells = sums.plain
        if cells is not None and cells.dtype is torch.float32:
            cells.addmm_(left, right, beta=1 if use else 0)
            continue
        product = left @ right
        sums.store(product + sums.tensor.to(product.dtype) if use else product)


def _right(spec: Product, sources: Sources) -> torch.Tensor:
    b, scales = sources[1], sources[4]
    right = _read(spec.b, b)
    if scales is not None:
        right = right * _along(_scales(scales, right.shape[1]).t(), right.shape[0], 0)
    return right


def _read(factor: Factor, view: View) -> torch.Tensor:
    """An operand as f32, or as f64 if it is of integers."""
    tensor = view.tensor
    assert tensor is not None
    match factor.kind:
        case "":
            return tensor
        case "float":
            return tensor.float()
        case "double":
            return tensor.double()
        case "tf32":
            return tf32(tensor)
        case "fp4":
            return fp4_to_float(tensor, factor.axis, torch.float32)
        case name:
            dtype = {"f8E4M3FN": torch.float8_e4m3fn, "f8E5M2": torch.float8_e5m2}[name]
            return tensor.contiguous().view(dtype).float()


def _along(scales: torch.Tensor, steps: int, axis: int) -> torch.Tensor:
    """Scales of groups as one for each step."""
    return scales.repeat_interleave(steps // scales.shape[axis], axis)


def _scales(view: View, rows: int) -> torch.Tensor:
    """Scales by row and group: E4M3 numbers, or bytes that are exponents (E8M0)."""
    tensor = view.tensor
    assert tensor is not None
    if tensor.dim() != 2 or tensor.shape[0] != rows:
        tensor = _unpacked(tensor, rows)
    if tensor.is_floating_point():
        return tensor.float()
    exponents = tensor.contiguous().view(torch.uint8)
    powers = torch.exp2(exponents.float() - 127)
    return torch.where(exponents == 255, torch.nan, powers)


def _unpacked(packed: torch.Tensor, rows: int) -> torch.Tensor:
    """Scales by row and group, from blocks as shared memory has them: by rows, then by groups."""
    blocks = max(1, rows // _ROWS_OF_A_BLOCK)
    groups = packed.numel() // rows // _BLOCK[2]
    return packed.reshape(blocks, groups, *_BLOCK).permute(0, 3, 2, 1, 4).reshape(rows, groups * _BLOCK[2])


def _peer(cta: Cta) -> Cta:
    cluster = cta.cluster
    assert cluster is not None
    return cluster.peer(cta.rank ^ 1)


def _check_there(barrier: Barrier, home: Cta) -> None:
    if not home.running:
        raise ClusterError(
            f"arrives at a barrier (slot {barrier.slot}) of CTA {home.index}, the other one of its pair, which ended "
            f"at cycle {int(home.end):,}: let that CTA wait for the products of the pair",
            Refused(Cause.ENDED, barrier.array, barrier.slot, target=home.index),
        )
