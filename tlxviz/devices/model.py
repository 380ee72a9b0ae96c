"""The machine model's figures for one GPU, read from a data file in which each one names its source."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """What a launch is checked against."""

    sms: int
    threads_per_block: int
    blocks_per_sm: int
    warps_per_sm: int
    registers_per_sm: int
    registers_per_thread: int
    shared_memory_per_block: int
    """Bytes, dynamic, opt-in maximum."""
    shared_memory_per_sm: int
    """Bytes."""
    shared_memory_reserved: int
    """Bytes of shared memory that the driver takes per block."""
    named_barriers: int
    cluster: int
    """Largest portable cluster."""


@dataclass(frozen=True, slots=True)
class Clock:
    boost_mhz: float
    """Highest SM clock."""
    sustained_mhz: float
    """SM clock under a long tensor-core load: what cycles are turned into time with."""
    published_mhz: float = 0.0
    """SM clock at which the tensor cores have the peak of the vendor's data sheet; 0 in traces of versions that did not
    note it."""

    def ns(self, cycles: float) -> float:
        """Nanoseconds that so many SM cycles take."""
        return cycles * 1000 / self.sustained_mhz


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorCore:
    """Rates are FLOP per SM cycle, dense (a multiply-add counts two)."""

    fp64: float
    tf32: float
    fp16: float
    bf16: float
    fp8: float
    int8: float
    issue_cycles: float
    """Fence, first wgmma and commit of a product in the issuing warp group."""
    completion_cycles: float
    """From the end of the tensor core's work to the moment a wait sees it."""
    wait_cycles: float
    """A wait that finds its group complete."""
    mma_sync_fraction: float
    """Share of the dense rate that `mma.sync` (warp-level MMA) reaches."""
    register_cycles: float = 16.0
    """What a wgmma takes longer whose A is in registers."""
    taken_by_fp32: float = 0.95
    """Cycles that one FP32 instruction on every scheduler takes from a product that goes on meanwhile."""
    queue: int = 8
    """wgmma instructions that can be under way; issuing another one waits."""
    issue_cycles_per_column: float = 0.0
    """Issuing each further wgmma, per column of the instruction."""
    narrow_cycles: float = 0.0
    """A wgmma with both operands in shared memory takes at least narrow_cycles + narrow_cycles_per_column * N."""
    narrow_cycles_per_column: float = 0.0
    narrow_register_cycles: float = 0.0
    """A wgmma with A in registers takes at least so long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tma:
    issue_cycles: float
    l2_latency_cycles: float
    """From issue to the barrier's completion for a small box that hits L2."""
    dram_latency_cycles: float
    """The same, from DRAM."""
    bytes_per_cycle: float
    """What one SM's engine takes in from L2."""
    store_latency_cycles: float
    """From issue to readable source memory, beyond the transfer itself."""
    store_bytes_per_cycle: float
    box_cycles: float = 9.3
    """What a copy takes longer to issue for each further box that it consists of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    hbm_bytes_per_second: float
    """Attainable."""
    l2_bytes: int
    l2_bytes_per_cycle: float
    """Whole chip, by TMA, of bytes that several SMs want at about the same time."""
    l1_latency_cycles: float
    l2_latency_cycles: float
    dram_latency_cycles: float
    load_bytes_per_cycle: float
    """What one SM's load-store unit takes in from L2."""
    copy_bytes_per_cycle: float
    """The same of asynchronous copies into shared memory."""
    shared_latency_cycles: float
    shared_bytes_per_cycle: float
    atomic_cycles: float
    """Round trip of a global atomic."""
    cp_async_latency_cycles: float
    hbm_write_bytes_per_second: float = 3.375e12
    """Attainable, of writes."""
    l2_resident_bytes: int = 34603008
    """Bytes that stay in L2 while all SMs read them over and over."""
    l2_distinct_bytes_per_cycle: float = 4500.0
    """Whole chip, of bytes that one SM alone wants."""
    l2_load_bytes_per_cycle: float = 5531.0
    """Whole chip, by plain loads and asynchronous copies of bytes that several SMs want."""
    l2_store_bytes_per_cycle: float = 2640.0
    """Whole chip, of plain stores."""
    store_bytes_per_cycle: float = 32.0
    """What one SM's load-store unit gives to L2."""
    shared_beside_products: float = 31.8
    """What is left of shared memory's bytes per cycle while the tensor cores multiply."""
    capacity_bytes: int = 0
    """What CUDA says the device has in total; 0 in traces of versions that did not note it."""


