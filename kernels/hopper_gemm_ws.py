"""C[M, N] = A[M, K] @ B[K, N] for Hopper, warp-specialised with TLX.

Three warp groups per CTA and as many CTAs as the GPU has SMs; each CTA walks over the tiles of C.

- The default task is the producer. It copies by TMA, for each step along K, one BLOCK_K wide slice of the tile's rows
  of A, a half for each consumer, and one slice of B, which they share, into a ring of STAGES slots.
- Two consumers own BLOCK_M/2 rows of the tile each. They keep two wgmma groups in flight: a slot goes back to the
  producer when the multiplication after it has been issued.
- A consumer writes its rows of C in four column strips through two staging buffers. The last stores of a tile drain
  while the next tile is multiplied, and the producer fills the ring all the while.

    python kernels/hopper_gemm_ws.py --m 512 --n 512 --k 512
"""

from __future__ import annotations

import argparse
import sys

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TOLERANCE = 1e-3
CONSUMERS = tl.constexpr(2)
STRIPS = tl.constexpr(4)
STAGING = tl.constexpr(2)


@triton.jit
def slot_and_phase(step, STAGES: tl.constexpr):
    """Slot of the ring that the step-th use takes, and the parity of how often that slot was used before."""
    return step % STAGES, (step // STAGES) & 1


@triton.jit
def corner_of_tile(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP_M: tl.constexpr):
    """First row and column of a tile; bands of GROUP_M tile rows keep panels of A and B in L2."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    band_size = GROUP_M * tl.cdiv(N, BLOCK_N)
    first_m = (tile // band_size) * GROUP_M
    rows = min(tiles_m - first_m, GROUP_M)
    within = tile % band_size
    return (first_m + within % rows) * BLOCK_M, (within // rows) * BLOCK_N


@triton.jit
def halve_columns(x, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The left and the right half of a block: in the layout of an accumulator, no data moves between threads."""
    return tl.split(tl.permute(tl.reshape(x, (ROWS, 2, COLUMNS // 2)), (0, 2, 1)))


@triton.jit
def store_strip(c_desc, c_tile, values, row, column):
    """Hand one strip to the TMA once the store that last read its staging buffer is done with it."""
    tlx.async_descriptor_store_wait(STAGING - 1)
    tlx.local_store(c_tile, values.to(tl.float16))
    tlx.fence("async_shared")
    tlx.async_descriptor_store(c_desc, c_tile, [row, column])


@triton.jit
def hopper_gemm_ws(
    a_desc,
    b_desc,
    c_desc,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    STAGES: tl.constexpr,
    NUM_SMS: tl.constexpr,
):
    HALF_M: tl.constexpr = BLOCK_M // CONSUMERS
    STRIP_N: tl.constexpr = BLOCK_N // STRIPS
    A_BYTES: tl.constexpr = HALF_M * BLOCK_K * 2
    B_BYTES: tl.constexpr = BLOCK_K * BLOCK_N * 2

    # Consumer r owns slots r * STAGES .. (r + 1) * STAGES - 1 of the ring for A.
    a_tiles = tlx.local_alloc((HALF_M, BLOCK_K), tl.float16, CONSUMERS * STAGES)
    b_tiles = tlx.local_alloc((BLOCK_K, BLOCK_N), tl.float16, STAGES)
    c_tiles = tlx.local_alloc((HALF_M, STRIP_N), tl.float16, CONSUMERS * STAGING)
    a_full = tlx.alloc_barriers(num_barriers=CONSUMERS * STAGES, arrive_count=1)
    a_empty = tlx.alloc_barriers(num_barriers=CONSUMERS * STAGES, arrive_count=1)
    b_full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    b_empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            steps = tl.cdiv(K, BLOCK_K)
            tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
            step = 0
            tile = tl.program_id(0)
            while tile < tiles:
                row, column = corner_of_tile(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
                for k in range(0, steps):
                    slot, phase = slot_and_phase(step, STAGES)
                    depth = k * BLOCK_K
                    tlx.barrier_wait(a_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(a_full[slot], A_BYTES)
                    tlx.async_descriptor_load(a_desc, a_tiles[slot], [row, depth], a_full[slot])

                    tlx.barrier_wait(b_empty[slot], phase ^ 1)
                    tlx.barrier_expect_bytes(b_full[slot], B_BYTES)
                    tlx.async_descriptor_load(b_desc, b_tiles[slot], [depth, column], b_full[slot])

                    lower = slot + STAGES
                    tlx.barrier_wait(a_empty[lower], phase ^ 1)
                    tlx.barrier_expect_bytes(a_full[lower], A_BYTES)
                    tlx.async_descriptor_load(a_desc, a_tiles[lower], [row + HALF_M, depth], a_full[lower])
                    step += 1
                tile += NUM_SMS

        with tlx.async_task(num_warps=4, num_regs=240, replicate=CONSUMERS):
            steps = tl.cdiv(K, BLOCK_K)
            tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
            consumer = tlx.async_task_replica_id()
            first_slot = consumer * STAGES
            staging0 = c_tiles[consumer * STAGING]
            staging1 = c_tiles[consumer * STAGING + 1]
            step = 0
            tile = tl.program_id(0)
            while tile < tiles:
                row, column = corner_of_tile(tile, M, N, BLOCK_M, BLOCK_N, GROUP_M)
                acc = tl.zeros((HALF_M, BLOCK_N), dtype=tl.float32)
                for k in range(0, steps):
                    slot, phase = slot_and_phase(step, STAGES)
                    tlx.barrier_wait(a_full[first_slot + slot], phase)
                    tlx.barrier_wait(b_full[slot], phase)
                    acc = tlx.async_dot(a_tiles[first_slot + slot], b_tiles[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    if k > 0:
                        previous, _ = slot_and_phase(step - 1, STAGES)
                        tlx.barrier_arrive(a_empty[first_slot + previous])
                        tlx.barrier_arrive(b_empty[previous])
                    step += 1
                acc = tlx.async_dot_wait(0, acc)
                last, _ = slot_and_phase(step - 1, STAGES)
                tlx.barrier_arrive(a_empty[first_slot + last])
                tlx.barrier_arrive(b_empty[last])

                row += consumer * HALF_M
                left, right = halve_columns(acc, HALF_M, BLOCK_N)
                strip0, strip1 = halve_columns(left, HALF_M, BLOCK_N // 2)
                strip2, strip3 = halve_columns(right, HALF_M, BLOCK_N // 2)
                store_strip(c_desc, staging0, strip0, row, column)
                store_strip(c_desc, staging1, strip1, row, column + STRIP_N)
                store_strip(c_desc, staging0, strip2, row, column + 2 * STRIP_N)
                store_strip(c_desc, staging1, strip3, row, column + 3 * STRIP_N)
                tile += NUM_SMS
            # The staging buffers belong to this CTA only until it ends.
            tlx.async_descriptor_store_wait(0)


def check_sizes(m: int, n: int, k: int) -> None:
    for name, size in (("M", m), ("N", n), ("K", k)):
        if size < 1:
            raise ValueError(f"{name} is {size} and must be 1 or more")


def matmul(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    block_m: int = 128,
    block_n: int = 256,
    block_k: int = 64,
    group_m: int = 8,
    stages: int = 4,
) -> torch.Tensor:
    """a @ b for two row-major fp16 matrices whose row lengths are multiples of 8."""
    m, k = a.shape
    n = b.shape[1]
    if b.shape[0] != k:
        raise ValueError(f"A is {m}x{k} and B is {b.shape[0]}x{n}: the inner sizes differ")
    check_sizes(m, n, k)
    for name, size in (("K", k), ("N", n)):
        if size % 8:
            raise ValueError(f"{name} is {size} and must be a multiple of 8: TMA needs rows of whole 16-byte units")
    if block_m not in (128, 256):
        raise ValueError(f"BLOCK_M is {block_m}: each of the two consumers needs 64 or 128 rows")
    if block_n not in (32, 64, 128, 256, 512):
        raise ValueError(f"BLOCK_N is {block_n} and must be 32, 64, 128, 256 or 512: a tile is stored in four strips")
    if block_k not in (16, 32, 64, 128):
        raise ValueError(f"BLOCK_K is {block_k} and must be 16, 32, 64 or 128: wgmma multiplies 16 deep")
    if stages < 2:
        raise ValueError(f"STAGES is {stages} and must be 2 or more: a consumer gives a slot back one step later")
    if not (a.is_contiguous() and b.is_contiguous()):
        raise ValueError("A and B must be row-major and contiguous")
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)
    sms = torch.cuda.get_device_properties(a.device).multi_processor_count
    grid = (min(sms, triton.cdiv(m, block_m) * triton.cdiv(n, block_n)),)
    hopper_gemm_ws[grid](
        TensorDescriptor.from_tensor(a, [block_m // CONSUMERS.value, block_k]),
        TensorDescriptor.from_tensor(b, [block_k, block_n]),
        TensorDescriptor.from_tensor(c, [block_m // CONSUMERS.value, block_n // STRIPS.value]),
        m,
        n,
        k,
        BLOCK_M=block_m,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        GROUP_M=group_m,
        STAGES=stages,
        NUM_SMS=sms,
        num_warps=4,
        num_stages=1,
    )
    return c


def main() -> int:
    parser = argparse.ArgumentParser(description="Warp-specialised Hopper GEMM: one launch, checked against torch.")
    for size in ("m", "n", "k"):
        parser.add_argument(f"--{size}", type=int, default=512)
    parser.add_argument("--block-m", type=int, default=128)
    parser.add_argument("--block-n", type=int, default=256)
    parser.add_argument("--block-k", type=int, default=64)
    parser.add_argument("--stages", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(0)
    try:
        check_sizes(args.m, args.n, args.k)
        a = torch.randn((args.m, args.k), device="cuda", dtype=torch.float16)
        b = torch.randn((args.k, args.n), device="cuda", dtype=torch.float16)
        c = matmul(a, b, block_m=args.block_m, block_n=args.block_n, block_k=args.block_k, stages=args.stages)
    except ValueError as error:
        print(f"hopper_gemm_ws: {error}", file=sys.stderr)
        return 1

    expected = a.float() @ b.float()
    error = float((c.float() - expected).norm() / expected.norm())
    print(f"hopper_gemm_ws {args.m}x{args.n}x{args.k}: relative error {error:.2e}")
    if not error <= TOLERANCE:  # written so that a NaN fails
        print(f"hopper_gemm_ws: the relative error is above {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
