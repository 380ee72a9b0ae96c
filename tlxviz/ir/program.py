"""`Program`: what a TTGIR module says about agents, barriers, buffers, descriptors and sites."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tlxviz.ir.location import Location
from tlxviz.ir.operation import Module, Operation, Region, Value


class Role(StrEnum):
    """What a warp group is there for, inferred from what it does."""

    LOAD = "load"
    MMA = "mma"
    SOFTMAX = "softmax"
    EPILOGUE = "epilogue"
    STORE = "store"
    COMPUTE = "compute"
    IDLE = "idle"


class SiteKind(StrEnum):
    """The operations that can appear in a trace."""

    WAIT = "wait"
    ARRIVE = "arrive"
    EXPECT = "expect"
    TMA_LOAD = "tma_load"
    TMA_STORE = "tma_store"
    TMA_REDUCE = "tma_reduce"
    TMA_STORE_WAIT = "tma_store_wait"
    MMA = "mma"
    MMA_WAIT = "mma_wait"
    MMA_COMMIT = "mma_commit"
    FENCE = "fence"
    NAMED_WAIT = "named_wait"
    NAMED_ARRIVE = "named_arrive"
    ASYNC_COPY = "async_copy"
    ASYNC_COPY_WAIT = "async_copy_wait"
    CLUSTER_ARRIVE = "cluster_arrive"
    CLUSTER_WAIT = "cluster_wait"
    CLC = "clc"
    TMEM_LOAD = "tmem_load"
    TMEM_STORE = "tmem_store"
    TMEM_COPY = "tmem_copy"
    RANGE_BEGIN = "range_begin"
    RANGE_END = "range_end"


@dataclass(eq=False, slots=True)
class Agent:
    """A warp group: the kernel's own region (task 0) or one partition of `ttg.warp_specialize`."""

    index: int
    name: str
    """Unique in the program: the role, numbered where it repeats: `load`, `mma.0`, `mma.1`."""
    role: Role
    task: int
    """Position of the async task: 0 is the default task."""
    warps: int
    registers: int | None
    """Registers a thread that the task asks for; None when it asks for none."""
    region: Region
    location: Location


@dataclass(eq=False, slots=True)
class BarrierArray:
    """mbarriers that one `local_alloc` makes."""

    index: int
    name: str
    """The kernel's own variable name."""
    slots: int
    counts: tuple[int, ...]
    """Arrivals that complete a phase, per slot."""
    operation: Operation


@dataclass(eq=False, slots=True)
class Buffer:
    """Shared (or tensor) memory that one allocation makes."""

    index: int
    name: str
    bytes: int
    slots: int
    """Leading dimension of a multi-buffered tile, else 1."""
    operation: Operation


@dataclass(eq=False, slots=True)
class Descriptor:
    """A TMA descriptor: an argument of the kernel, or one that it builds."""

    index: int
    name: str
    block: tuple[int, ...]
    value: Value


@dataclass(eq=False, slots=True)
class Site:
    """One operation that can appear in a trace; `index` is the same for simulated and measured traces of a kernel."""

    index: int
    kind: SiteKind
    agent: Agent
    operation: Operation
    location: Location
    variable: str
    """Name of the barrier or buffer that it works on, or of the range that it bounds; empty if none."""
    bytes: int = 0
    """Bytes that one execution moves or expects, where the IR fixes it."""


@dataclass(eq=False, slots=True)
class Program:
    """A kernel, ready to be simulated, probed or drawn."""

    module: Module
    kernel: Operation
    name: str
    agents: list[Agent]
    barriers: list[BarrierArray]
    buffers: list[Buffer]
    descriptors: list[Descriptor]
    sites: list[Site]
    num_warps: int
    """Warps of the default task."""
    total_warps: int
    """Warps of all tasks together: what a launch allocates."""
    cluster: tuple[int, int, int]
    """CTAs of a cluster along the axes of the grid."""
    ctas_of_program: int
    """CTAs that one program is spread over: Triton's `num_ctas`."""
    roots: dict[Value, BarrierArray | Buffer | Descriptor] = field(
        default_factory=dict[Value, BarrierArray | Buffer | Descriptor]
    )
    """What each memdesc or descriptor value is a view of, through index, trans, subslice, partitions and loops."""
    site_of: dict[Operation, Site] = field(default_factory=dict[Operation, Site])
