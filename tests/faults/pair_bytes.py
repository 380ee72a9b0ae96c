"""The copies of both CTAs of a pair complete on the leader's barrier, which expects the bytes of one CTA.

Its phase is over when half of the operands are there; the other half counts against the next phase.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from case import Case, main
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
CASE = Case(rule="expect-bytes", role="load", name="full", shows="hang", params={"K": 3})

ROWS = tl.constexpr(128)
DEPTH = tl.constexpr(64)
COLUMNS = tl.constexpr(64)


@triton.jit
def product_of_a_pair(a_desc, b_desc, y_ptr, K, FIX: tl.constexpr):
    """Each CTA of a pair has its rows of A and of the product, and half of the columns of B."""
    HALF: tl.constexpr = COLUMNS // 2
    BYTES: tl.constexpr = (ROWS + HALF) * DEPTH * 2
    a = tlx.local_alloc((ROWS, DEPTH), tl.float16, 1)
    b = tlx.local_alloc((DEPTH, HALF), tl.float16, 1)
    acc = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    empty = tlx.alloc_barriers(1)
    total = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(total[0], 0)
            row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            tl.store(y_ptr + row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :], tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            leads = tlx.cluster_cta_rank() == 0
            for k in range(K):
                tlx.barrier_wait(full[0], k & 1, pred=leads)
                tlx.async_dot(a[0], b[0], acc[0], use_acc=k > 0, mBarriers=[empty[0]], two_ctas=True)
            tlx.tcgen05_commit(total[0], two_ctas=True)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            row = tl.program_id(0) * ROWS
            for k in range(K):
                tlx.barrier_wait(empty[0], (k & 1) ^ 1)
                if FIX:
                    tlx.barrier_expect_bytes(full[0], 2 * BYTES, pred=rank == 0)
                else:
                    tlx.barrier_expect_bytes(full[0], BYTES, pred=rank == 0)  # FAULT
                tlx.async_descriptor_load(a_desc, a[0], [row, k * DEPTH], full[0], two_ctas=True)
                tlx.async_descriptor_load(b_desc, b[0], [k * DEPTH, rank * HALF], full[0], two_ctas=True)


def launch(FIX: bool, K: int):
    rows, depth, columns = ROWS.value, DEPTH.value, COLUMNS.value
    a = torch.randn((2 * rows, K * depth), device="cuda", dtype=torch.float16)
    b = torch.randn((K * depth, columns), device="cuda", dtype=torch.float16)
    y = torch.zeros((2 * rows, columns), device="cuda", dtype=torch.float32)
    a_desc = TensorDescriptor.from_tensor(a, [rows, depth])
    b_desc = TensorDescriptor.from_tensor(b, [depth, columns // 2])
    product_of_a_pair[(2,)](a_desc, b_desc, y, K, FIX=FIX, ctas_per_cga=(2, 1, 1))
    return y, a.float() @ b.float()


if __name__ == "__main__":
    main(CASE, launch)
