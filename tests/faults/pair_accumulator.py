"""The accumulator of a pair is free when the epilogues of both CTAs have read their rows, but one release is counted.

The leader issues the next tile's product over rows that the other CTA still reads, which also misses a phase.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="cluster", role="mma", name="acc", shows="hang", hangs_at="sum_full", params={"TILES": 3})

ROWS = tl.constexpr(128)
DEPTH = tl.constexpr(64)
COLUMNS = tl.constexpr(64)


@triton.jit
def tiles_of_a_pair(a_desc, b_desc, y_ptr, TILES, FIX: tl.constexpr):
    """One product a tile; each CTA has its rows of A and of the product, and half of the columns of B."""
    HALF: tl.constexpr = COLUMNS // 2
    BYTES: tl.constexpr = 2 * (ROWS + HALF) * DEPTH * 2
    a = tlx.local_alloc((ROWS, DEPTH), tl.float16, 1)
    b = tlx.local_alloc((DEPTH, HALF), tl.float16, 1)
    acc = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    sum_full = tlx.alloc_barriers(1)
    sum_empty = tlx.alloc_barriers(1, arrive_count=2 if FIX else 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = tlx.cluster_cta_rank()
            row = rank * ROWS + tl.arange(0, ROWS)
            at = row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
            for t in range(TILES):
                tlx.barrier_wait(sum_full[0], t & 1)
                y = y_ptr + t * 2 * ROWS * COLUMNS + at
                if rank == 1:  # the second CTA is slower
                    tl.store(y, tl.load(y) + 1)
                    tl.store(y, tl.load(y) + 1)
                total = tlx.local_load(acc[0])  # FAULT
                if FIX:
                    tlx.barrier_arrive(sum_empty[0], 1, remote_cta_rank=0)
                elif rank == 0:
                    tlx.barrier_arrive(sum_empty[0])
                tl.store(y, total)
        with tlx.async_task(num_warps=1):
            leads = tlx.cluster_cta_rank() == 0
            for t in range(TILES):
                tlx.barrier_wait(sum_empty[0], (t & 1) ^ 1, pred=leads)
                tlx.barrier_wait(full[0], t & 1, pred=leads)
                tlx.async_dot(a[0], b[0], acc[0], use_acc=False, mBarriers=[empty[0]], two_ctas=True)  # FAULT
                tlx.tcgen05_commit(sum_full[0], two_ctas=True)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            for t in range(TILES):
                tlx.barrier_wait(empty[0], (t & 1) ^ 1)
                tlx.barrier_expect_bytes(full[0], BYTES, pred=rank == 0)
                tlx.async_descriptor_load(a_desc, a[0], [(t * 2 + rank) * ROWS, 0], full[0], two_ctas=True)
                tlx.async_descriptor_load(b_desc, b[0], [0, rank * HALF], full[0], two_ctas=True)


def launch(FIX: bool, TILES: int):
    rows, depth, columns = ROWS.value, DEPTH.value, COLUMNS.value
    a = torch.randn((TILES * 2 * rows, depth), device="cuda", dtype=torch.float16)
    b = torch.randn((depth, columns), device="cuda", dtype=torch.float16)
    y = torch.zeros((TILES * 2 * rows, columns), device="cuda", dtype=torch.float32)
    a_desc = TensorDescriptor.from_tensor(a, [rows, depth])
    b_desc = TensorDescriptor.from_tensor(b, [depth, columns // 2])
    tiles_of_a_pair[(2,)](a_desc, b_desc, y, TILES, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
