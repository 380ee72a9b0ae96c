"""A pair of CTAs multiplies together: copies of both arrive at the leader's barrier, its products at those of both.

Only the leader waits for operands and expects bytes, twice those that it copies itself.
"""

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor

TLXVIZ_DEVICE = "sim:b200"
SHAPES = ({"K": 1, "S": 2}, {"K": 4, "S": 2})

ROWS = tl.constexpr(128)
SIDE = tl.constexpr(64)


@triton.jit
def product_of_a_pair(a_desc, b_desc, y_ptr, K, S: tl.constexpr):
    """Each CTA has its rows of A and of the product, and half of the columns of B."""
    HALF: tl.constexpr = SIDE // 2
    a = tlx.local_alloc((ROWS, SIDE), tl.float16, S)
    b = tlx.local_alloc((SIDE, HALF), tl.float16, S)
    acc = tlx.local_alloc((ROWS, SIDE), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(S)
    empty = tlx.alloc_barriers(S)
    total = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
            tlx.barrier_wait(total[0], 0)
            tl.store(y_ptr + row[:, None] * SIDE + tl.arange(0, SIDE)[None, :], tlx.local_load(acc[0]))
        with tlx.async_task(num_warps=1):
            leads = tlx.cluster_cta_rank() == 0
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(full[slot], (k // S) & 1, pred=leads)
                tlx.async_dot(a[slot], b[slot], acc[0], use_acc=k > 0, mBarriers=[empty[slot]], two_ctas=True)
            tlx.tcgen05_commit(total[0], two_ctas=True)
        with tlx.async_task(num_warps=1):
            rank = tlx.cluster_cta_rank()
            for k in range(K):
                slot = k % S
                tlx.barrier_wait(empty[slot], ((k // S) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], 2 * (ROWS + HALF) * SIDE * 2, pred=rank == 0)
                row = tl.program_id(0) * ROWS
                tlx.async_descriptor_load(a_desc, a[slot], [row, k * SIDE], full[slot], two_ctas=True)
                tlx.async_descriptor_load(b_desc, b[slot], [k * SIDE, rank * HALF], full[slot], two_ctas=True)


def launch(K: int, S: int):
    rows, side = ROWS.value, SIDE.value
    a = torch.randn((2 * rows, K * side), device="cuda", dtype=torch.float16)
    b = torch.randn((K * side, side), device="cuda", dtype=torch.float16)
    y = torch.zeros((2 * rows, side), device="cuda", dtype=torch.float32)
    a_desc = TensorDescriptor.from_tensor(a, [rows, side])
    b_desc = TensorDescriptor.from_tensor(b, [side, side // 2])
    product_of_a_pair[(2,)](a_desc, b_desc, y, K, S=S, ctas_per_cga=(2, 1, 1))
    return y, a.float() @ b.float()


if __name__ == "__main__":
    for shape in SHAPES:
        torch.testing.assert_close(*launch(**shape), rtol=1e-2, atol=1e-2)
