"""Which operations can appear in a trace, what they work on, and how many bytes they move."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tlxviz.ir.location import UNKNOWN, Location
from tlxviz.ir.markers import range_bound
from tlxviz.ir.operation import Operation, Value
from tlxviz.ir.program import SiteKind
from tlxviz.ir.types import bytes_of


class SiteForm(NamedTuple):
    """One row: the kind of an operation's site, and the operand that names it."""

    kind: SiteKind
    subject: str = ""
    """Group of the barrier or buffer that the operation works on."""
    moved: str = ""
    """Group whose type tells the bytes that one execution moves."""


SITES: dict[str, SiteForm] = {
    "ttng.wait_barrier": SiteForm(SiteKind.WAIT, "barrier"),
    "ttng.arrive_barrier": SiteForm(SiteKind.ARRIVE, "barrier"),
    "tlx.warp_barrier_arrive": SiteForm(SiteKind.ARRIVE, "barrier"),
    "ttng.async_copy_mbarrier_arrive": SiteForm(SiteKind.ARRIVE, "barrier"),
    "ttng.barrier_expect": SiteForm(SiteKind.EXPECT, "barrier"),
    "ttng.async_tma_copy_global_to_local": SiteForm(SiteKind.TMA_LOAD, "dst", "dst"),
    "ttng.async_tma_gather": SiteForm(SiteKind.TMA_LOAD, "dst", "dst"),
    "ttng.async_tma_copy_local_to_global": SiteForm(SiteKind.TMA_STORE, "src", "src"),
    "ttng.async_tma_scatter": SiteForm(SiteKind.TMA_STORE, "src", "src"),
    "ttng.async_store": SiteForm(SiteKind.TMA_STORE, "src"),
    "ttng.async_tma_reduce": SiteForm(SiteKind.TMA_REDUCE, "src", "src"),
    "ttng.async_tma_store_wait": SiteForm(SiteKind.TMA_STORE_WAIT),
    "ttng.async_tma_store_token_wait": SiteForm(SiteKind.TMA_STORE_WAIT),
    "ttng.warp_group_dot": SiteForm(SiteKind.MMA, "b"),
    "ttng.tc_gen5_mma": SiteForm(SiteKind.MMA, "d"),
    "ttng.tc_gen5_mma_scaled": SiteForm(SiteKind.MMA, "d"),
    "tt.dot": SiteForm(SiteKind.MMA),
    "tt.dot_scaled": SiteForm(SiteKind.MMA),
    "ttng.warp_group_dot_wait": SiteForm(SiteKind.MMA_WAIT),
    "ttng.tc_gen5_commit": SiteForm(SiteKind.MMA_COMMIT, "barrier"),
    "ttng.fence_async_shared": SiteForm(SiteKind.FENCE),
    "ttng.fence": SiteForm(SiteKind.FENCE),
    "ttng.fence_mbarrier_init_release_cluster": SiteForm(SiteKind.FENCE),
    "ttng.wait_barrier_named": SiteForm(SiteKind.NAMED_WAIT),
    "ttng.arrive_barrier_named": SiteForm(SiteKind.NAMED_ARRIVE),
    "tlx.named_barrier_wait": SiteForm(SiteKind.NAMED_WAIT),
    "tlx.named_barrier_arrive": SiteForm(SiteKind.NAMED_ARRIVE),
    "ttg.async_copy_global_to_local": SiteForm(SiteKind.ASYNC_COPY, "dst", "dst"),
    "ttg.async_remote_shmem_store": SiteForm(SiteKind.ASYNC_COPY, "dst", "dst"),
    "ttg.remote_shmem_store": SiteForm(SiteKind.ASYNC_COPY, "dst", "dst"),
    "ttg.async_remote_shmem_copy": SiteForm(SiteKind.ASYNC_COPY, "dst", "dst"),
    "ttg.async_wait": SiteForm(SiteKind.ASYNC_COPY_WAIT),
    "ttng.cluster_arrive": SiteForm(SiteKind.CLUSTER_ARRIVE),
    "ttng.cluster_wait": SiteForm(SiteKind.CLUSTER_WAIT),
    "ttng.cluster_barrier": SiteForm(SiteKind.CLUSTER_WAIT),
    "ttng.async_clc_try_cancel": SiteForm(SiteKind.CLC, "response", "response"),
    "ttng.clc_query_cancel": SiteForm(SiteKind.CLC, "response"),
    "ttng.tmem_load": SiteForm(SiteKind.TMEM_LOAD, "src", "src"),
    "ttng.tmem_store": SiteForm(SiteKind.TMEM_STORE, "dst", "dst"),
    "ttng.tmem_copy": SiteForm(SiteKind.TMEM_COPY, "dst", "src"),
}


_BOUNDS = {"begin": SiteForm(SiteKind.RANGE_BEGIN), "end": SiteForm(SiteKind.RANGE_END)}


def site_form(operation: Operation) -> SiteForm | None:
    """What kind of site an operation is; None if it is none."""
    bound = range_bound(operation)
    return SITES.get(operation.name) if bound is None else _BOUNDS[bound[0]]


def site_bytes(operation: Operation, form: SiteForm) -> int:
    """Bytes that one execution moves or expects; 0 where the IR does not fix it."""
    if form.kind is SiteKind.EXPECT:
        return int(operation.attributes["bytes"])
    if operation.name == "ttng.async_store":
        return constant_int(operation.operand("size")) or 0
    moved = operation.operand(form.moved) if form.moved else None
    return bytes_of(moved.type) if moved else 0


def site_variable(operation: Operation, form: SiteForm, name_of: Callable[[Value], str]) -> str:
    """Name of the barrier or buffer that the operation works on, or of the range that it bounds; empty if none."""
    bound = range_bound(operation)
    if bound is not None:
        return bound[1]
    subject = operation.operand(form.subject) if form.subject else None
    return name_of(subject) if subject else ""


def constant_int(value: Value | None) -> int | None:
    """The value of an integer constant; None for all else."""
    if value is None or not isinstance(value.owner, Operation) or value.owner.name != "arith.constant":
        return None
    found = value.owner.attributes["value"]
    return found if isinstance(found, int) else None


def kernel_line(location: Location, function: Location = UNKNOWN) -> Location:
    """The place in the kernel's own source: the outermost place of the call chain that names a file.

    Gluon says of what a task calls that the kernel's heading calls it, which tells nothing: `function` is the place of
    the heading, and is no call.
    """
    place = found = location
    while place.caller is not None:
        place = place.caller
        if place.file and place != function:
            found = place
    return found
