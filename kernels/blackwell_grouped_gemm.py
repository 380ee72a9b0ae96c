"""Y = X @ W[g] for each group g of rows of X, as in a mixture of experts, for Blackwell, warp-specialised with TLX.

The groups stand below one another in X, as long as they like, also empty; where each begins is read on the device. As
many CTAs as the GPU has SMs walk over the groups and take tiles of Y. Each has three roles.

- A producer of one warp copies by TMA, for each step along K, a slice of X and one of the group's W into a ring of
  STAGES slots. Tiles below one another come first, so that CTAs that run together share W.
- An MMA role of one warp hands the slots to the tensor cores, which sum in one of two accumulators in tensor memory.
- The default task is the epilogue, which drains one while the next tile is summed in the other, in strips through two
  staging buffers and TMA stores. The last rows of a group are stored under a mask, since those below are another's.

    python kernels/blackwell_grouped_gemm.py --rows 200,0,1,300 --n 512 --k 512
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
BLOCK_M = tl.constexpr(128)
ACCUMULATORS = tl.constexpr(2)
STRIPS = tl.constexpr(4)
STAGING = tl.constexpr(2)
# What an SM has for a CTA, less what barriers take.
SHARED_MEMORY = 232448 - 1024


@triton.jit
def slot_and_phase(step, STAGES: tl.constexpr):
    """Slot of the ring that the step-th use takes, and the parity of how often that slot was used before."""
    return step % STAGES, (step // STAGES) & 1


@triton.jit
def tiles_of_group(starts_ptr, group, N, BLOCK_N: tl.constexpr):
    """First row of a group, the row after its last one, how many tiles it has along M, and how many in all."""
    begin = tl.load(starts_ptr + group)
    end = tl.load(starts_ptr + group + 1)
    tiles_m = tl.cdiv(end - begin, BLOCK_M)
    return begin, end, tiles_m, tiles_m * tl.cdiv(N, BLOCK_N)


@triton.jit
def blackwell_grouped_gemm(
    x_desc,
    w_desc,
    y_desc,
    y_ptr,
    starts_ptr,
    GROUPS,
    N,
    K,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    STAGES: tl.constexpr,
):
    STRIP_N: tl.constexpr = BLOCK_N // STRIPS
    SLOT_BYTES: tl.constexpr = (BLOCK_M + BLOCK_N) * BLOCK_K * 2

    x_tiles = tlx.local_alloc((BLOCK_M, BLOCK_K), tl.float16, STAGES)
    w_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tl.float16, STAGES)
    y_tiles = tlx.local_alloc((BLOCK_M, STRIP_N), tl.float16, STAGING)
    sums = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, ACCUMULATORS, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    sum_full = tlx.alloc_barriers(num_barriers=ACCUMULATORS, arrive_count=1)
    sum_empty = tlx.alloc_barriers(num_barriers=ACCUMULATORS, arrive_count=1)

    with tlx.async_tasks():
        with tlx.async_task("default"):  # epilogue
            done = 0
            first = 0
            tile = tl.program_id(0)
            for group in range(0, GROUPS):
                begin, end, tiles_m, tiles = tiles_of_group(starts_ptr, group, N, BLOCK_N)
                while tile < first + tiles:
                    row = begin + (tile - first) % tiles_m * BLOCK_M
                    column = (tile - first) // tiles_m * BLOCK_N
                    slot, phase = slot_and_phase(done, ACCUMULATORS)
                    tlx.barrier_wait(sum_full[slot], phase)
                    for strip in tl.static_range(STRIPS):
                        part = tlx.local_slice(sums[slot], [0, strip * STRIP_N], [BLOCK_M, STRIP_N])
                        values = tlx.local_load(part).to(tl.float16)
                        if strip == STRIPS - 1:
                            tlx.barrier_arrive(sum_empty[slot])
                        left = column + strip * STRIP_N
                        staging = y_tiles[strip % STAGING]
                        tlx.async_descriptor_store_wait(STAGING - 1)
                        tlx.local_store(staging, values)
                        if row + BLOCK_M <= end:
                            tlx.fence("async_shared")
                            tlx.async_descriptor_store(y_desc, staging, [row, left])
                        else:
                            rows = row + tl.arange(0, BLOCK_M)
                            columns = left + tl.arange(0, STRIP_N)
                            at = rows.to(tl.int64)[:, None] * N + columns[None, :]
                            mask = (rows[:, None] < end) & (columns[None, :] < N)
                            tl.store(y_ptr + at, tlx.local_load(staging), mask=mask)
                    tile += tl.num_programs(0)
                    done += 1
                first += tiles
            # The staging buffers belong to this CTA only until it ends.
            tlx.async_descriptor_store_wait(0)

        with tlx.async_task(num_warps=1, num_regs=24):  # MMA
            steps = tl.cdiv(K, BLOCK_K)
            step = 0
            done = 0
            first = 0
            tile = tl.program_id(0)
            for group in range(0, GROUPS):
                begin, end, tiles_m, tiles = tiles_of_group(starts_ptr, group, N, BLOCK_N)
                while tile < first + tiles:
                    total, total_phase = slot_and_phase(done, ACCUMULATORS)
                    tlx.barrier_wait(sum_empty[total], total_phase ^ 1)
                    for k in range(0, steps):
                        slot, phase = slot_and_phase(step, STAGES)
                        tlx.barrier_wait(full[slot], phase)
                        tlx.async_dot(
                            x_tiles[slot],
                            w_tiles[slot],
                            sums[total],
                            use_acc=k > 0,
                            mBarriers=[empty[slot]],
                            out_dtype=tl.float32,
                        )
                        step += 1
                    tlx.tcgen05_commit(sum_full[total])
                    tile += tl.num_programs(0)
                    done += 1
                first += tiles

        with tlx.async_task(num_warps=1, num_regs=24):  # producer
            steps = tl.cdiv(K, BLOCK_K)
            step = 0
            first = 0
            tile = tl.program_id(0)
            for group in range(0, GROUPS):
                begin, end, tiles_m, tiles = tiles_of_group(starts_ptr, group, N, BLOCK_N)
                while tile < first + tiles:
                    row = begin + (tile - first) % tiles_m * BLOCK_M
                    column = (tile - first) // tiles_m * BLOCK_N
                    for k in range(0, steps):
                        slot, phase = slot_and_phase(step, STAGES)
                        tlx.barrier_wait(empty[slot], phase ^ 1)
                        tlx.barrier_expect_bytes(full[slot], SLOT_BYTES)
                        tlx.async_descriptor_load(x_desc, x_tiles[slot], [row, k * BLOCK_K], full[slot])
                        tlx.async_descriptor_load(w_desc, w_tiles[slot], [group, k * BLOCK_K, column], full[slot])
                        step += 1
                    tile += tl.num_programs(0)
                first += tiles


def grouped_matmul(
    x: torch.Tensor,
    w: torch.Tensor,
    starts: torch.Tensor,
    *,
    block_n: int = 256,
    block_k: int = 64,
    stages: int | None = None,
) -> torch.Tensor:
    """Rows starts[g] to starts[g + 1] - 1 of x times w[g], for row-major fp16 x of [rows, K] and w of [groups, K, N].

    starts: int32 on the device, one more than there are groups, from 0 to the number of rows, and never falling. It is
        not looked at here.
    stages: slots of the ring; by default as many as shared memory has room for.
    """
    total, k = x.shape
    groups, inner, n = w.shape
    if inner != k:
        raise ValueError(f"X has {k} columns and each W has {inner} rows: the inner sizes differ")
    for name, size in (("the number of rows", total), ("the number of groups", groups), ("N", n), ("K", k)):
        if size < 1:
            raise ValueError(f"{name} is {size} and must be 1 or more")
    if starts.shape != (groups + 1,) or starts.dtype != torch.int32:
        raise ValueError(f"{groups} groups have {groups + 1} starts in int32: where each begins, and where all end")
    for name, size in (("K", k), ("N", n)):
        if size % 8:
            raise ValueError(f"{name} is {size} and must be a multiple of 8: TMA needs rows of whole 16-byte units")
    if block_n not in (64, 128, 256):
        raise ValueError(f"BLOCK_N is {block_n} and must be 64, 128 or 256: two accumulators fill tensor memory")
    if block_k not in (16, 32, 64, 128):
        raise ValueError(f"BLOCK_K is {block_k} and must be 16, 32, 64 or 128: tcgen05 multiplies 16 deep")
    if not (x.is_contiguous() and w.is_contiguous()):
        raise ValueError("X and W must be row-major and contiguous")
    rows, strip = BLOCK_M.value, block_n // STRIPS.value
    slot_bytes = (rows + block_n) * block_k * 2
    room = (SHARED_MEMORY - STAGING.value * rows * strip * 2) // slot_bytes
    stages = min(room, 8) if stages is None else stages
    if not 1 <= stages <= room:
        raise ValueError(f"STAGES is {stages} and must be 1 to {room}: a slot has {slot_bytes} bytes of shared memory")

    y = torch.empty((total, n), device=x.device, dtype=torch.float16)
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    # How long groups are is not known here: each may end with a tile that it does not fill.
    most = (total // rows + groups) * triton.cdiv(n, block_n)
    blackwell_grouped_gemm[(min(sms, most),)](
        TensorDescriptor.from_tensor(x, [rows, block_k]),
        TensorDescriptor.from_tensor(w, [1, block_k, block_n]),
        TensorDescriptor.from_tensor(y, [rows, strip]),
        y,
        starts,
        groups,
        n,
        k,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        STAGES=stages,
        num_warps=4,
        num_stages=1,
    )
    return y


def rows_of_groups(text: str) -> list[int]:
    """Numbers with commas between, as `--rows` takes them."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise ValueError(f"the rows of groups are {text!r} and must be numbers with commas between, as 200,0,1,300")
    return [int(part) for part in parts]


