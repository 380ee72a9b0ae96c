"""C[M, N] = A[M, K] @ B[K, N] for Blackwell, warp-specialised with TLX.

Three roles per CTA; each CTA, or with `--ctas 2` each pair of CTAs, walks over the tiles of C.

- A producer of one warp copies by TMA, for each step along K, a slice of A and one of B into a ring of STAGES slots.
- An MMA role of one warp hands the slots to the tensor cores, which sum in one of two accumulators in tensor memory
  and give a slot back when they have read it. Nobody waits for a product: a commit tells the epilogue that a sum is
  complete.
- The default task is the epilogue. It drains an accumulator in strips of columns, through two staging buffers and TMA
  stores, while the next tile is summed in the other one.

A pair multiplies a tile twice as tall: each CTA holds its rows of A and of the sum, and half of the columns of B, so
that B comes from L2 once for both. The first CTA issues the products of both. `--schedule clc` launches a CTA for each
tile, and those that run take over, by cluster launch control, the ones that have not started.

    python kernels/blackwell_gemm_ws.py --m 512 --n 512 --k 512
"""

from __future__ import annotations

import argparse
import sys

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
TOLERANCE = 1e-3
SCHEDULES = ("static", "clc")
BLOCK_M = tl.constexpr(128)
ACCUMULATORS = tl.constexpr(2)
STRIPS = tl.constexpr(4)
STAGING = tl.constexpr(2)
REQUESTS = tl.constexpr(3)
# What an SM has for a CTA, less what barriers and answers take.
SHARED_MEMORY = 232448 - 1024


