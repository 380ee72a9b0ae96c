"""What generated code calls to reach the shared memory of other CTAs of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappush
from typing import Any, TypeVar
from typing import cast as cast_type

import torch

from tlxviz.sim.clusters import Cluster
from tlxviz.sim.dtypes import cast
from tlxviz.sim.engine import Barrier, Cta
from tlxviz.sim.errors import Cause, ClusterError, Refused, RemoteFault, SimulationError
from tlxviz.sim.shared import SharedView, allocate
from tlxviz.sim.tensor_layout import TensorLayout
from tlxviz.sim.tensor_memory import TensorMemoryView, allocate_tensor

Memory = TypeVar("Memory", bound=SharedView | TensorMemoryView)


@dataclass(frozen=True, slots=True)
class Multicast:
    """What is the same each time a TMA load to several CTAs is issued."""

    site: int
    code: int
    """`code` of the rows of the TMA engine: see `engine.ROW`."""
    size: int
    """Bytes that each CTA gets."""
    transfer: int
    """Cycles in which an SM takes them in."""
    latency: int
    """Cycles from issue to arrival, beyond the transfer."""
    land: Callable[[int, Any], None]
    """What happens in each CTA when the bytes arrive."""
    whole: bool
    """Whether `land` takes a view, and not its tensor."""
    detailed: bool = False
    """Whether rows have `engine.DETAILS`."""


def shared_barriers(cta: Cta, array: int, slots: int) -> list[Barrier]:
    """The mbarriers of one allocation, which others may have reached before this CTA makes them."""
    found = cta.arrays.get(array)
    if found is None:
        found = cta.arrays[array] = [Barrier(cta.sm.loop, array, slot) for slot in range(slots)]
        for barrier in found:
            barrier.home = cta
    return found


def shared_memory(cta: Cta, buffer: int, shape: Sequence[int], dtype: torch.dtype, values: bool) -> SharedView:
    """One allocation, which others may have written before this CTA makes it."""
    found = cta.buffers.get(buffer)
    if found is None:
        found = cta.buffers[buffer] = allocate(buffer, shape, dtype, values)
        found.home = cta
    assert isinstance(found, SharedView)
    return found


def tensor_memory(cta: Cta, buffer: int, layout: TensorLayout, dtype: torch.dtype, values: bool) -> TensorMemoryView:
    """One allocation of tensor memory, which products of the other CTA of a pair may have written before."""
    found = cta.buffers.get(buffer)
    if found is None:
        found = cta.buffers[buffer] = allocate_tensor(buffer, layout, dtype, values)
        found.home = cta
    assert isinstance(found, TensorMemoryView)
    return found


def remote_barrier(cta: Cta, barrier: Barrier, rank: int) -> Barrier:
    """The barrier at the same place in the CTA of that rank."""
    slots = len(_home(barrier).arrays[barrier.array])
    return shared_barriers(_cluster(cta).peer(rank), barrier.array, slots)[barrier.slot]


def remote_view(cta: Cta, view: Memory, rank: int) -> Memory:
    """The memory at the same place in the CTA of that rank."""
    peer = _cluster(cta).peer(rank)
    there = peer.buffers.get(view.buffer)
    if there is None:
        there = peer.buffers[view.buffer] = view.home.buffers[view.buffer].twin()
        there.home = peer
    return cast_type(Memory, view.within(cast_type(Any, there)))


def reached(view: SharedView) -> SharedView:
    """A view of the shared memory of another CTA, which has to be there still."""
    home = view.home
    if not home.running:
        raise _gone(home, "uses its shared memory")
    return view


def arrive_remotely(cycle: int, arrival: tuple[Barrier, int, int, int, Cta]) -> None:
    """Arrivals reach the barrier of another CTA: how many, with which row, site and CTA as their cause."""
    barrier, count, cause, site, cta = arrival
    try:
        home = _home(barrier)
        if not home.running:
            raise _gone(home, f"arrives on its barrier (slot {barrier.slot})", barrier)
        barrier.last_site, barrier.last_time, barrier.last_cta = site, cycle, cta.index
        barrier.came(cycle, site, cta.index)
        barrier.pending -= count
        if barrier.pending <= 0:
            barrier.settle(cycle, cause)
    except SimulationError as error:
        raise RemoteFault(error, site, cta.index) from None


def write_remotely(cycle: int, written: tuple[SharedView, torch.Tensor | None, int, Cta]) -> None:
    """A store reaches the shared memory of another CTA; no value is given where contents are not computed."""
    view, value, site, cta = written
    try:
        reached(view)
    except SimulationError as error:
        raise RemoteFault(error, site, cta.index) from None
    if value is not None:
        view.store(value)


def store_remotely(cycle: int, written: tuple[SharedView, torch.Tensor | None, int, Cta, Barrier, int, int]) -> None:
    """A store reaches another CTA, and tells a barrier there of its bytes."""
    view, value, site, cta, barrier, size, cause = written
    _check_barrier(barrier, site, cta)
    write_remotely(cycle, (view, value, site, cta))
    barrier.came(cycle, site, cta.index)
    barrier.land(cycle, size, cause)


def copy_remotely(cycle: int, copied: tuple[SharedView, SharedView | None, int, Cta, Barrier, int, int]) -> None:
    """A copy out of shared memory reaches another CTA, and tells a barrier there of its bytes."""
    view, source, site, cta, barrier, size, cause = copied
    value = None if source is None else cast(source.filled, view.filled.dtype)
    store_remotely(cycle, (view, value, site, cta, barrier, size, cause))


def multicast(
    load: Multicast,
    cta: Cta,
    mask: int,
    cycle: int,
    barrier: Barrier,
    row: int,
    iteration: tuple[int, int],
    source: tuple[Any, Any, SharedView] | None,
) -> None:
    """A TMA load to all CTAs of the cluster whose bits are in `mask`. L2 is read once, and each SM takes the bytes in.

    Args:
        load: What is the same each time.
        cta: The CTA that issues it.
        mask: A bit for each rank.
        cycle: When it is issued.
        barrier: A barrier of the issuing CTA: in each CTA, the one at the same place is told.
        row: The row of the issue; -1 where nothing is recorded.
        iteration: Iterations of the outermost and the innermost loop.
        source: Descriptor, coordinates, and where the issuing CTA would get the tile; None where contents are not
            computed.

    Raises:
        ClusterError: the mask names a CTA that the cluster does not have.
    """
    cluster = _cluster(cta)
    if mask >> len(cluster.ctas):
        raise ClusterError(
            f"multicasts to a CTA of rank {mask.bit_length() - 1} in a cluster of {len(cluster.ctas)}",
            Refused(Cause.RANK),
        )
    ranks = [rank for rank in range(len(cluster.ctas)) if mask >> rank & 1]
    for rank in ranks:
        peer = cluster.ctas[rank]
        sm = peer.sm
        begin = max(sm.tma_free, cycle)
        sm.tma_free = begin + load.transfer
        sm.tma_busy += load.transfer
        sm.tma_load_bytes += load.size
        if rank != ranks[0]:
            sm.multicast_bytes += load.size
        landed = begin + load.transfer + load.latency
        target = remote_barrier(cta, barrier, rank)
        cause = -1
        if row >= 0:
            cause = len(peer.rows)
            issue = row if peer is cta else row + cta.origin
            recorded = (load.code, begin, landed, *iteration, target.slot, target.completed, issue)
            if load.detailed:
                recorded += (target.array, rank, target.completed)
            peer.rows.append(recorded)
        arguments: tuple[Any, ...] = (target, load.size, cause)
        if source is not None:
            descriptor, at, view = source
            there = remote_view(cta, view, rank)
            arguments += (descriptor, at, there if load.whole else there.filled)
        heappush(sm.loop.heap, (landed, next(sm.loop.sequence), _land_multicast, (load, cta, arguments)))


def _land_multicast(cycle: int, arrival: tuple[Multicast, Cta, tuple[Any, ...]]) -> None:
    load, cta, arguments = arrival
    _check_barrier(arguments[0], load.site, cta)
    arguments[0].came(cycle, load.site, cta.index)
    load.land(cycle, arguments)


def land_for_pair(cycle: int, arrival: tuple[Callable[[int, Any], None], int, Cta, tuple[Any, ...]]) -> None:
    """A TMA load into the CTA's own memory has arrived, and tells a barrier of the other CTA of its pair: what happens
    then, by which site and CTA it was issued, and the arguments, of which the barrier is the first."""
    land, site, cta, arguments = arrival
    _check_barrier(arguments[0], site, cta)
    arguments[0].came(cycle, site, cta.index)
    land(cycle, arguments)


def _check_barrier(barrier: Barrier, site: int, cta: Cta) -> None:
    """Bytes are about to be announced to a barrier: there has to be one."""
    home = _home(barrier)
    if not home.running:
        raise RemoteFault(_gone(home, "writes into its shared memory", barrier), site, cta.index)
    if not barrier.count:
        text = (
            f"bytes reach CTA {home.index} before it has initialised their barrier: wait for an arrival of that CTA "
            "first or, in a kernel without async tasks, for tlx.cluster_barrier()"
        )
        facts = Refused(Cause.UNINITIALISED, barrier.array, barrier.slot, target=home.index)
        raise RemoteFault(ClusterError(text, facts), site, cta.index)


def _gone(peer: Cta, doing: str, barrier: Barrier | None = None) -> ClusterError:
    return ClusterError(
        f"{doing} although CTA {peer.index} (rank {peer.rank} of the cluster) ended at cycle {int(peer.end):,}: "
        "let that CTA wait for it or, at the end of a kernel without async tasks, for tlx.cluster_barrier()",
        Refused(
            Cause.ENDED,
            -1 if barrier is None else barrier.array,
            -1 if barrier is None else barrier.slot,
            target=peer.index,
        ),
    )


def _home(barrier: Barrier) -> Cta:
    home = barrier.home
    assert home is not None
    return home


def _cluster(cta: Cta) -> Cluster:
    cluster = cta.cluster
    assert cluster is not None
    return cluster
