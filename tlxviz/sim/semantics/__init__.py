"""The semantics of operations. Importing the package registers all of them."""

from __future__ import annotations

from tlxviz.sim.emitter import EMITTERS
from tlxviz.sim.semantics import (
    async_copies,
    cf,
    cluster_barriers,
    comparisons,
    constants,
    conversions,
    debugging,
    floats,
    foreign_code,
    functions,
    global_memory,
    identity,
    integers,
    launch_control,
    math,
    mma,
    pointers,
    remote_memory,
    scf,
    shapes,
    shared_memory,
    sync,
    tcgen05,
    tensor_descriptors,
    tensor_memory,
    tma,
    warp_specialize,
)

__all__ = [
    "async_copies",
    "cf",
    "cluster_barriers",
    "comparisons",
    "constants",
    "conversions",
    "debugging",
    "floats",
    "foreign_code",
    "functions",
    "global_memory",
    "identity",
    "integers",
    "launch_control",
    "math",
    "mma",
    "pointers",
    "remote_memory",
    "scf",
    "shapes",
    "shared_memory",
    "supported_operations",
    "sync",
    "tcgen05",
    "tensor_descriptors",
    "tensor_memory",
    "tma",
    "warp_specialize",
]


def supported_operations() -> frozenset[str]:
    """Names of the operations that have semantics."""
    return frozenset(EMITTERS)