@triton.jit
def slot_and_phase(step, STAGES: tl.constexpr):
    """Slot of the ring that the step-th use takes, and the parity of how often that slot was used before."""
    return step % STAGES, (step // STAGES) & 1


@triton.jit
def corner_of_tile(program, M, N, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr, CTAS: tl.constexpr):
    """First row and column of a program's tile; the two of a pair are neighbours along M.

    Bands of GROUP_M tile rows keep panels of A and B in L2.
    """
    tile = program // CTAS
    tiles_m = tl.cdiv(M, CTAS * BLOCK_M)
    band_size = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = (tile // band_size) * GROUP_M
    rows = min(tiles_m - first_m, GROUP_M)
    within = tile % band_size
    row = ((first_m + within % rows) * CTAS + program % CTAS) * BLOCK_M
    return row, (within // rows) * BLOCK_N


@triton.jit
def blackwell_gemm_ws(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    CTAS: tl.constexpr,
    CLC: tl.constexpr,
):
    PAIR: tl.constexpr = CTAS == 2
    B_COLUMNS: tl.constexpr = BLOCK_N // CTAS
    STRIP_N: tl.constexpr = BLOCK_N // STRIPS
    SLOT_BYTES: tl.constexpr = (BLOCK_M + B_COLUMNS) * BLOCK_K * 2

    a_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tl.float16, STAGES)
    b_tiles = tlx.local_alloc((BLOCK_K, B_COLUMNS), tl.float16, STAGES)
    c_tiles = tlx.local_alloc((BLOCK_M, STRIP_N), tl.float16, STAGING)
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, ACCUMULATORS, tlx.storage_kind.tmem)
    # Of a pair, the copies of both CTAs arrive at the first one's `full`, products at `empty` and `sum_full` of both,
    # and both epilogues at the first one's `sum_empty`.
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    sum_full = tlx.alloc_barriers(num_barriers=ACCUMULATORS, arrive_count=1)
    sum_empty = tlx.alloc_barriers(num_barriers=ACCUMULATORS, arrive_count=CTAS)
    if CLC:
        requests = tlx.clc_create_context(num_consumers=3 * CTAS, num_stages=REQUESTS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            programs = tl.cdiv(M, CTAS * BLOCK_M) * tl.cdiv(N, BLOCK_N) * CTAS
            done = 0
            program = tl.program_id(0)
            while (program >= 0) & (program < programs):
                row, column = corner_of_tile(program, M, N, BLOCK_N, GROUP_M, CTAS)
                slot, phase = slot_and_phase(done, ACCUMULATORS)
                tlx.barrier_wait(sum_full[slot], phase)
                for strip in tl.static_range(STRIPS):
                    part = tlx.local_slice(sums[slot], [0, strip * STRIP_N], [BLOCK_M, STRIP_N])
                    values = tlx.local_load(part)
                    if strip == STRIPS - 1:
                        if PAIR:
                            tlx.barrier_arrive(sum_empty[slot], 1, remote_cta_rank=0)
                        else:
                            tlx.barrier_arrive(sum_empty[slot])
                    staging = c_tiles[strip % STAGING]
                    tlx.async_descriptor_store_wait(STAGING - 1)
                    tlx.local_store(staging, values.to(tl.float16))
                    tlx.fence("async_shared")
                    tlx.async_descriptor_store(c_desc, staging, [row, column + strip * STRIP_N])
                if CLC:
                    request, answered = slot_and_phase(done, REQUESTS)
                    program = tlx.clc_consumer(requests, answered, multi_ctas=PAIR, k=request)
                else:
                    program += tl.num_programs(0)
                done += 1
            # The staging buffers belong to this CTA only until it ends.
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, num_regs=24):  # MMA
            programs = tl.cdiv(M, CTAS * BLOCK_M) * tl.cdiv(N, BLOCK_N) * CTAS
            steps = tl.cdiv(K, BLOCK_K)
            leads = tlx.cluster_cta_rank() == 0
            step = 0
            done = 0
            program = tl.program_id(0)
            while (program >= 0) & (program < programs):
                total, total_phase = slot_and_phase(done, ACCUMULATORS)
                tlx.barrier_wait(sum_empty[total], total_phase ^ 1, pred=leads)
                for k in range(0, steps):
                    slot, phase = slot_and_phase(step, STAGES)
                    tlx.barrier_wait(full[slot], phase, pred=leads)
                    tlx.async_dot(
                        a_tiles[slot],
                        b_tiles[slot],
                        sums[total],
                        use_acc=k > 0,
                        mBarriers=[empty[slot]],
                        two_ctas=PAIR,
                        out_dtype=tl.float32,
                    )
                    step += 1
                tlx.tcgen05_commit(sum_full[total], two_ctas=PAIR)
                if CLC:
                    request, answered = slot_and_phase(done, REQUESTS)
                    program = tlx.clc_consumer(requests, answered, multi_ctas=PAIR, k=request)
                else:
                    program += tl.num_programs(0)
                done += 1

        with tlx.async_task(num_warps=1, num_regs=24):  # producer
            programs = tl.cdiv(M, CTAS * BLOCK_M) * tl.cdiv(N, BLOCK_N) * CTAS
            steps = tl.cdiv(K, BLOCK_K)
            rank = tlx.cluster_cta_rank()
            step = 0
            done = 0
            program = tl.program_id(0)
            while (program >= 0) & (program < programs):
                if CLC:
                    request, answered = slot_and_phase(done, REQUESTS)
                    tlx.clc_producer(requests, answered ^ 1, multi_ctas=PAIR, k=request)
                row, column = corner_of_tile(program, M, N, BLOCK_N, GROUP_M, CTAS)
                if PAIR:
                    column += rank * B_COLUMNS
                for k in range(0, steps):
                    slot, phase = slot_and_phase(step, STAGES)
                    tlx.barrier_wait(empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(full[slot], CTAS * SLOT_BYTES, pred=rank == 0)
                    depth = k * BLOCK_K
                    tlx.async_descriptor_load(a_desc, a_tiles[slot], [row, depth], full[slot], two_ctas=PAIR)
                    tlx.async_descriptor_load(b_desc, b_tiles[slot], [depth, column], full[slot], two_ctas=PAIR)
                    step += 1
                if CLC:
                    program = tlx.clc_consumer(requests, answered, multi_ctas=PAIR, k=request)
                else:
                    program += tl.num_programs(0)
                done += 1


def check_sizes(m: int, n: int, k: int) -> None:
    for name, size in (("M", m), ("N", n), ("K", k)):
        if size < 1:
            raise ValueError(f"{name} is {size} and must be 1 or more")


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    block_n: int = 256,
    block_k: int = 64,
    group_m: int = 8,
    stages: int | None = None,
    ctas: int = 1,
    schedule: str = "static",
) -> torch.Tensor:
    """a @ b for two row-major fp16 matrices whose row lengths are multiples of 8.

    stages: slots of the ring; by default as many as shared memory has room for.
    ctas: 2 for pairs of CTAs.
    schedule: "static", where each CTA takes tiles a whole grid apart, or "clc", where it asks for the next one.
    """
    m, k = a.shape
    n = b.shape[1]
    if b.shape[0] != k:
        raise ValueError(f"A is {m}x{k} and B is {b.shape[0]}x{n}: the inner sizes differ")
    check_sizes(m, n, k)
    for name, size in (("K", k), ("N", n)):
        if size % 8:
            raise ValueError(f"{name} is {size} and must be a multiple of 8: TMA needs rows of whole 16-byte units")
    if ctas not in (1, 2):
        raise ValueError(f"CTAS is {ctas} and must be 1, or 2 for pairs")
    if schedule not in SCHEDULES:
        raise ValueError(f"the schedule is {schedule!r} and must be one of {', '.join(SCHEDULES)}")
    if block_n not in (64, 128, 256):
        raise ValueError(f"BLOCK_N is {block_n} and must be 64, 128 or 256: two accumulators fill tensor memory")
    if block_k not in (16, 32, 64, 128):
        raise ValueError(f"BLOCK_K is {block_k} and must be 16, 32, 64 or 128: tcgen05 multiplies 16 deep")
    if not (a.is_contiguous() and b.is_contiguous()):
        raise ValueError("A and B must be row-major and contiguous")
    rows, strip = BLOCK_M.value, block_n // STRIPS.value
    slot_bytes = (rows + block_n // ctas) * block_k * 2
    room = (SHARED_MEMORY - STAGING.value * rows * strip * 2) // slot_bytes
    stages = min(room, 8) if stages is None else stages
    if not 1 <= stages <= room:
        raise ValueError(f"STAGES is {stages} and must be 1 to {room}: a slot has {slot_bytes} bytes of shared memory")

    c = torch.empty((m, n), device=a.device, dtype=torch.float16)
    programs = triton.cdiv(m, ctas * rows) * triton.cdiv(n, block_n) * ctas
    if schedule == "static":
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        programs = min(sms // ctas * ctas, programs)
    blackwell_gemm_ws[(programs,)](
        TensorDescriptor.from_tensor(a, [rows, block_k]),
        TensorDescriptor.from_tensor(b, [block_k, block_n // ctas]),
        TensorDescriptor.from_tensor(c, [rows, strip]),
        m,
        n,
        k,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=group_m,
        STAGES=stages,
        CTAS=ctas,
        CLC=schedule == "clc",
        num_warps=4,
        num_stages=1,
        ctas_per_cga=(ctas, 1, 1),
    )
    return c


def main() -> int:
    parser = argparse.ArgumentParser(description="Warp-specialised Blackwell GEMM: one launch, checked against torch.")
    for size in ("m", "n", "k"):
        parser.add_argument(f"--{size}", type=int, default=512)
    parser.add_argument("--block-n", type=int, default=256)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--stages", type=int, help="slots of the ring (default: as many as there is room for)")
    parser.add_argument("--ctas", type=int, default=1, help="2: pairs of CTAs")
    parser.add_argument("--schedule", default="static", help="static, or clc: tiles by cluster launch control")
    args = parser.parse_args()

    torch.manual_seed(0)
    try:
        check_sizes(args.m, args.n, args.k)
        a = torch.randn((args.m, args.k), device="cuda", dtype=torch.float16)
        b = torch.randn((args.k, args.n), device="cuda", dtype=torch.float16)
        c = matmul(
            a,
            b,
            block_n=args.block_n,
            block_k=args.block_k,
            stages=args.stages,
            ctas=args.ctas,
            schedule=args.schedule,
        )
    except ValueError as error:
        print(f"blackwell_gemm_ws: {error}", file=sys.stderr)
        return 1

    expected = a.float() @ b.float()
    error = float((c.float() - expected).norm() / expected.norm())
    print(f"blackwell_gemm_ws {args.m}x{args.n}x{args.k}: relative error {error:.2e}")
    if not error <= TOLERANCE:  # written so that a NaN fails
        print(f"blackwell_gemm_ws: the relative error is above {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