def main() -> int:
    parser = argparse.ArgumentParser(description="Grouped Blackwell GEMM: one launch, checked against torch.")
    parser.add_argument("--rows", default="200,0,1,300", help="of each group (default: 200,0,1,300)")
    for size in ("n", "k"):
        parser.add_argument(f"--{size}", type=int, default=512)
    parser.add_argument("--block-n", type=int, default=256)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--stages", type=int, help="slots of the ring (default: as many as there is room for)")
    args = parser.parse_args()

    torch.manual_seed(0)
    try:
        rows = rows_of_groups(args.rows)
        starts = [sum(rows[:group]) for group in range(len(rows) + 1)]
        x = torch.randn((starts[-1], max(args.k, 0)), device="cuda", dtype=torch.float16)
        w = torch.randn((len(rows), max(args.k, 0), max(args.n, 0)), device="cuda", dtype=torch.float16)
        on_device = torch.tensor(starts, device="cuda", dtype=torch.int32)
        y = grouped_matmul(x, w, on_device, block_n=args.block_n, block_k=args.block_k, stages=args.stages)
    except ValueError as error:
        print(f"blackwell_grouped_gemm: {error}", file=sys.stderr)
        return 1

    pairs = zip(starts[:-1], starts[1:], w, strict=True)
    expected = torch.cat([x[begin:end].float() @ each.float() for begin, end, each in pairs])
    error = float((y.float() - expected).norm() / expected.norm())
    print(f"blackwell_grouped_gemm {args.rows} x {args.n} x {args.k}: relative error {error:.2e}")
    if not error <= TOLERANCE:  # written so that a NaN fails
        print(f"blackwell_grouped_gemm: the relative error is above {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
