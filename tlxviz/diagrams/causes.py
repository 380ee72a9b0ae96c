"""What a cycle of a warp group goes to, in the words of diagrams."""

from __future__ import annotations

from tlxviz.analysis.causes import Cause

CAUSE_WORDS: dict[Cause, str] = {
    Cause.TENSOR_CORE: "tensor core",
    Cause.TENSOR_CORE_OTHER: "others' products",
    Cause.COPY_LATENCY: "copy latency",
    Cause.COPY_BANDWIDTH: "copy bandwidth",
    Cause.RING_FULL: "ring full",
    Cause.RING_EMPTY: "ring empty",
    Cause.NEXT_TILE: "next tile (CLC)",
    Cause.PARTNER: "partner",
    Cause.ARITHMETIC: "arithmetic",
    Cause.TENSOR_MEMORY: "tensor memory",
    Cause.ISSUE: "issuing",
    Cause.SYNCHRONIZATION: "hand-off",
    Cause.OTHER: "not recorded",
}
NOT_LOST = frozenset({Cause.TENSOR_CORE, Cause.TENSOR_CORE_OTHER, Cause.RING_FULL})
"""Meanwhile the tensor core works, or a producer is ahead of those who read what it fills."""