@dataclass(frozen=True, slots=True)
class Sync:
    """Cycles."""

    mbarrier_arrive: float
    mbarrier_expect: float
    mbarrier_try_wait: float
    """A wait that finds its phase complete."""
    mbarrier_wake: float
    """From the completing arrival to the first instruction of the waiter."""
    named_barrier: float
    """From the last arrival to the first instruction of a waiter."""
    named_arrive: float
    block_barrier_base: float
    block_barrier_per_warp: float
    """Synchronizing W warps costs base + per_warp * W."""
    fence_async_shared: float
    fence_gpu: float


@dataclass(frozen=True, slots=True)
class ClusterCosts:
    """Clusters of CTAs and their distributed shared memory."""

    groups: tuple[int, ...]
    """SMs that one cluster can be spread over, group by group; in sum all SMs."""
    release_cycles: float
    """What an arrival at a cluster barrier costs that makes earlier writes visible, beyond one that does not."""
    barrier_cycles: float
    """From the last arrival at a cluster barrier to the first instruction of a waiter."""
    remote_arrive_cycles: float
    """From the issue of an arrival on the mbarrier of another CTA to the arrival."""
    remote_latency_cycles: float
    """A load from the shared memory of another CTA; also taken for what a store needs to get there."""
    copy_latency_cycles: float
    """From a copy's issue to the barrier's completion in the other CTA, for a few bytes."""
    copy_bytes_per_cycle: float
    """What one SM copies into the shared memory of others."""
    multicast_cycles: float
    """What a TMA load to several CTAs takes longer than one to a single CTA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alu:
    """Results per cycle and SM; `schedulers` warps issue one instruction each per cycle."""

    schedulers: int
    fp32: float
    fp16: float
    fp64: float
    int32: float
    mufu: float
    convert: float
    """Narrowing conversions, f32 to f16 and the like."""
    latency_cycles: float
    """Dependent-issue latency of an FP32 or integer instruction."""
    mufu_latency_cycles: float
    shuffle_cycles: float
    """Latency of one shuffle step of a reduction."""
    shuffle: float = 32.0
    serial_fraction: float = 0.47
    """Of what one warp's instructions take in other pipes than the busiest, the share that adds to its time."""
    fp32_beside_products: float = 82.5
    """While the tensor cores are busy; likewise the following."""
    compare_beside_products: float = 31.5
    mufu_beside_products: float = 11.8
    minmax: float = 64.0
    """Smaller or larger of two, FP32; twice as many of packed halves."""
    compare: float = 64.0
    """Comparisons and selections; bitwise logic and shifts have the same rate and share the pipe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCosts:
    kernel_ns: float
    """From the kernel's start on the GPU to a CTA's first instruction, plus the drain; CTAs' own time not included."""
    cta_cycles: float
    """From a free SM slot to the next CTA's first instruction."""
    next_cta_cycles: float = 1.18
    """From one CTA of a launch to the next, anywhere on the GPU, while there is room."""
    warp_specialize_cycles: float
    """From `ttg.warp_specialize` to the first instruction of a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorMemory:
    """Tensor memory of one SM: lanes of 32-bit columns, given out by columns."""

    lanes: int
    columns: int
    allocation_columns: int
    """Fewest columns that are given out; more go by powers of two."""
    alloc_cycles: float
    """An allocation that finds its columns free."""
    load_latency_cycles: float
    """From issue to the last register, beyond the transfer."""
    load_bytes_per_cycle: float
    """What an SM's warps read together."""
    store_latency_cycles: float
    """From issue until a wait for stores goes on, beyond the transfer."""
    store_bytes_per_cycle: float
    copy_cycles: float
    """First copy from shared memory (tcgen05.cp), from issue to arrival."""
    copy_interval_cycles: float
    """Each further copy that follows it."""
    load_least_cycles: float = 0.0
    """A load that waits for nobody, however narrow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tcgen05:
    """Products of the fifth-generation tensor cores, per instruction (32 bytes of K).

    An instruction keeps the tensor cores busy for the longest of: its FLOP over the rate of its type, where one of a
    single CTA with 64 rows counts as one of 128; the bytes that it reads from the CTA's shared memory over
    `shared_bytes_per_cycle` (A and B, or B alone where A is in tensor memory; of a pair, each CTA's half of both); and
    the floor of its mode. A wait sees it `*_latency_cycles` after the first of these, counted from issue, the commit
    and the wait included; of more instructions, the last one `batch_cycles` later than its turn comes.
    Names with 64 and 128 are of instructions with so many rows per CTA: M of one CTA, half of M of a pair.
    """

    fp6: float
    """FLOP per cycle and SM, dense, of fp6 by kind::f8f6f4; likewise the following."""
    fp4: float
    mxf4: float
    """fp4 by kind::mxf4."""
    nvf4: float
    """fp4 by kind::mxf4nvf4."""
    issue_cycles: float
    """An instruction, in the issuing warp."""
    commit_cycles: float
    """tcgen05.commit, in the issuing warp."""
    fence_cycles: float
    """tcgen05.fence, before or after a synchronization."""
    shared_bytes_per_cycle: float
    """What operands are read with from shared memory."""
    ss_64_latency_cycles: float
    """Both operands in shared memory."""
    ss_128_latency_cycles: float
    ts_latency_cycles: float
    """A in tensor memory, however many rows."""
    pair_ss_64_latency_cycles: float
    """Of a pair of CTAs."""
    pair_ss_128_latency_cycles: float
    pair_ts_64_latency_cycles: float
    pair_ts_128_latency_cycles: float
    batch_cycles: float
    ss_64_floor_cycles: float
    """Least from one instruction to the next, however few its columns are."""
    ss_128_floor_cycles: float
    ts_floor_cycles: float
    scaled_cycles: float
    """What a block-scaled instruction takes longer until a wait sees it."""


@dataclass(frozen=True, slots=True)
class LaunchControl:
    """Cluster launch control: running CTAs take over CTAs that have not started."""

    issue_cycles: float
    """A request, in the issuing warp."""
    response_cycles: float
    """From issue to the response's bytes at the barrier."""
    query_cycles: float
    """Reading and decoding a response."""


@dataclass(frozen=True, slots=True)
class Device:
    name: str
    """`h200`: what follows `sim:` on the command line."""
    title: str
    """`NVIDIA H200 SXM`."""
    cuda_name: str
    """What CUDA calls it."""
    capability: tuple[int, int]
    limits: Limits
    clock: Clock
    tensor_core: TensorCore
    tma: Tma
    memory: Memory
    sync: Sync
    cluster: ClusterCosts
    alu: Alu
    launch: LaunchCosts
    sources: dict[str, str]
    """`section.field` to where the figure comes from; "assumed: why" where nobody published it."""
    tensor_memory: TensorMemory | None = None
    """None before Blackwell; likewise the following."""
    tcgen05: Tcgen05 | None = None
    launch_control: LaunchControl | None = None

    def to_manifest(self) -> dict[str, Any]:
        """Plain data for a trace's manifest: every figure without the sources, and no section that the GPU lacks."""
        data = {name: value for name, value in asdict(self).items() if value is not None}
        del data["sources"]
        # Lists, as JSON gives them back.
        data["capability"] = list(self.capability)
        data["cluster"]["groups"] = list(self.cluster.groups)
        return data
